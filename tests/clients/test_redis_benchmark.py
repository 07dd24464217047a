"""redis-benchmark gives its numbers, and what it adds is there."""

from __future__ import annotations

import pytest

from tests.clients.node import PASSWORD, socket_path
from tests.clients.programs import benchmark, needs_redis_benchmark
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.process, needs_redis_benchmark]


@pytest.mark.parametrize(
    "options",
    [(), ("-P", "10"), ("-3",), ("-k", "0")],
    ids=["one by one", "pipelined", "resp3", "a connection each"],
)
def test_hundreds_of_jobs_are_added_and_fetched(
    shared: ServerProcess, queue: str, options: tuple[str, ...]
) -> None:
    quiet = ("-n", "300", "-c", "10", "-q", *options)

    with shared.wire() as wire:
        added = benchmark(shared, *quiet, "ADDJOB", queue, "body", "0")
        assert wire.integer("QLEN", queue) == 300
        fetched = benchmark(shared, *quiet, "GETJOB", "FROM", queue)
        assert wire.integer("QLEN", queue) == 0

    for done in (added, fetched):
        assert b"requests per second" in done.stdout
        assert b"Error" not in done.stdout + done.stderr
        assert done.returncode == 0


def test_random_numbers_make_many_queues(shared: ServerProcess, queue: str) -> None:
    words = ("ADDJOB", f"{queue} __rand_int__", "body", "0")

    done = benchmark(shared, "-n", "200", "-c", "10", "-r", "50", "-q", *words)

    assert done.returncode == 0
    with shared.wire() as wire:
        _, names = wire.items("QSCAN", "BUSYLOOP", "MINLEN", 1)
    assert isinstance(names, list)
    ours = [name for name in names if isinstance(name, bytes) and name.startswith(queue.encode())]
    assert 2 <= len(ours) <= 50


def test_the_tests_it_brings_along_that_need_no_keys_work(shared: ServerProcess) -> None:
    done = benchmark(shared, "-n", "300", "-c", "10", "-t", "ping", "--csv")

    names = [line.split(b",")[0] for line in done.stdout.splitlines()[1:]]
    assert names == [b'"PING_INLINE"', b'"PING_MBULK"']


def test_unix_sockets_and_passwords_work(shared: ServerProcess, guarded: ServerProcess) -> None:
    quiet = ("-n", "100", "-c", "5", "-q")

    by_socket = benchmark(shared, *quiet, "-s", socket_path(shared), "PING")
    with_password = benchmark(guarded, *quiet, "-a", PASSWORD, "PING")

    for done in (by_socket, with_password):
        assert b"requests per second" in done.stdout
        assert b"Error" not in done.stdout + done.stderr


def test_a_refused_command_ends_it_with_the_error(shared: ServerProcess) -> None:
    done = benchmark(shared, "-n", "100", "-c", "5", "-q", "NOPE")

    assert b"Error from server: ERR unknown command 'NOPE'" in done.stdout + done.stderr
    assert done.returncode == 1
