"""What the command layer derives from settings and circumstances."""

from __future__ import annotations

import pytest

from disque.commands.frontend import NEVER_NS, Entry, Frontend
from disque.commands.handlers import HANDLERS
from disque.commands.table import COMMANDS
from disque.model.settings import Settings
from disque.wire.requests import ARGUMENTS_MAX
from tests.commands.world import World


def front_with(**changes: int) -> Frontend:
    settings = Settings()
    for name, value in changes.items():
        setattr(settings, name, value)
    return World(settings=settings).front


def entry(name: bytes) -> Entry:
    (command,) = [command for command in COMMANDS if command.name == name]
    return Entry(command, HANDLERS[name])


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        (b"qlen", 2, 2),
        (b"monitor", 1, 1),
        (b"addjob", 4, ARGUMENTS_MAX),
        (b"ackjob", 1, ARGUMENTS_MAX),
        (b"command", 0, ARGUMENTS_MAX),
    ],
)
def test_an_arity_is_a_number_of_words_or_a_least_number(
    name: bytes, least: int, most: int
) -> None:
    assert (entry(name).least, entry(name).most) == (least, most)


def test_only_what_stores_or_queues_jobs_needs_room() -> None:
    needy = [command.name for command in COMMANDS if entry(command.name).needs_room]

    assert needy == [b"addjob", b"enqueue", b"nack"]


@pytest.mark.parametrize(
    ("slower_than_us", "threshold_ms", "slow_ns"),
    [
        (10_000, 0, 10_000_000),
        (0, 0, 0),
        (-1, 0, NEVER_NS),
        (-1, 5, 5_000_000),
        (10_000, 5, 5_000_000),
        (1_000, 5, 1_000_000),
    ],
)
def test_a_command_is_looked_at_from_the_lower_of_both_thresholds(
    slower_than_us: int, threshold_ms: int, slow_ns: int
) -> None:
    front = front_with(
        slowlog_log_slower_than=slower_than_us, latency_monitor_threshold=threshold_ms
    )

    assert front.slow_ns == slow_ns


def test_a_shorter_slow_log_is_cut_at_once() -> None:
    world = World()
    client = world.client()
    client.ask(b"CONFIG", b"SET", b"slowlog-log-slower-than", b"0")
    for _ in range(5):
        client.ask(b"PING")

    client.ask(b"CONFIG", b"SET", b"slowlog-max-len", b"2")

    assert len(world.front.slowlog) <= 2


def test_an_ordinary_server_has_no_gate_but_arity_and_memory() -> None:
    assert not World().front.is_guarded


def test_whatever_may_refuse_a_command_is_a_gate() -> None:
    front = World().front

    front.is_loading = True
    front.gates_changed()
    was_guarded_while_loading = front.is_guarded
    front.is_loading = False
    front.write_error = "No space left on device"
    front.gates_changed()
    was_guarded_without_disk = front.is_guarded
    front.write_error = ""
    front.gates_changed()

    assert (was_guarded_while_loading, was_guarded_without_disk) == (True, True)
    assert not front.is_guarded


def test_a_password_is_a_gate_until_it_is_taken_away() -> None:
    world = World()
    client = world.client()
    client.ask(b"CONFIG", b"SET", b"requirepass", b"x")
    assert world.front.is_guarded

    client.ask(b"AUTH", b"x")
    client.ask(b"CONFIG", b"SET", b"requirepass", b"")

    assert not world.front.is_guarded


def test_a_monitor_is_a_gate_for_everybody_until_the_last_one_leaves() -> None:
    world = World()
    first, second = world.client(), world.client()
    first.ask(b"MONITOR")
    second.ask(b"MONITOR")

    first.hang_up()
    still = world.front.is_guarded
    second.hang_up()

    assert (still, world.front.is_guarded) == (True, False)
