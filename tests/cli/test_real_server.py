"""The client and a real node understand each other."""

import json

import pytest

from disque.wire.encode import encode_request
from tests.cli.program import run_client
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_a_job_goes_in_and_comes_out(server: ServerProcess) -> None:
    id = run_client(server.port, "addjob", "mail", "Hello \u00e9", "0").stdout.decode().strip()
    shown = json.loads(run_client(server.port, "--json", "show", id).stdout)
    jobs = json.loads(run_client(server.port, "--json", "getjob", "from", "mail").stdout)

    assert (shown["id"], shown["queue"]) == (id, "mail")
    assert jobs == [{"queue": "mail", "id": id, "body": "Hello \u00e9"}]
    assert run_client(server.port, "ackjob", id).stdout == b"1\n"


def test_a_pipe_fills_queues_that_scan_and_longest_find(server: ServerProcess) -> None:
    add = [encode_request([b"ADDJOB", q, b"b", b"0"]) for q in (b"a", b"b", b"b")]

    piped = run_client(server.port, "--pipe", stdin=b"".join(add))

    assert piped.stdout.endswith(b"Last reply received from server.\nerrors: 0, replies: 3\n")
    assert run_client(server.port, "--scan", "--pattern", "a*").stdout == b"a\n"
    longest = run_client(server.port, "--bigkeys").stdout.split(b"\n")
    assert longest[0].split() == [b"2", b"b"]


def test_a_pipe_without_the_password_ends_at_once(server: ServerProcess) -> None:
    run_client(server.port, "config", "set", "requirepass", "pw")

    piped = run_client(server.port, "--pipe", stdin=b"PING\r\n")

    assert piped.returncode == 1
    assert b"NOAUTH" in piped.stderr


def test_stat_and_latency_and_info_have_something_to_show(server: ServerProcess) -> None:
    stat = run_client(server.port, "--stat", "-r", "2", "-i", "0.01").stdout.splitlines()
    latency = json.loads(run_client(server.port, "--json", "--latency", "-i", "0.05").stdout)

    assert len(stat) == 3
    assert b"-" not in stat[1].split()
    assert latency["samples"] > 0
    assert run_client(server.port, "info", "server").stdout.startswith(b"# Server\r\n")


def test_replies_that_are_switched_off_do_not_mix_up_the_rest(server: ServerProcess) -> None:
    lines = b"client reply off x\nclient reply skip\nping a\nping b\nclient reply off\nping c\n"

    done = run_client(server.port, stdin=lines + b"client reply on\nping d\n")

    assert done.stdout.split(b"\n\n")[1].split() == [b"b", b"OK", b"d"]


def test_shutdown_is_silent(server: ServerProcess) -> None:
    done = run_client(server.port, "shutdown")

    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    assert server.wait_exit() == 0
