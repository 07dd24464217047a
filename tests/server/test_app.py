"""A server starts completely or not at all, ends in order, and can begin again."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest

from disque.server.app import Plan, run
from disque.server.daemon import foreground
from disque.server.logs import Log
from disque.server.nodesfile import NodesFile
from disque.server.problems import StartError
from tests.server.hosted import SOCKET_FILE, Hosted, local_settings
from tests.server.inside import Lines
from tests.server.program import (
    Daemons,
    UnixWire,
    program_running,
    settings,
    wait_for_answer,
    wait_for_log,
    wait_for_wire,
    wait_until_gone,
)
from tests.support.resp import Wire, encode
from tests.support.server import ServerProcess, free_port

PONG = b"+PONG\r\n"
LARGE = b"x" * 300_000
WARNING = "Every host that reaches this port can use the server"


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def is_served(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


# --- The start --------------------------------------------------------------------------------


def test_a_server_is_found_at_all_its_places(tmp_path: Path) -> None:
    with Hosted(local_settings(port=True)) as server:
        clients = [server.unix_client(), server.tcp_client()]

        assert [client.ask("PING") for client in clients] == [PONG, PONG]
        port = server.settings.port
        assert server.lines.messages[:4] == [
            f"Disque 0.1.0, node in {tmp_path}, process {os.getpid()}",
            "Server started, Disque version 0.1.0",
            f"The server is now ready to accept connections on port {port}",
            f"The server is now ready to accept connections at {tmp_path / SOCKET_FILE}",
        ]
        assert server.log.role == "P"
        assert f"\r\ntcp_port:{port}\r\n" in clients[0].text("INFO", "server")


def test_a_server_without_a_port_names_none() -> None:
    with Hosted(local_settings()) as server:
        assert server.unix_client().ask("PING") == PONG
        assert not server.lines.has("on port")


def test_a_server_can_be_told_by_its_name_in_lists_of_processes() -> None:
    with Hosted(local_settings(port=True)) as server:
        name = Path("/proc/self/comm").read_text(encoding="utf-8")

        # The kernel keeps fifteen bytes, and the port tells more than half an address.
        assert name == f"disque :{server.settings.port}\n"


@pytest.mark.parametrize(
    ("addresses", "password", "is_warned"),
    [
        (["127.0.0.1"], b"", False),
        (["0.0.0.0"], b"", True),  # noqa: S104 - for a moment
        ([], b"", True),
        ([], b"sesame", False),
    ],
)
def test_who_leaves_the_door_open_is_warned(
    addresses: list[str], password: bytes, is_warned: bool
) -> None:
    chosen = local_settings(port=True)
    chosen.bind = addresses
    chosen.requirepass = password

    with Hosted(chosen) as server:
        assert server.lines.has(WARNING) is is_warned


def test_there_are_as_many_clients_as_the_system_has_room_for() -> None:
    chosen = local_settings()
    chosen.maxclients = 2_000_000_000

    with Hosted(chosen) as server:
        assert server.lines.has("that is maxclients now")
        assert server.unix_client().fields("CONFIG", "GET", "maxclients") == {
            "maxclients": b"%d" % chosen.maxclients
        }
        assert chosen.maxclients < 2_000_000_000


def test_a_node_knows_at_its_second_start_what_it_knew_at_its_first() -> None:
    me, peer = "a" * 40, "b" * 40
    Path("nodes.conf").write_text(
        f"{me} 10.0.0.1:7711 myself,leaving 0 0 connected\n"
        f"{peer} 10.0.0.2:7712 noflags 0 0 connected\n",
        encoding="utf-8",
    )

    with Hosted(local_settings()) as server:
        client = server.unix_client()
        nodes = client.text("CLUSTER", "NODES").splitlines()

    assert sorted(line.split()[0] for line in nodes) == [me, peer]
    described = next(line for line in nodes if line.startswith(me))
    assert "10.0.0.1:" in described
    assert "leaving" in described


@pytest.mark.parametrize("obstacle", ["port", "places", "socket", "lock", "nodes"])
def test_a_server_that_cannot_start_leaves_nothing_behind(tmp_path: Path, obstacle: str) -> None:
    chosen = local_settings(port=True)
    other = NodesFile(tmp_path / "nodes.conf")
    if obstacle == "port":
        chosen.port = 55_536
    elif obstacle == "places":
        chosen.port, chosen.unixsocket = 0, ""
    elif obstacle == "socket":
        chosen.unixsocket = "nowhere/disque.sock"
    elif obstacle == "lock":
        other.lock()
    else:
        other.path.write_text("once upon a time\n", encoding="ascii")
    before = sorted(tmp_path.iterdir())

    with pytest.raises(StartError), Hosted(chosen):
        pass

    left = set(tmp_path.iterdir()) - set(before)
    assert left <= {tmp_path / "nodes.conf.lock"}
    assert not is_served(chosen.port)
    other.unlock()
    other.lock()
    other.unlock()


def test_a_mistake_nobody_caught_is_logged_and_counted() -> None:
    with Hosted(local_settings()) as server:
        client = server.unix_client()
        assert client.ask("PING") == PONG

        server.loop.call_soon(fail)
        server.pass_time(0)

        assert server.lines.has("internal error: Exception in callback fail()")
        assert server.lines.has("ValueError: not today")
        assert all("\n" not in message for message in server.lines.messages)
        assert "internal_errors:1" in client.text("INFO", "stats")


def fail() -> None:
    """Make a mistake."""
    raise ValueError("not today")


def test_a_complaint_of_the_loop_without_a_mistake_is_logged() -> None:
    with Hosted(local_settings()) as server:
        server.loop.call_exception_handler({"message": "something is odd"})

        assert server.lines.messages[-1] == "internal error: something is odd"


# --- The end ----------------------------------------------------------------------------------


def test_the_end_leaves_nothing_behind_but_the_node_table(tmp_path: Path) -> None:
    with Hosted(local_settings(port=True), launch=foreground(is_daemon=True)) as server:
        idle, waiting = server.unix_client(), server.tcp_client()
        assert idle.ask("PING") == PONG
        waiting.send("GETJOB", "FROM", "q")
        pid_file = tmp_path / "disque.pid"
        assert pid_file.read_text(encoding="ascii") == f"{os.getpid()}\n"
        assert not gc.isenabled()

        server.end()

        assert server.is_over
        assert gc.isenabled()
        assert idle.is_cut_off()
        assert not is_served(server.settings.port)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.conf", "nodes.conf.lock"]
    assert server.lines.messages[-1] == "Disque is now ready to exit, bye bye..."
    with Hosted(local_settings()):
        pass


def test_a_client_may_end_the_server() -> None:
    with Hosted(local_settings()) as server:
        client, other = server.unix_client(), server.unix_client()
        assert other.ask("PING") == PONG

        client.send_raw(encode("PING") + encode("SHUTDOWN"))

        assert server.is_over
        assert client.received() == PONG
        assert client.is_cut_off()
        assert other.is_cut_off()


def test_the_end_waits_for_who_reads_its_last_replies() -> None:
    with Hosted(local_settings()) as server:
        client = server.unix_client()
        client.send_until_stuck(encode("ECHO", LARGE) * 3)

        server.end()
        server.pass_time(500)
        is_early = server.is_over
        replies = client.received()

        assert not is_early
        assert replies == (b"$300000\r\n" + LARGE + b"\r\n") * 3
        assert server.is_over


def test_the_end_waits_no_longer_than_a_second() -> None:
    with Hosted(local_settings()) as server:
        client = server.unix_client()
        client.send_until_stuck(encode("ECHO", LARGE) * 3)

        server.end()
        server.pass_time(999)
        is_early = server.is_over
        server.pass_time(1)

        assert not is_early
        assert server.is_over


def test_nobody_is_let_in_while_the_server_ends() -> None:
    with Hosted(local_settings(port=True)) as server:
        slow = server.unix_client()
        slow.send_until_stuck(encode("ECHO", LARGE) * 3)

        server.end()

        assert not server.is_over
        assert not is_served(server.settings.port)


def test_signals_change_nothing_once_the_server_ends() -> None:
    with Hosted(local_settings()) as server:
        slow = server.unix_client()
        slow.send_until_stuck(encode("ECHO", LARGE) * 3)

        server.end()
        server.end()
        server.pass_time(1_000)
        slow.hang_up()
        server.loop.close()
        signal.raise_signal(signal.SIGTERM)

        assert server.is_over
        assert not server.lines.has("internal error")


def test_what_another_server_made_is_not_taken_away_by_one_that_cannot_start(
    tmp_path: Path,
) -> None:
    background = foreground(is_daemon=True)
    with Hosted(local_settings(), launch=background) as server:
        rival = local_settings(port=True)
        rival.unixsocket = "other.sock"

        with pytest.raises(StartError), Hosted(rival, launch=background):
            pass

        assert (tmp_path / "disque.pid").exists()
        assert server.unix_client().ask("PING") == PONG


# --- As a process -----------------------------------------------------------------------------


def test_who_cannot_start_says_so_in_the_log_and_to_who_started_it_and_cleans_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "nodes.conf"
    path.mkdir()
    lines = Lines()
    plan = Plan(local_settings(), "", Log([lines]), started_in="/", is_restartable=True)

    status = run(plan, foreground())

    sentence = f"Can't read {path}: Is a directory"
    assert status == 1
    assert lines.messages[0] == sentence
    assert capsys.readouterr() == ("", f"{sentence}\n")
    assert not (tmp_path / SOCKET_FILE).exists()


WITHOUT_UVLOOP = """
import sys
sys.modules["uvloop"] = None
from disque.cli.serve import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.process
@pytest.mark.slow
def test_where_there_is_no_uvloop_the_loop_of_python_serves(tmp_path: Path) -> None:
    program = (sys.executable, "-c", WITHOUT_UVLOOP)

    with ServerProcess(tmp_path, program=program) as server:
        assert "multiplexing_api:asyncio" in server.wire().text("INFO", "server")

        os.kill(server.pid, signal.SIGTERM)

        assert server.wait_exit() == 0
        assert server.log.rstrip().endswith("bye bye...")


# --- Beginning again --------------------------------------------------------------------------


def identity(wire: Wire) -> tuple[str, str]:
    """Return the name of the node and the number of its process."""
    found = re.search(r"process_id:(\d+)", wire.text("INFO", "server"))
    assert found is not None
    return wire.text("CLUSTER", "MYID"), found[1]


def test_a_signal_takes_a_restart_back() -> None:
    with Hosted(local_settings()) as server:
        slow, client = server.unix_client(), server.unix_client()
        slow.send_until_stuck(encode("ECHO", LARGE) * 3)
        client.send("DEBUG", "RESTART")
        assert server.app.restart is not None

        server.end()

        assert server.app.restart is None


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("command", "hz"), [("RESTART", "33"), ("CRASH-AND-RECOVER", "10")])
def test_a_server_begins_again_as_it_was_started(tmp_path: Path, command: str, hz: str) -> None:
    port = free_port()
    (tmp_path / "place").mkdir()
    (tmp_path / "node.conf").write_text(
        f"bind 127.0.0.1\nport {port}\nhz 10\ndir place\nunixsocket a.sock\n", encoding="ascii"
    )

    with program_running(tmp_path, "node.conf"):
        with wait_for_wire(port) as wire:
            before = identity(wire)
            wire.add("q")
            wire.ask("CONFIG", "SET", "hz", 33)
            wire.send("DEBUG", command)
            wire.read_eof()

        with wait_for_answer(port) as wire, UnixWire(tmp_path / "place" / "a.sock") as local:
            assert identity(wire) == identity(local) == before
            assert settings(wire)["hz"] == hz
            assert wire.integer("QLEN", "q") == 0


@pytest.mark.process
@pytest.mark.slow
def test_a_server_that_moved_finds_its_configuration_again(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "node.conf").write_text(f"bind 127.0.0.1\nport {port}\n", encoding="ascii")

    with program_running(tmp_path, "node.conf"):
        with wait_for_wire(port) as wire:
            before = identity(wire)
            assert wire.ask("CONFIG", "SET", "dir", "/") == b"+OK\r\n"
            wire.send("DEBUG", "CRASH-AND-RECOVER")
            wire.read_eof()

        with wait_for_answer(port) as wire:
            assert identity(wire) == before
            assert settings(wire)["dir"] == str(tmp_path)


@pytest.mark.process
@pytest.mark.slow
def test_a_server_in_the_background_stays_there(tmp_path: Path) -> None:
    daemons = Daemons(tmp_path)
    pid_file = tmp_path / "disque.pid"
    try:
        daemons.start()
        pid = daemons.pid()
        with Wire(daemons.port) as wire:
            wire.send("DEBUG", "RESTART")
            wire.read_eof()

        wait_for_answer(daemons.port).close()
        assert daemons.pid() == pid
        assert pid_file.read_text(encoding="ascii") == f"{pid}\n"

        os.kill(pid, signal.SIGTERM)
        wait_until_gone(pid)
        assert not pid_file.exists()
    finally:
        daemons.stop()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("command", ["RESTART", "CRASH-AND-RECOVER"])
def test_what_came_through_a_pipe_cannot_be_read_again(tmp_path: Path, command: str) -> None:
    with ServerProcess(tmp_path, "-", stdin="hz 20\n") as server:
        wire = server.wire()

        assert wire.ask("DEBUG", command) == (
            b"-ERR failed to restart the server. Check server logs.\r\n"
        )

        assert "Can't restart: the configuration did not come from a file" in server.log
        assert wire.ask("PING") == PONG


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["RESTART", "CRASH-AND-RECOVER"])
def test_a_server_that_is_about_to_begin_again_can_be_stopped(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    with ServerProcess(tmp_path) as server:
        wire = server.wire()
        wire.send("DEBUG", command, 60_000)
        if command == "RESTART":
            wire.read_eof()
            wait_for_log(server, "bye bye...")
        else:
            wire.assert_silent(50)

        os.kill(server.pid, number)

        assert server.wait_exit() == 0
        assert "Traceback" not in server.log
