"""redis-py with threads: pools, clients that wait, and connections that break under them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.clients.node import PATIENCE_S, kill_named, wait_for_waiters
from tests.clients.redispy import PROTOCOLS, STUBBORN, Untyped
from tests.support.server import ServerProcess

pytestmark = pytest.mark.process

THREADS: Final = 8
STOP: Final = b"stop"


def connect(server: ServerProcess, protocol: int | None, **options: Untyped) -> Untyped:
    """Return a client; its pool makes as many connections as are used at the same time."""
    return redis.Redis(host="127.0.0.1", port=server.port, protocol=protocol, **options)


@pytest.fixture
def client(shared: ServerProcess, protocol: int | None) -> Iterator[Untyped]:
    """Return a client with default settings."""
    with connect(shared, protocol) as client:
        yield client


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Return threads that end with the test."""
    with ThreadPoolExecutor(THREADS) as threads:
        yield threads


def jobs_of(waiting: Future[Untyped]) -> Untyped:
    """Return what a thread got, once it got it."""
    return waiting.result(PATIENCE_S)


# --- Waiting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("TIMEOUT", 4_000)], ids=["forever", "for a time"])
def test_a_thread_that_waits_lets_the_others_go_on(
    client: Untyped,
    threads: ThreadPoolExecutor,
    shared: ServerProcess,
    queue: str,
    options: tuple[str | int, ...],
) -> None:
    waiting = threads.submit(lambda: client.execute_command("GETJOB", *options, "FROM", queue))
    wait_for_waiters(shared, queue, 1)

    assert all(threads.map(lambda _: client.ping(), range(20)))
    assert not waiting.done()
    id = client.execute_command("ADDJOB", queue, "body", 0)

    assert jobs_of(waiting) == [[queue.encode(), id, b"body"]]


def test_threads_are_served_in_the_order_in_which_they_came(
    client: Untyped, threads: ThreadPoolExecutor, shared: ServerProcess, queue: str
) -> None:
    waiting = []
    for count in range(1, THREADS + 1):
        waiting.append(threads.submit(client.execute_command, "GETJOB", "FROM", queue))
        wait_for_waiters(shared, queue, count)

    ids = [client.execute_command("ADDJOB", queue, number, 0) for number in range(THREADS)]

    assert [jobs_of(each)[0][1] for each in waiting] == ids


def test_a_pipeline_holds_back_what_is_behind_a_getjob_that_waits(
    client: Untyped, threads: ThreadPoolExecutor, shared: ServerProcess, queue: str
) -> None:
    behind = queue + " behind"
    pipeline = client.pipeline(transaction=False)
    pipeline = pipeline.execute_command("GETJOB", "FROM", queue)
    pipeline = pipeline.execute_command("ADDJOB", behind, "body", 0)
    waiting = threads.submit(pipeline.execute)
    wait_for_waiters(shared, queue, 1)

    assert client.execute_command("QLEN", behind) == 0
    id = client.execute_command("ADDJOB", queue, "body", 0)

    jobs, id_behind = jobs_of(waiting)
    assert jobs == [[queue.encode(), id, b"body"]]
    assert client.execute_command("QPEEK", behind, 1) == [[behind.encode(), id_behind, b"body"]]


# --- Pools --------------------------------------------------------------------------------------


def test_many_threads_share_few_connections(
    threads: ThreadPoolExecutor, shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    new_pool: Untyped = redis.BlockingConnectionPool
    pool = new_pool(
        host="127.0.0.1",
        port=shared.port,
        protocol=protocol,
        max_connections=3,
        timeout=PATIENCE_S,
        client_name="of-three",
    )
    client: Untyped = redis.Redis.from_pool(pool)

    def work(number: int) -> None:
        mine = f"{queue} {number}"
        for body in (b"%d %d" % (number, round) for round in range(10)):
            id = client.execute_command("ADDJOB", mine, body, 0)
            assert client.execute_command("GETJOB", "FROM", mine) == [[mine.encode(), id, body]]
            assert client.execute_command("ACKJOB", id) == 1

    list(threads.map(work, range(THREADS)))

    names = [line["name"] for line in client.client_list()]
    assert 1 <= names.count("of-three") <= 3
    client.close()


def test_threads_that_add_and_threads_that_work_lose_and_repeat_nothing(
    client: Untyped, threads: ThreadPoolExecutor, queue: str
) -> None:
    bodies = [b"%d" % number for number in range(200)]

    def work() -> list[bytes]:
        done: list[bytes] = []
        while STOP not in done:
            [[_, id, body]] = client.execute_command("GETJOB", "FROM", queue)
            assert client.execute_command("ACKJOB", id) == 1
            done.append(body)
        return done

    workers = [threads.submit(work) for _ in range(THREADS // 2)]
    list(threads.map(lambda body: client.execute_command("ADDJOB", queue, body, 0), bodies))
    for _ in workers:
        client.execute_command("ADDJOB", queue, STOP, 0)
    done = Counter(body for worker in workers for body in jobs_of(worker))

    assert done == Counter(dict.fromkeys(bodies, 1) | {STOP: len(workers)})
    assert client.execute_command("QLEN", queue) == 0


# --- Connections that break while somebody waits ------------------------------------------------


def test_a_wait_goes_on_after_its_connection_was_killed(
    threads: ThreadPoolExecutor, shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    with connect(shared, protocol, client_name=queue) as client:
        waiting = threads.submit(client.execute_command, "GETJOB", "FROM", queue)
        wait_for_waiters(shared, queue, 1)

        assert kill_named(shared, queue) == 1
        wait_for_waiters(shared, queue, 1)
        id = client.execute_command("ADDJOB", queue, "body", 0)

        assert jobs_of(waiting) == [[queue.encode(), id, b"body"]]


def test_a_killed_wait_that_is_not_repeated_is_an_error_and_costs_no_job(
    threads: ThreadPoolExecutor, shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    with connect(shared, protocol, client_name=queue, retry=Retry(NoBackoff(), 0)) as client:
        waiting = threads.submit(client.execute_command, "GETJOB", "FROM", queue)
        wait_for_waiters(shared, queue, 1)

        assert kill_named(shared, queue) == 1
        with pytest.raises(redis.ConnectionError):
            jobs_of(waiting)
        id = client.execute_command("ADDJOB", queue, "body", 0)

        assert client.execute_command("QPEEK", queue, 1) == [[queue.encode(), id, b"body"]]


@pytest.mark.slow
def test_a_wait_goes_on_after_the_server_came_back(
    threads: ThreadPoolExecutor, server: ServerProcess
) -> None:
    clients = [connect(server, protocol, retry=Retry(*STUBBORN)) for protocol in PROTOCOLS.values()]
    with ExitStack() as connected:
        waiting = [
            threads.submit(connected.enter_context(client).execute_command, "GETJOB", "FROM", "q")
            for client in clients
        ]
        wait_for_waiters(server, "q", len(clients))

        server.stop()
        server.start(server.port)
        wait_for_waiters(server, "q", len(clients))
        ids = {client.execute_command("ADDJOB", "q", "body", 0) for client in clients}

        assert {jobs_of(each)[0][1] for each in waiting} == ids
