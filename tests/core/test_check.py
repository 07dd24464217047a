"""A checker that cannot fail proves nothing: every kind of damage is found, and named."""

from collections.abc import Callable

import pytest

from disque.core.check import check
from disque.core.node import Node
from disque.core.waiters import Waiter
from disque.model.job import ACKED, ACTIVE, DELIVERED, QUEUED, WAIT_REPL, Job
from tests.core.helpers import (
    BEE,
    CAT,
    CLIENT,
    DAY_MS,
    ME,
    QUEUE,
    START_MS,
    added,
    new_cluster_node,
    new_job,
    new_order,
    waiting,
)

OTHER = b"other"
PRODUCER = 7
WAITER = 8


class Scene:
    """A node with a job in every state, a waiter and a producer."""

    def __init__(self) -> None:
        self.node: Node = new_cluster_node(BEE, CAT)
        self.queued = added(self.node, new_order(body=b"queued"))
        self.second = added(self.node, new_order(body=b"second"))
        self.spent = added(self.node, new_order(OTHER, retry_s=0))
        self.active = added(self.node, new_order(OTHER))
        self.node.take([OTHER], 2, START_MS)
        self.acked = added(self.node, new_order(OTHER, replicate=2, is_async=True))
        self.node.acknowledge(self.acked.id, START_MS)
        self.pending = waiting(self.node, new_order(replicate=2, timeout_ms=5), client=PRODUCER)
        self.node.waiters.block(WAITER, [OTHER], 1_000, with_counters=False, now_ms=START_MS)
        self.waiter = self.node.waiters.by_client[WAITER]

    def unknown(self) -> Job:
        """Make a job the node has never heard of."""
        job = new_job(1)
        job.state = QUEUED
        return job


def swap(scene: Scene) -> None:
    scene.queued.table_slot, scene.second.table_slot = 1, 0


def lose_from_index(scene: Scene) -> None:
    slot = scene.queued.table_slot
    scene.node.jobs.remove(scene.queued)
    scene.node.jobs.table.insert(slot, scene.queued)
    for place, job in enumerate(scene.node.jobs.table):
        job.table_slot = place


def reset(**values: object) -> Callable[[Scene], None]:
    """Damage the queued job."""

    def damage(scene: Scene) -> None:
        for name, value in values.items():
            setattr(scene.queued, name, value)

    return damage


def lose_body_of_active(scene: Scene) -> None:
    scene.node.memory.account.used_bytes -= len(scene.active.body or b"")
    scene.active.body = None


def give_holders_to_a_dummy(scene: Scene) -> None:
    scene.node.memory.account.used_bytes -= len(scene.acked.body or b"")
    scene.acked.body = None


def forget_own_acknowledgement(scene: Scene) -> None:
    scene.acked.confirmed_by = frozenset((BEE,))


def requeue_acknowledged(scene: Scene) -> None:
    scene.acked.requeue_at_ms = START_MS + 5


def confirm_without_holding(scene: Scene) -> None:
    scene.pending.held_by = frozenset((ME, BEE))
    scene.pending.confirmed_by = frozenset((ME, CAT))


def queue_spent_again(scene: Scene) -> None:
    scene.spent.state = QUEUED


def plan_spent_again(scene: Scene) -> None:
    scene.spent.requeue_at_ms = START_MS + 5


def miscount_queues(scene: Scene) -> None:
    scene.node.memory.account.used_bytes += 1


def swap_queues(scene: Scene) -> None:
    scene.node.queues.table.reverse()


def lose_queue(scene: Scene) -> None:
    del scene.node.queues.by_name[QUEUE]


def rename_queue(scene: Scene) -> None:
    scene.node.queues.by_name[b"x"] = scene.node.queues.by_name.pop(QUEUE)


def queue_a_stranger(scene: Scene) -> None:
    scene.node.queues.by_name[QUEUE].jobs.insert(scene.unknown())


def lose_from_queue(scene: Scene) -> None:
    scene.node.queues.by_name[QUEUE].jobs.remove(scene.queued)


def wait_under_another_number(scene: Scene) -> None:
    scene.waiter.client += 1


def wait_for_nothing(scene: Scene) -> None:
    scene.waiter.queues = []


def wait_for_a_queue_that_is_gone(scene: Scene) -> None:
    scene.waiter.queues = [b"gone"]


def leave_the_line(scene: Scene) -> None:
    scene.node.queues.by_name[OTHER].waiting.clear()


def leave_a_ghost(scene: Scene) -> None:
    scene.node.queues.by_name[OTHER].waiting[99] = None


def starve(scene: Scene) -> None:
    hungry = Waiter(9, [QUEUE], with_counters=False)
    scene.node.waiters.by_client[9] = hungry
    scene.node.queues.by_name[QUEUE].waiting[9] = None


def lose_the_awaited_job(scene: Scene) -> None:
    scene.node.replication.by_job[scene.pending.id].job = scene.active


def forget_the_producer(scene: Scene) -> None:
    del scene.node.replication.by_job[scene.pending.id]


def await_a_job_that_is_complete(scene: Scene) -> None:
    scene.pending.state = ACTIVE


def cancel_the_timer_of_a_job(scene: Scene) -> None:
    scene.node.shelf.awake.cancel(scene.active)


def move_the_timer_of_a_job(scene: Scene) -> None:
    scene.node.shelf.awake.schedule(scene.active, START_MS + 1)


def collect_too_late(scene: Scene) -> None:
    scene.node.shelf.awake.schedule(scene.acked, scene.acked.expires_ms + DAY_MS)


def never_forget_a_queue(scene: Scene) -> None:
    awake = scene.node.shelf.awake
    awake.cancel(scene.node.queues.by_name[QUEUE])
    awake.schedule(Waiter(0, [], with_counters=False), START_MS + 5)


def evict_what_is_needed(scene: Scene) -> None:
    scene.node.memory.spare[scene.active.id] = scene.active


def evict_what_is_gone(scene: Scene) -> None:
    gone = scene.unknown()
    gone.state = ACKED
    scene.node.memory.spare[gone.id] = gone


def keep_what_nobody_needs(scene: Scene) -> None:
    del scene.node.memory.spare[scene.spent.id]


DAMAGES: list[tuple[Callable[[Scene], None], str]] = [
    (swap, "does not know its place in the table"),
    (lose_from_index, "differ in size"),
    (reset(id=new_job(5).id), "is in the table only"),
    (reset(body=b"longer than before"), "the account of the memory is wrong"),
    (reset(nacks=65_536), "was nacked 65536 times"),
    (reset(additional_deliveries=-1), "counts deliveries wrongly"),
    (lose_body_of_active, "has no body, but is not a dummy"),
    (give_holders_to_a_dummy, "the dummy .* has holders"),
    (reset(held_by=frozenset((BEE,))), "its holders are elsewhere"),
    (forget_own_acknowledgement, "is acknowledged, but not by us"),
    (requeue_acknowledged, "would be queued although it may not be"),
    (confirm_without_holding, "has a copy nobody holds"),
    (queue_spent_again, "may be delivered once only, but is queued again"),
    (plan_spent_again, "may be delivered once only, but has a next time"),
    (swap_queues, "does not know its place in the table"),
    (lose_queue, "queues and their table differ in size"),
    (rename_queue, "is in the table only"),
    (miscount_queues, "the account of the memory is wrong"),
    (lose_from_queue, "jobs are queued, but queues hold"),
    (queue_a_stranger, "holds a job that is gone"),
    (reset(state=ACTIVE), "is in a queue, but not queued"),
    (reset(queue=OTHER), "is in the wrong queue"),
    (reset(ctime=2**62), "is out of order"),
    (wait_under_another_number, "is known under another number"),
    (wait_for_nothing, "waits for nothing"),
    (wait_for_a_queue_that_is_gone, "waits for a queue that is gone"),
    (leave_the_line, "is not in the line of"),
    (leave_a_ghost, "a line has a ghost"),
    (starve, "clients starve beside"),
    (lose_the_awaited_job, "which is gone"),
    (await_a_job_that_is_complete, "in vain"),
    (forget_the_producer, "nobody waits for them"),
    (cancel_the_timer_of_a_job, r"\d+ timers instead of \d+"),
    (move_the_timer_of_a_job, "wakes at the wrong time"),
    (collect_too_late, "is never collected"),
    (never_forget_a_queue, "is never forgotten"),
    (evict_what_is_needed, "could be evicted, but is needed"),
    (evict_what_is_gone, "could be evicted, but is gone"),
    (keep_what_nobody_needs, "that are never evicted"),
]


def test_scene_is_sound_and_shows_every_state() -> None:
    scene = Scene()

    check(scene.node)

    assert {job.state for job in scene.node.jobs.table} == {WAIT_REPL, ACTIVE, QUEUED, ACKED}
    assert scene.spent.flags & DELIVERED
    assert CLIENT not in scene.node.waiters.by_client


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES, ids=[text for _, text in DAMAGES])
def test_damage_is_found(damage: Callable[[Scene], None], sentence: str) -> None:
    scene = Scene()

    damage(scene)

    with pytest.raises(AssertionError, match=sentence):
        check(scene.node)
