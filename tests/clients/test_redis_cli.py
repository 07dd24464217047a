"""redis-cli, in every mode that makes sense with a queue."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest

from tests.clients.node import PASSWORD, UNKNOWN_ID, socket_path, wait_for_waiters
from tests.clients.programs import Terminal, following, needs_redis_cli, redis_cli, require
from tests.support.resp import encode
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.process, needs_redis_cli]

JOB_ID = re.compile(r"D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-05a1")
MONITOR_LINE = re.compile(r'\d{10}\.\d{6} \[(127\.0\.0\.1:\d+|unix:[^\]]+)\] (".*")')
BOTH_PROTOCOLS = pytest.mark.parametrize("protocol", [(), ("-3",)], ids=["resp2", "resp3"])


# --- One command --------------------------------------------------------------------------------


@BOTH_PROTOCOLS
def test_a_job_goes_in_and_comes_out(
    shared: ServerProcess, queue: str, protocol: tuple[str, ...]
) -> None:
    added = redis_cli(shared, *protocol, "ADDJOB", queue, "Hello \u00e9", "0")
    id = added.stdout.decode().strip()
    got = redis_cli(shared, *protocol, "GETJOB", "FROM", queue)
    acked = redis_cli(shared, *protocol, "ACKJOB", id)

    assert JOB_ID.fullmatch(id)
    assert got.stdout.decode().splitlines() == [queue, id, "Hello \u00e9"]
    assert acked.stdout == b"1\n"
    assert added.stderr + got.stderr + acked.stderr == b""


@BOTH_PROTOCOLS
def test_people_see_types_and_nesting(
    shared: ServerProcess, queue: str, protocol: tuple[str, ...]
) -> None:
    id = redis_cli(shared, "ADDJOB", queue, "a\nb", "0").stdout.decode().strip()

    peeked = redis_cli(shared, *protocol, "--no-raw", "QPEEK", queue, "1").stdout.decode()
    counted = redis_cli(shared, *protocol, "--no-raw", "QLEN", queue).stdout
    absent = redis_cli(shared, *protocol, "--no-raw", "SHOW", UNKNOWN_ID).stdout
    nothing = redis_cli(shared, *protocol, "--no-raw", "GETJOB", "NOHANG", "FROM", "x").stdout
    refused = redis_cli(shared, *protocol, "--no-raw", "SHOW", "x").stdout

    assert peeked == f'1) 1) "{queue}"\n   2) "{id}"\n   3) "a\\nb"\n'
    assert (counted, absent, nothing) == (b"(integer) 1\n", b"(nil)\n", b"(nil)\n")
    assert refused.strip() == b"(error) BADID Invalid Job ID format."


def test_lists_look_the_same_in_both_protocols_and_maps_do_not(
    shared: ServerProcess, queue: str
) -> None:
    redis_cli(shared, "ADDJOB", queue, "body", "0")
    for question in (("QPEEK", queue, "1"), ("JSCAN", "QUEUE", queue), ("HELLO",)):
        old = redis_cli(shared, "-2", "--no-raw", *question).stdout
        new = redis_cli(shared, "-3", "--no-raw", *question).stdout
        assert old == new, question

    settings = ("--no-raw", "CONFIG", "GET", "maxmemory-policy")
    assert redis_cli(shared, *settings).stdout == b'1) "maxmemory-policy"\n2) "acks"\n'
    assert redis_cli(shared, "-3", *settings).stdout == b'1# "maxmemory-policy" => "acks"\n'


def test_raw_output_has_one_value_in_a_line(shared: ServerProcess, queue: str) -> None:
    redis_cli(shared, "ADDJOB", queue, "body", "0")

    described = redis_cli(shared, "--raw", "QSTAT", queue).stdout.decode().split("\n")
    separated = redis_cli(shared, "-d", "|", "QPEEK", queue, "1").stdout.decode().split("|")

    assert described[:4] == ["name", queue, "len", "1"]
    assert described[-3:] == ["pause", "none", ""]
    assert (separated[0], separated[2]) == (queue, "body\n")


def test_comma_separated_output_is_quoted(shared: ServerProcess) -> None:
    redis_cli(shared, "ADDJOB", "by comma", 'say "hi"', "0")

    peeked = redis_cli(shared, "--csv", "QPEEK", "by comma", "1").stdout.decode()
    nothing = redis_cli(shared, "--csv", "GETJOB", "NOHANG", "FROM", "x").stdout

    assert re.fullmatch(rf'"by comma","{JOB_ID.pattern}","say \\"hi\\""\n', peeked)
    assert nothing == b"NULL\n"


def test_json_output_can_be_read_by_programs(shared: ServerProcess, queue: str) -> None:
    require("--json")
    id = redis_cli(shared, "ADDJOB", queue, "body", "0").stdout.decode().strip()

    def ask(*words: str) -> object:
        return json.loads(redis_cli(shared, "--json", *words).stdout)

    shown = ask("SHOW", id)
    assert isinstance(shown, list)
    assert shown[:6] == ["id", id, "queue", queue, "state", "queued"]
    assert ask("GETJOB", "WITHCOUNTERS", "FROM", queue) == [
        [queue, id, "body", "nacks", 0, "additional-deliveries", 0]
    ]
    assert ask("GETJOB", "NOHANG", "FROM", queue) is None
    assert ask("CONFIG", "GET", "maxmemory-policy") == {"maxmemory-policy": "acks"}
    hello = ask("HELLO", "3")
    assert isinstance(hello, dict)
    assert (hello["server"], hello["proto"], hello["mode"]) == ("disque", 3, "standalone")


def test_errors_are_printed_and_on_demand_end_with_a_status(shared: ServerProcess) -> None:
    require("-e")

    lenient = redis_cli(shared, "NOPE")
    strict = redis_cli(shared, "-e", "NOPE")

    assert lenient.stdout.strip() == b"ERR unknown command 'NOPE'"
    assert lenient.returncode == 0
    assert strict.stderr.strip() == b"ERR unknown command 'NOPE'"
    assert strict.returncode == 1


@BOTH_PROTOCOLS
def test_a_getjob_waits_until_there_is_a_job(
    shared: ServerProcess, queue: str, protocol: tuple[str, ...]
) -> None:
    with following(shared, *protocol, "GETJOB", "FROM", queue) as waiting:
        wait_for_waiters(shared, queue, 1)
        id = redis_cli(shared, "ADDJOB", queue, "body", "0").stdout.decode().strip()

        printed, _ = waiting.communicate()

    assert printed.decode().splitlines() == [queue, id, "body"]


def test_info_and_the_list_of_clients_are_printed_as_they_are(shared: ServerProcess) -> None:
    info = redis_cli(shared, "--no-raw", "INFO", "server").stdout
    clients = redis_cli(shared, "--no-raw", "CLIENT", "LIST").stdout

    assert info.startswith(b"# Server\r\ndisque_version:")
    assert b"tcp_port:%d\r\n" % shared.port in info
    assert re.fullmatch(rb"(id=\d+ addr=.* cmd=\w+\n)+\n?", clients)


# --- Input --------------------------------------------------------------------------------------


def test_the_last_argument_can_come_from_standard_input(shared: ServerProcess, queue: str) -> None:
    id = redis_cli(shared, "ADDJOB", queue, "body", "0").stdout.strip()

    assert redis_cli(shared, "-x", "ACKJOB", stdin=id).stdout == b"1\n"


def test_a_body_of_any_bytes_can_come_from_standard_input(
    shared: ServerProcess, queue: str
) -> None:
    require("-X")
    body = bytes(range(256))

    added = redis_cli(shared, "-X", "BODY", "ADDJOB", queue, "BODY", "0", stdin=body)

    assert added.stdout.startswith(b"D-")
    assert redis_cli(shared, "GETJOB", "FROM", queue).stdout.endswith(b"\n" + body + b"\n")


def test_quoted_arguments_are_bytes(shared: ServerProcess) -> None:
    require("--quoted-input")

    echoed = redis_cli(shared, "--quoted-input", "--no-raw", "ECHO", r'"\x00\xff\r\n"')

    assert echoed.stdout == b'"\\x00\\xff\\r\\n"\n'


def test_lines_from_standard_input_are_commands(shared: ServerProcess) -> None:
    lines = b'PING\nADDJOB inline "two words" 0\nQLEN inline\nNOPE\n2 ECHO again\n'

    printed = redis_cli(shared, stdin=lines).stdout.decode().split("\n")

    assert printed[0] == "PONG"
    assert JOB_ID.fullmatch(printed[1])
    assert printed[2:] == ["1", "ERR unknown command 'NOPE'", "", "again", "again", ""]


def test_a_command_can_be_repeated(shared: ServerProcess, queue: str) -> None:
    added = redis_cli(shared, "-r", "5", "-i", "0.001", "ADDJOB", queue, "body", "0").stdout

    assert len(set(added.split())) == 5
    assert redis_cli(shared, "QLEN", queue).stdout == b"5\n"


def test_a_pipe_takes_thousands_of_commands(shared: ServerProcess, queue: str) -> None:
    commands = encode("ADDJOB", queue, bytes(range(256)), 0) * 2_000

    piped = redis_cli(shared, "--pipe", stdin=commands)

    assert piped.stdout.endswith(b"Last reply received from server.\nerrors: 0, replies: 2000\n")
    assert piped.returncode == 0
    assert redis_cli(shared, "QLEN", queue).stdout == b"2000\n"


def test_a_pipe_counts_errors(shared: ServerProcess) -> None:
    piped = redis_cli(shared, "--pipe", stdin=b"PING\r\nNOPE\r\n" + encode("SHOW", "x"))

    assert b"unknown command 'NOPE'" in piped.stderr
    assert b"BADID Invalid Job ID format." in piped.stderr
    assert piped.stdout.endswith(b"errors: 2, replies: 3\n")
    assert piped.returncode == 1


# --- Where to and who ---------------------------------------------------------------------------


def test_a_unix_socket_does_what_a_port_does(shared: ServerProcess, queue: str) -> None:
    place = ("-s", socket_path(shared))

    assert redis_cli(shared, *place, "ADDJOB", queue, "body", "0").stdout.startswith(b"D-")
    assert redis_cli(shared, *place, "QLEN", queue).stdout == b"1\n"
    assert (
        f"addr={socket_path(shared)}:0 ".encode()
        in redis_cli(shared, *place, "CLIENT", "LIST").stdout
    )


@BOTH_PROTOCOLS
def test_the_password_opens_the_server(guarded: ServerProcess, protocol: tuple[str, ...]) -> None:
    silent = (*protocol, "--no-auth-warning")
    url = f"redis://default:{quote(PASSWORD, '')}@127.0.0.1:{guarded.port}/0"

    for login in (
        ("-a", PASSWORD),
        ("--pass", PASSWORD),
        ("--user", "default", "--pass", PASSWORD),
        ("-u", url),
    ):
        done = redis_cli(guarded, *silent, *login, "PING")
        assert (done.stdout, done.stderr) == (b"PONG\n", b""), login
    assert redis_cli(guarded, *protocol, "PING", REDISCLI_AUTH=PASSWORD).stdout == b"PONG\n"


def test_without_the_right_password_nothing_is_done(guarded: ServerProcess) -> None:
    wrong = redis_cli(guarded, "--no-auth-warning", "-a", "wrong", "QLEN", "q")
    stranger = redis_cli(
        guarded, "--no-auth-warning", "--user", "root", "--pass", PASSWORD, "QLEN", "q"
    )
    nobody = redis_cli(guarded, "QLEN", "q")

    assert wrong.stderr == b"AUTH failed: ERR invalid password\n"
    assert b"AUTH failed: WRONGPASS" in stranger.stderr
    for done in (wrong, stranger, nobody):
        assert done.stdout == b"NOAUTH Authentication required.\n\n"


def test_a_pipe_with_a_password_works(guarded: ServerProcess, queue: str) -> None:
    login = ("--no-auth-warning", "-a", PASSWORD)

    piped = redis_cli(guarded, *login, "--pipe", stdin=encode("ADDJOB", queue, "body", 0))

    assert piped.stdout.endswith(b"errors: 0, replies: 1\n")


def test_there_is_one_database_and_its_number_is_zero(shared: ServerProcess) -> None:
    zero = redis_cli(shared, "-n", "0", "PING")
    one = redis_cli(shared, "-n", "1", "PING")

    assert (zero.stdout, zero.stderr) == (b"PONG\n", b"")
    assert b"DB index is out of range" in one.stderr


# --- Looking on ---------------------------------------------------------------------------------


@BOTH_PROTOCOLS
def test_monitor_shows_every_command_in_a_line(
    shared: ServerProcess, queue: str, protocol: tuple[str, ...]
) -> None:
    with following(shared, *protocol, "MONITOR") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == b"OK\n"
        redis_cli(shared, "ADDJOB", queue, 'a "b"\n', "0")
        redis_cli(shared, "-s", socket_path(shared), "PING")

        lines = [watching.stdout.readline().decode().removesuffix("\n") for _ in range(2)]

    first, second = (MONITOR_LINE.fullmatch(line) for line in lines)
    assert first is not None, lines
    assert first[2] == rf'"ADDJOB" "{queue}" "a \"b\"\n" "0"'
    assert second is not None, lines
    assert (second[1], second[2]) == (f"unix:{socket_path(shared)}", '"PING"')


def test_latency_is_measured(shared: ServerProcess) -> None:
    lowest, highest, mean, samples = redis_cli(shared, "--latency", "-i", "0.05").stdout.split()

    assert int(lowest) <= float(mean) <= int(highest) + 1
    assert int(samples) > 0


def test_statistics_find_their_numbers(shared: ServerProcess) -> None:
    with following(shared, "--stat", "-i", "0.001") as watching:
        assert watching.stdout is not None
        header, columns, *rows = [watching.stdout.readline().decode() for _ in range(4)]

    assert "load" in header
    assert columns.split() == ["keys", "mem", "clients", "blocked", "requests", "connections"]
    for row in rows:
        keys, memory, clients, blocked, requests, _, connections = row.split()
        assert keys == "0"
        assert re.fullmatch(r"\d+(\.\d+)?[KMG]", memory)
        assert all(int(number) >= 0 for number in (clients, blocked, requests, connections))


@pytest.mark.parametrize("mode", ["--scan", "--bigkeys", "--hotkeys", "--memkeys"])
def test_modes_about_keys_end_with_an_error(shared: ServerProcess, mode: str) -> None:
    require(mode)

    done = redis_cli(shared, mode)

    assert b"unknown command" in done.stdout + done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("words", [("SUBSCRIBE", "x"), ("EVAL", "return 1", "0"), ("SYNC",)])
def test_commands_that_only_redis_has_end_with_an_error(
    shared: ServerProcess, words: tuple[str, ...]
) -> None:
    done = redis_cli(shared, *words)

    assert b"unknown command" in done.stdout + done.stderr


# --- At a terminal ------------------------------------------------------------------------------


@BOTH_PROTOCOLS
def test_somebody_at_a_terminal_is_answered_and_helped(
    shared: ServerProcess, protocol: tuple[str, ...]
) -> None:
    with Terminal(shared, *protocol) as terminal:
        assert terminal.type("PING") == "PONG\n"
        assert JOB_ID.fullmatch(terminal.type("ADDJOB typed 'two words' 0").strip())
        assert '3) "two words"' in terminal.type("GETJOB FROM typed")
        assert terminal.type("GETJOB NOHANG FROM typed") == "(nil)\n"
        assert terminal.type("GETJOB typed") == "(error) ERR syntax error\n"
        assert "Describe a queue of this node" in terminal.type("help QSTAT")
        assert "ACKJOB" in terminal.type("help @jobs")


def test_shutdown_is_silent(server: ServerProcess) -> None:
    done = redis_cli(server, "SHUTDOWN")

    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    assert server.wait_exit() == 0
