"""`disque-server` starts, or says in one sentence why it cannot, and ends in order."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import disque
from tests.cli.program import environment
from tests.server.program import (
    PATIENCE_S,
    PROGRAM,
    Daemons,
    UnixWire,
    program_running,
    run_program,
    settings,
    wait_for_log,
    wait_for_wire,
    wait_until_gone,
)
from tests.support.fixtures import Starter
from tests.support.resp import Wire, encode
from tests.support.server import ServerProcess, free_port

pytestmark = [pytest.mark.process, pytest.mark.slow]

FATAL = "*** FATAL CONFIG FILE ERROR ***"


def refused(directory: Path, *arguments: str, stdin: str = "") -> str:
    """Run a server that cannot start; return the sentence it ends with."""
    done = run_program(
        directory, *arguments, "--bind", "127.0.0.1", "--port", str(free_port()), stdin=stdin
    )

    assert done.returncode == 1, done
    assert "Traceback" not in done.stdout + done.stderr, done
    return done.stderr.rstrip().splitlines()[-1]


# --- The command line ---------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-v", "--version"])
def test_the_version_is_told_in_one_line(tmp_path: Path, option: str) -> None:
    done = run_program(tmp_path, option)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Disque server v={disque.__version__} sha=")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_no_error(tmp_path: Path, option: str) -> None:
    done = run_program(tmp_path, option)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: disque-server [config-file | -] [--directive value ...]")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", [[], ["--config"]], ids=["first word", "--config"])
def test_a_configuration_file_is_read_and_the_command_line_overrides_it(
    tmp_path: Path, form: list[str]
) -> None:
    path = tmp_path / "my disque.conf"
    path.write_text('maxmemory 100mb\nhz 20\nrequirepass ""\n', encoding="ascii")

    with ServerProcess(tmp_path, *form, str(path), "--hz", "30") as server:
        found = settings(server.wire())

    assert (found["maxmemory"], found["hz"]) == (str(100 << 20), "30")


def test_a_configuration_file_is_found_from_where_the_server_was_started(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "node.conf").write_text("hz 21\ndir conf\n", encoding="ascii")
    port = free_port()

    with program_running(tmp_path, "node.conf", "--bind", "127.0.0.1", "--port", str(port)):
        wire = wait_for_wire(port)
        found = settings(wire)
        rewritten = wire.ask("CONFIG", "REWRITE")
        wire.close()

    assert (found["hz"], found["dir"]) == ("21", str(tmp_path / "conf"))
    assert rewritten == b"+OK\r\n"
    assert not (tmp_path / "conf" / "node.conf").exists()


def test_a_configuration_comes_through_standard_input(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "-", "--hz", "30", stdin="hz 20\ntimeout 77\n") as server:
        found = settings(server.wire())

    assert (found["hz"], found["timeout"]) == ("30", "77")


def test_a_directive_takes_several_values_on_the_command_line(start_server: Starter) -> None:
    wire = start_server("--client-output-buffer-limit", "normal", "2mb", "1mb", "9").wire()

    assert settings(wire)["client-output-buffer-limit"] == "normal 2097152 1048576 9"


def test_included_files_are_read_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text("hz 20\ntimeout 20\n", encoding="ascii")
    path = tmp_path / "disque.conf"
    path.write_text(f"hz 10\ninclude {tmp_path}/more.conf\ntimeout 30\n", encoding="ascii")

    with ServerProcess(tmp_path, str(path)) as server:
        found = settings(server.wire())

    assert (found["hz"], found["timeout"]) == ("20", "30")


# --- What prevents the start --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--no-such-directive", "1"), "Bad directive or wrong number of arguments"),
        (("--hz",), "Bad directive or wrong number of arguments"),
        (("--timeout", "soon"), "Invalid timeout value"),
        (("--maxmemory", "0"), "You need to specify a memory limit greater than zero"),
        (("--maxclients", "0"), "Invalid max clients limit"),
        (("--rename-command", "nosuch", "x"), "No such command in rename-command"),
        (("--rename-command", "qlen", "qpeek"), "Target command name already exists"),
        (("--logfile", "missing/log"), "Can't open the log file: No such file or directory"),
    ],
)
def test_a_bad_directive_is_shown_with_its_line_and_what_is_wrong(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = run_program(tmp_path, *arguments)

    assert done.returncode == 1
    assert done.stdout == ""
    report = done.stderr.strip().splitlines()
    assert report[0] == FATAL
    assert report[2].startswith(f">>> '{arguments[0][2:]}")
    assert report[3:] == [sentence]
    assert list(tmp_path.iterdir()) == []


def test_a_bad_line_of_a_file_is_shown_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "disque.conf"
    path.write_text("# mine\nhz 10\n\ntimeout soon\n", encoding="ascii")

    report = run_program(tmp_path, str(path)).stderr.strip().splitlines()

    assert report[1] == "Reading the configuration file, at line 4"
    assert report[2:] == [">>> 'timeout soon'", "Invalid timeout value"]


def test_a_configuration_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    sentence = refused(tmp_path, "nowhere.conf")

    assert sentence == "Fatal error, can't open config file 'nowhere.conf'"


def test_a_directory_is_no_configuration_file(tmp_path: Path) -> None:
    sentence = refused(tmp_path, str(tmp_path))

    assert sentence == f"Fatal error, can't open config file '{tmp_path}'"


def test_a_configuration_file_one_may_not_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret.conf"
    path.write_text("hz 10\n", encoding="ascii")
    path.chmod(0)
    if os.access(path, os.R_OK):
        # Root reads every file; the memory of a process it cannot read from the start.
        path = Path("/proc/self/mem")

    assert refused(tmp_path, str(path)) == f"Fatal error, can't open config file '{path}'"


def test_an_included_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    sentence = refused(tmp_path, "-", stdin="include nowhere.conf\n")

    assert sentence == "Fatal error, can't open config file 'nowhere.conf'"


@pytest.mark.parametrize("spelling", ["two.conf", "./two.conf"])
def test_files_that_include_each_other_end_the_start(tmp_path: Path, spelling: str) -> None:
    (tmp_path / "one.conf").write_text(f"include {spelling}\n", encoding="ascii")
    (tmp_path / "two.conf").write_text("include one.conf\n", encoding="ascii")

    done = run_program(tmp_path, "one.conf")

    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[3] == "'one.conf' includes itself"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--config",), "--config needs the name of a file"),
        (("a.conf", "--config", "b.conf"), "The configuration file is given twice"),
        (("--dir", "nowhere"), "Can't chdir to 'nowhere': No such file or directory"),
        (("--port", "55536"), "Use a port up to 55535."),
        (("--port", "0"), "Set port or unixsocket."),
        (("--bind", "a..b"), "7711: Neither an address nor the name of a host"),
        (("--bind", "b" * 64), "7711: Neither an address nor the name of a host"),
        (("--bind", "\udcff"), "7711: Neither an address nor the name of a host"),
    ],
)
def test_a_command_line_that_cannot_work_is_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = run_program(tmp_path, *arguments)

    assert done.returncode == 1
    assert done.stderr.endswith(f"{sentence}\n")
    assert done.stderr.count("\n") == 1


def test_a_busy_port_is_told_at_once(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        done = run_program(tmp_path, "-", stdin=f"bind 127.0.0.1\nport {port}\n")

    assert done.returncode == 1
    sentence = f"Creating Server TCP listening socket 127.0.0.1:{port}: Address already in use\n"
    assert done.stderr == sentence
    assert sentence in done.stdout
    assert not (tmp_path / "nodes.conf").exists()


def test_what_prevents_the_start_is_told_once_where_log_and_errors_meet(tmp_path: Path) -> None:
    command = "exec disque-server --bind 127.0.0.1 --port 0 --log-format json >&2"
    process = run_in_shell(tmp_path, command)

    (line,) = process.communicate(timeout=PATIENCE_S)[1].splitlines()

    assert json.loads(line)["event"].startswith("Configured to not listen anywhere")


def test_a_second_server_in_the_same_directory_is_refused_and_disturbs_nobody(
    server: ServerProcess, wire: Wire
) -> None:
    id = wire.text("CLUSTER", "MYID")

    sentence = refused(server.directory)

    path = server.directory / "nodes.conf"
    assert f"{path} is already used by a different Disque node." in sentence
    assert wire.text("CLUSTER", "MYID") == id
    assert id in path.read_text(encoding="utf-8")


def test_a_start_that_failed_ends_its_log_with_the_reason(server: ServerProcess) -> None:
    done = run_program(server.directory, "--bind", "127.0.0.1", "--port", str(free_port()))

    assert "used by a different Disque node" in done.stdout.rstrip().splitlines()[-1]


def test_a_damaged_nodes_file_stops_the_start_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "nodes.conf"
    path.write_text("once upon a time\n", encoding="ascii")

    sentence = refused(tmp_path)

    assert "corrupted cluster config file" in sentence
    assert path.read_text(encoding="ascii") == "once upon a time\n"


# --- What others leave out ----------------------------------------------------------------------


def test_a_server_without_standard_streams_serves_and_ends_in_order(tmp_path: Path) -> None:
    port = free_port()
    process = run_in_shell(
        tmp_path, "exec disque-server --bind 127.0.0.1 --port $0 <&- >&- 2>&-", str(port)
    )

    with wait_for_wire(port) as wire:
        assert wire.ask("CONFIG", "SET", "loglevel", "debug") == b"+OK\r\n"
        with Wire(port) as other:
            # The log of a new connection does not end up in one.
            assert other.ask("PING") == b"+PONG\r\n"
        process.terminate()
        wire.read_eof()

    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


def test_standard_input_that_is_closed_is_no_configuration(tmp_path: Path) -> None:
    process = run_in_shell(tmp_path, "exec disque-server - <&-")

    assert process.communicate(timeout=PATIENCE_S)[1] == "Fatal error, can't open config file '-'\n"
    assert process.returncode == 1


def test_a_directory_that_was_removed_is_no_place_to_start_in(tmp_path: Path) -> None:
    process = run_in_shell(tmp_path, "mkdir gone; cd gone; rmdir ../gone; exec disque-server")

    reason = "Can't chdir to '.': No such file or directory\n"
    assert process.communicate(timeout=PATIENCE_S)[1] == reason
    assert process.returncode == 1


def test_a_configuration_that_is_no_file_is_not_rewritten(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "/dev/stdin", stdin="hz 20\n") as server:
        wire = server.wire()

        assert settings(wire)["hz"] == "20"
        assert wire.ask("CONFIG", "REWRITE") == (
            b"-ERR The server is running without a config file\r\n"
        )
        assert wire.ask("DEBUG", "RESTART").startswith(b"-ERR failed to restart the server.")


def run_in_shell(directory: Path, command: str, *arguments: str) -> subprocess.Popen[str]:
    """Let a shell prepare what a server finds when it starts."""
    place = {"PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    return subprocess.Popen(
        ["sh", "-c", command, *arguments],
        cwd=directory,
        env=environment() | place,
        stderr=subprocess.PIPE,
        text=True,
    )


# --- How long it takes --------------------------------------------------------------------------


def test_the_first_answer_comes_within_half_a_second(tmp_path: Path) -> None:
    durations_s = []
    for attempt in range(3):
        server = ServerProcess(tmp_path / str(attempt))
        server.port = free_port()
        started = time.monotonic()
        server.spawn()
        with wait_for_wire(server.port) as wire:
            assert wire.ask("PING") == b"+PONG\r\n"
        durations_s.append(time.monotonic() - started)
        server.stop()

    # The best of three is not disturbed by other work on this machine.
    assert min(durations_s) < 0.5, durations_s


@pytest.mark.parametrize(
    ("addresses", "name"),
    [(["127.0.0.1"], "disque :{port}"), (["0", "::1"], "disque 0:{port}")],
    ids=["too long", "short enough"],
)
def test_the_name_of_the_process_tells_the_port(
    start_server: Starter, addresses: list[str], name: str
) -> None:
    server = start_server("--bind", *addresses)

    comm = Path(f"/proc/{server.pid}/comm").read_text(encoding="ascii")

    assert comm == name.format(port=server.port) + "\n"


# --- The end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_order(server: ServerProcess, number: signal.Signals) -> None:
    waiting, asking = server.wire(), server.wire()
    waiting.send("GETJOB", "FROM", "q")
    assert asking.ask("PING") == b"+PONG\r\n"

    os.kill(server.pid, number)

    waiting.read_eof()
    asking.read_eof()
    assert server.wait_exit() == 0
    assert f"Received {number.name} scheduling shutdown..." in server.log
    assert server.log.rstrip().endswith("Disque is now ready to exit, bye bye...")


def test_replies_on_their_way_arrive_before_the_end(server: ServerProcess, wire: Wire) -> None:
    body = b"x" * 100_000
    wire.send_raw(encode("ECHO", body) * 20 + encode("SHUTDOWN"))

    for _ in range(20):
        assert wire.read_reply() == b"$%d\r\n%b\r\n" % (len(body), body)

    wire.read_eof()
    assert server.wait_exit() == 0


def test_a_second_interrupt_ends_a_server_that_is_busy(server: ServerProcess, wire: Wire) -> None:
    wire.send("DEBUG", "SLEEP", 30)
    wire.assert_silent(100)

    os.kill(server.pid, signal.SIGINT)
    wait_for_log(server, "Received SIGINT scheduling shutdown...")
    os.kill(server.pid, signal.SIGINT)

    assert server.wait_exit() == 1


def test_a_signal_that_is_sent_again_and_again_does_not_disturb_the_end(
    server: ServerProcess,
) -> None:
    while server.is_running:
        os.kill(server.pid, signal.SIGTERM)

    assert server.wait_exit() == 0
    assert "Traceback" not in server.log


def test_a_hangup_of_the_terminal_is_ignored(server: ServerProcess, wire: Wire) -> None:
    os.kill(server.pid, signal.SIGHUP)

    assert wire.ask("PING") == b"+PONG\r\n"


# --- Unix sockets -------------------------------------------------------------------------------


def test_a_unix_socket_is_served_with_its_permissions_and_removed(start_server: Starter) -> None:
    server = start_server("--unixsocket", "disque.sock", "--unixsocketperm", "770")
    path = server.directory / "disque.sock"

    with UnixWire(path) as local:
        assert local.ask("PING") == b"+PONG\r\n"
        assert f"addr={path}:0" in local.text("CLIENT", "LIST")
    assert stat.S_IMODE(path.stat().st_mode) == 0o770
    assert f"ready to accept connections at {path}" in server.log

    server.stop()
    assert not path.exists()


def test_a_socket_file_left_by_a_crash_is_replaced(start_server: Starter) -> None:
    server = start_server("--unixsocket", "disque.sock")
    server.kill()
    path = server.directory / "disque.sock"
    assert path.exists()

    server.start()

    with UnixWire(path) as local:
        assert local.ask("PING") == b"+PONG\r\n"


def test_the_socket_file_of_a_living_server_is_not_taken(start_server: Starter) -> None:
    server = start_server("--unixsocket", "disque.sock")
    path = server.directory / "disque.sock"

    sentence = refused(server.directory, "--unixsocket", "disque.sock")

    assert sentence == f"Opening Unix socket: {path}: Address already in use"
    with UnixWire(path) as local:
        assert local.ask("PING") == b"+PONG\r\n"


# --- In the background --------------------------------------------------------------------------


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[Daemons]:
    started = Daemons(tmp_path)
    yield started
    started.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_in_the_background_leaves_its_number_and_takes_it_away(
    daemons: Daemons, number: signal.Signals
) -> None:
    log_file = daemons.directory / "disque.log"
    log_file.write_text("an earlier life\n", encoding="ascii")

    done = daemons.start("--logfile", "disque.log")

    # Whoever started it may use it at once: the port answers when the command returns.
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    pid = daemons.pid()
    pid_file = daemons.directory / "disque.pid"
    assert pid_file.read_text(encoding="ascii") == f"{pid}\n"
    assert os.getsid(pid) != os.getsid(0)

    os.kill(pid, number)
    wait_until_gone(pid)

    assert not pid_file.exists()
    log = log_file.read_text(encoding="utf-8")
    assert log.startswith("an earlier life\n")
    assert "ready to accept connections" in log
    assert log.rstrip().endswith("bye bye...")


def test_the_pid_file_is_taken_away_after_the_directory_was_changed(daemons: Daemons) -> None:
    daemons.start()
    (daemons.directory / "elsewhere").mkdir()
    pid = daemons.pid()

    with Wire(daemons.port) as wire:
        assert wire.ask("CONFIG", "SET", "dir", "elsewhere") == b"+OK\r\n"
        wire.send("SHUTDOWN")
    wait_until_gone(pid)

    assert not (daemons.directory / "disque.pid").exists()


def test_a_second_background_server_leaves_the_number_of_the_first(daemons: Daemons) -> None:
    daemons.start()
    pid = daemons.pid()

    done = daemons.start("--port", str(free_port()))

    assert "used by a different Disque node" in done.stderr
    assert (daemons.directory / "disque.pid").read_text(encoding="ascii") == f"{pid}\n"


def test_a_background_server_without_a_pid_file_says_nothing_about_it(daemons: Daemons) -> None:
    daemons.start("--pidfile", "", "--logfile", "disque.log")
    pid = daemons.pid()

    os.kill(pid, signal.SIGTERM)
    wait_until_gone(pid)

    assert "pid file" not in (daemons.directory / "disque.log").read_text(encoding="utf-8")


def test_a_background_server_that_cannot_start_says_so_to_whoever_started_it(
    daemons: Daemons,
) -> None:
    with socket.create_server(("127.0.0.1", daemons.port)):
        done = daemons.start("--logfile", "disque.log")

    assert done.returncode == 1
    assert done.stderr.endswith("Address already in use\n")
    assert done.stderr.count("\n") == 1
    assert not (daemons.directory / "disque.pid").exists()


# --- Logs ---------------------------------------------------------------------------------------


def test_a_log_file_that_was_moved_away_is_begun_anew(start_server: Starter) -> None:
    server = start_server("--logfile", "server.log")
    path = server.directory / "server.log"
    path.rename(server.directory / "server.log.1")

    server.wire().send_raw(b"POST / HTTP/1.1\r\n")
    wait_for_log(server, "HTTP request")

    assert path.read_text(encoding="utf-8").count("\n") == 1


def test_a_json_log_is_one_object_per_line(start_server: Starter) -> None:
    server = start_server("--log-format", "json", "--loglevel", "verbose")
    server.wire().send_raw(b"POST / HTTP/1.1\r\n")
    wait_for_log(server, "HTTP request")
    server.stop()

    events = [json.loads(line) for line in server.log.splitlines()]

    assert all({"ts", "level", "pid", "event"} <= event.keys() for event in events)
    assert {event["level"] for event in events} >= {"verbose", "notice", "warning"}
