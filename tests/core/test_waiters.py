"""Whoever waits stands once in every line it named, in the order it came, until it leaves."""

import pytest
from hypothesis import given, strategies as st

from disque.core.check import check
from disque.core.node import Node
from disque.model.limits import MENTIONED_QUEUES_BYTES_MAX
from disque.model.replies import ErrorReply, NothingReply
from tests.core.helpers import START_MS, drained_replies, new_node, run_until

A, B, C = NAMES = (b"a", b"b", b"c")


def block(node: Node, client: int, *names: bytes, timeout_ms: int = 0) -> None:
    """Let a client wait."""
    node.waiters.block(client, list(names), timeout_ms, with_counters=False, now_ms=START_MS)


def line(node: Node, name: bytes) -> list[int]:
    """Return who waits for a queue, the first in line first."""
    queue = node.queues.get(name)
    return list(queue.waiting) if queue is not None else []


def emptied(node: Node) -> list[int]:
    """Take the replies, all of which must say that there is no job."""
    replies = drained_replies(node)
    assert all(isinstance(reply, NothingReply) for reply in replies)
    return [reply.client for reply in replies]


# --- Standing in line ---------------------------------------------------------------------------


def test_waiter_stands_in_every_line_it_named_behind_those_that_came_before() -> None:
    node = new_node()

    block(node, 7, A)
    block(node, 3, B, A)
    block(node, 5, A, C)

    assert (line(node, A), line(node, B), line(node, C)) == ([7, 3, 5], [3], [5])
    assert node.waiters.count() == 3
    check(node)


def test_waiter_that_names_a_queue_twice_stands_there_once() -> None:
    node = new_node()

    block(node, 1, B, A, B, B, A)

    assert node.waiters.by_client[1].queues == [B, A]
    assert (line(node, A), line(node, B)) == ([1], [1])
    check(node)


def test_waiting_for_a_queue_opens_it() -> None:
    node = new_node()

    block(node, 1, A, B)

    assert sorted(queue.name for queue in node.queues.table) == [A, B]


@pytest.mark.parametrize("with_counters", [False, True])
def test_waiter_remembers_what_it_wants_to_see(with_counters: bool) -> None:
    node = new_node()

    node.waiters.block(1, [A], 0, with_counters, START_MS)

    waiter = node.waiters.by_client[1]
    assert (waiter.client, waiter.with_counters) == (1, with_counters)


def test_client_that_waits_already_cannot_wait_again() -> None:
    node = new_node()
    block(node, 1, A)

    with pytest.raises(AssertionError):
        block(node, 1, B)

    assert (line(node, A), line(node, B)) == ([1], [])
    check(node)


# --- Leaving ------------------------------------------------------------------------------------


def test_released_waiter_leaves_every_line_at_once_and_is_told_nothing() -> None:
    node = new_node()
    for client in (1, 2, 3):
        block(node, client, A, B, timeout_ms=1_000)

    node.waiters.release(node.waiters.by_client[2])

    assert (line(node, A), line(node, B)) == ([1, 3], [1, 3])
    assert drained_replies(node) == []
    check(node)


def test_waiter_that_comes_back_stands_at_the_end() -> None:
    node = new_node()
    for client in (1, 2):
        block(node, client, A)

    node.waiters.client_gone(1)
    block(node, 1, A)

    assert line(node, A) == [2, 1]


def test_client_that_does_not_wait_can_leave() -> None:
    node = new_node()
    block(node, 1, A)

    node.waiters.client_gone(2)

    assert (line(node, A), node.waiters.count()) == ([1], 1)


def test_waiter_can_leave_after_one_of_its_queues_is_gone() -> None:
    node = new_node()
    block(node, 1, A, B)
    queue = node.queues.get(A)
    assert queue is not None
    node.queues.forget(queue)

    node.waiters.client_gone(1)

    assert (line(node, A), line(node, B)) == ([], [])
    check(node)


def test_names_that_were_waited_for_in_vain_take_a_bounded_amount_of_memory() -> None:
    node = new_node()
    before_bytes = node.memory.account.used_bytes

    for number in range(3_000):
        block(node, 1, b"%d" % number)
        node.waiters.client_gone(1)

    assert node.memory.account.used_bytes - before_bytes <= MENTIONED_QUEUES_BYTES_MAX


def test_who_left_is_not_woken() -> None:
    node = new_node()
    block(node, 1, A, timeout_ms=1_000)

    node.waiters.client_gone(1)
    run_until(node, START_MS + 2_000)

    assert drained_replies(node) == []


# --- Ending with nothing or with an error -------------------------------------------------------


def test_waiters_are_sent_away_when_their_own_time_is_over() -> None:
    node = new_node()
    for client, timeout_ms in enumerate([500, 0, 300, 1]):
        block(node, client, A, timeout_ms=timeout_ms)

    gone: list[list[int]] = []
    for elapsed_ms in (1, 2, 300, 301, 500, 501, 100_000):
        run_until(node, START_MS + elapsed_ms)
        gone.append(emptied(node))

    assert gone == [[], [3], [], [2], [], [0], []]
    assert line(node, A) == [1]
    check(node)


def test_all_can_be_sent_away_with_nothing() -> None:
    node = new_node()
    for client in (3, 1, 2):
        block(node, client, A, B, timeout_ms=client)

    node.waiters.release_all_with_nothing()

    assert emptied(node) == [3, 1, 2]
    assert (node.waiters.count(), line(node, A), line(node, B)) == (0, [], [])
    check(node)


def test_all_can_be_sent_away_with_an_error() -> None:
    node = new_node()
    for client in (3, 1, 2):
        block(node, client, A, B, timeout_ms=client)

    node.waiters.release_all_with_error("LEAVING", "go elsewhere")

    told: list[tuple[int, str, str]] = []
    for reply in drained_replies(node):
        assert isinstance(reply, ErrorReply)
        told.append((reply.client, reply.code, reply.sentence))
    assert told == [(client, "LEAVING", "go elsewhere") for client in (3, 1, 2)]
    assert (node.waiters.count(), line(node, A), line(node, B)) == (0, [], [])
    check(node)


def test_sending_nobody_away_says_nothing() -> None:
    node = new_node()

    node.waiters.release_all_with_nothing()
    node.waiters.release_all_with_error("LEAVING", "go elsewhere")

    assert drained_replies(node) == []


# --- Any history --------------------------------------------------------------------------------


class Model:
    """A list of who waits, for what and until when; everything else is looked up in it."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, list[bytes], float]] = []

    def clients(self) -> list[int]:
        """Return everybody who waits."""
        return [client for client, _, _ in self.waiting]

    def line(self, name: bytes) -> list[int]:
        """Return who waits for a queue."""
        return [client for client, names, _ in self.waiting if name in names]

    def leave(self, client: int) -> None:
        """Forget a client."""
        self.waiting = [waiter for waiter in self.waiting if waiter[0] != client]

    def overdue(self, now_ms: int) -> list[int]:
        """Return whose time is over."""
        return [client for client, _, until_ms in self.waiting if until_ms < now_ms]


Step = tuple[str, int, list[bytes], int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["block", "block", "block", "leave", "serve", "time", "nothing", "error"]),
        st.integers(0, 5),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
        st.sampled_from([0, 1, 70, 1_000]),
    ),
    max_size=40,
)


@given(steps)
def test_lines_are_those_of_a_list_of_waiters(plan: list[Step]) -> None:
    node, model = new_node(), Model()
    now_ms = START_MS

    for verb, client, names, timeout_ms in plan:
        expected: list[int] = []
        if verb == "block" and client not in model.clients():
            node.waiters.block(client, names, timeout_ms, with_counters=False, now_ms=now_ms)
            until_ms = now_ms + timeout_ms if timeout_ms else float("inf")
            model.waiting.append((client, names, until_ms))
        elif verb == "leave":
            node.waiters.client_gone(client)
            model.leave(client)
        elif verb == "serve" and model.line(names[0]):
            first = model.line(names[0])[0]
            node.waiters.release(node.waiters.by_client[first])
            model.leave(first)
        elif verb == "time":
            now_ms += timeout_ms
            run_until(node, now_ms)
            expected = model.overdue(now_ms)
        elif verb == "nothing":
            node.waiters.release_all_with_nothing()
            expected = model.clients()
        elif verb == "error":
            node.waiters.release_all_with_error("ERR", "no")
            expected = model.clients()

        for gone in expected:
            model.leave(gone)
        told = [reply.client for reply in drained_replies(node)]
        assert sorted(told) == sorted(expected)
        assert list(node.waiters.by_client) == model.clients()
        assert [line(node, name) for name in NAMES] == [model.line(name) for name in NAMES]
        assert node.waiters.count() == len(model.waiting)
        check(node)
