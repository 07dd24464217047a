"""redis-py with tasks: pools, waits that are cancelled, and connections that break under them."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

import pytest
import redis
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tests.clients.node import PATIENCE_S, kill_named, wait_for_waiters
from tests.clients.redispy import PROTOCOLS, STUBBORN, Untyped
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.asyncio]

TASKS: Final = 50
STOP: Final = b"stop"


def connect(server: ServerProcess, protocol: int | None, **options: Untyped) -> Untyped:
    """Return a client; its pool makes as many connections as are used at the same time."""
    return redis.asyncio.Redis(host="127.0.0.1", port=server.port, protocol=protocol, **options)


def start(client: Untyped, *words: bytes | str | int) -> asyncio.Task[Untyped]:
    """Let a task send a command and wait for its reply."""
    return asyncio.create_task(client.execute_command(*words))


async def until_waiting(server: ServerProcess, queue: str, count: int) -> None:
    """Wait until so many clients wait for a job of this queue."""
    await asyncio.to_thread(wait_for_waiters, server, queue, count)


# --- Waiting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("TIMEOUT", 4_000)], ids=["forever", "for a time"])
async def test_a_task_that_waits_lets_the_others_go_on(
    shared: ServerProcess, protocol: int | None, queue: str, options: tuple[str | int, ...]
) -> None:
    async with connect(shared, protocol) as client:
        waiting = start(client, "GETJOB", *options, "FROM", queue)
        await until_waiting(shared, queue, 1)

        assert all(await asyncio.gather(*[client.ping() for _ in range(20)]))
        assert not waiting.done()
        id = await client.execute_command("ADDJOB", queue, "body", 0)

        assert await waiting == [[queue.encode(), id, b"body"]]


async def test_tasks_are_served_in_the_order_in_which_they_came(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    async with connect(shared, protocol) as client:
        waiting = []
        for count in range(1, 6):
            waiting.append(start(client, "GETJOB", "FROM", queue))
            await until_waiting(shared, queue, count)

        ids = [await client.execute_command("ADDJOB", queue, "body", 0) for _ in waiting]

        assert [jobs[0][1] for jobs in await asyncio.gather(*waiting)] == ids


async def test_a_wait_that_is_cancelled_costs_no_job(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    async with connect(shared, protocol) as client:
        waiting = start(client, "GETJOB", "FROM", queue)
        await until_waiting(shared, queue, 1)

        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until_waiting(shared, queue, 0)
        id = await client.execute_command("ADDJOB", queue, "body", 0)

        jobs = await client.execute_command("GETJOB", "FROM", queue)
        assert jobs == [[queue.encode(), id, b"body"]]


async def test_a_wait_that_takes_too_long_costs_no_job(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    async with connect(shared, protocol) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await client.execute_command("GETJOB", "FROM", queue)
        await until_waiting(shared, queue, 0)
        id = await client.execute_command("ADDJOB", queue, "body", 0)

        jobs = await client.execute_command("GETJOB", "FROM", queue)
        assert jobs == [[queue.encode(), id, b"body"]]


# --- Pools --------------------------------------------------------------------------------------


async def test_many_tasks_share_few_connections(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    pool: Untyped = redis.asyncio.BlockingConnectionPool(
        host="127.0.0.1",
        port=shared.port,
        protocol=protocol,
        max_connections=3,
        timeout=PATIENCE_S,
        client_name="of-three",
    )
    client: Untyped = redis.asyncio.Redis.from_pool(pool)

    async with client:

        async def work(number: int) -> None:
            mine = f"{queue} {number}"
            id = await client.execute_command("ADDJOB", mine, number, 0)
            jobs = await client.execute_command("GETJOB", "FROM", mine)
            assert jobs == [[mine.encode(), id, b"%d" % number]]
            assert await client.execute_command("ACKJOB", id) == 1

        await asyncio.gather(*[work(number) for number in range(TASKS)])

        names = [line["name"] for line in await client.client_list()]
        assert 1 <= names.count("of-three") <= 3


async def test_tasks_that_add_and_tasks_that_work_lose_and_repeat_nothing(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    bodies = [b"%d" % number for number in range(200)]

    async with connect(shared, protocol) as client:

        async def work() -> list[bytes]:
            done: list[bytes] = []
            while STOP not in done:
                [[_, id, body]] = await client.execute_command("GETJOB", "FROM", queue)
                assert await client.execute_command("ACKJOB", id) == 1
                done.append(body)
            return done

        async def add(some: list[bytes]) -> None:
            for body in some:
                await client.execute_command("ADDJOB", queue, body, 0)

        workers = [asyncio.create_task(work()) for _ in range(4)]
        await asyncio.gather(*[add(bodies[first::4]) for first in range(4)])
        await add([STOP] * len(workers))
        done = Counter(body for some in await asyncio.gather(*workers) for body in some)

        assert done == Counter(dict.fromkeys(bodies, 1) | {STOP: len(workers)})
        assert await client.execute_command("QLEN", queue) == 0


async def test_pipelines_on_many_connections_keep_their_replies_apart(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    async def echo(client: Untyped, number: int) -> list[bytes]:
        pipeline = client.pipeline(transaction=False)
        for count in range(20):
            pipeline = pipeline.echo(f"{number} {count}")
        replies = await pipeline.execute()
        assert isinstance(replies, list)
        return replies

    async with connect(shared, protocol) as client:
        replies = await asyncio.gather(*[echo(client, number) for number in range(10)])

        assert replies == [[b"%d %d" % (n, count) for count in range(20)] for n in range(10)]


# --- Connections that break while somebody waits ------------------------------------------------


async def test_a_wait_goes_on_after_its_connection_was_killed(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    async with connect(shared, protocol, client_name=queue) as client:
        waiting = start(client, "GETJOB", "FROM", queue)
        await until_waiting(shared, queue, 1)

        assert kill_named(shared, queue) == 1
        await until_waiting(shared, queue, 1)
        id = await client.execute_command("ADDJOB", queue, "body", 0)

        assert await waiting == [[queue.encode(), id, b"body"]]


async def test_a_killed_wait_that_is_not_repeated_is_an_error_and_costs_no_job(
    shared: ServerProcess, protocol: int | None, queue: str
) -> None:
    once = Retry(NoBackoff(), 0)
    async with connect(shared, protocol, client_name=queue, retry=once) as client:
        waiting = start(client, "GETJOB", "FROM", queue)
        await until_waiting(shared, queue, 1)

        assert kill_named(shared, queue) == 1
        with pytest.raises(redis.ConnectionError):
            await waiting
        id = await client.execute_command("ADDJOB", queue, "body", 0)

        jobs = await client.execute_command("QPEEK", queue, 1)
        assert jobs == [[queue.encode(), id, b"body"]]


@pytest.mark.slow
async def test_a_wait_goes_on_after_the_server_came_back(server: ServerProcess) -> None:
    clients = [connect(server, protocol, retry=Retry(*STUBBORN)) for protocol in PROTOCOLS.values()]
    waiting = [start(client, "GETJOB", "FROM", "q") for client in clients]
    await until_waiting(server, "q", len(clients))

    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start, server.port)
    await until_waiting(server, "q", len(clients))
    ids = {await client.execute_command("ADDJOB", "q", "body", 0) for client in clients}

    assert {jobs[0][1] for jobs in await asyncio.gather(*waiting)} == ids
    for client in clients:
        await client.aclose()
