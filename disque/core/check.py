"""Whole-state invariants: what must be true of a node between any two steps.

    registry  <->  table positions, bytes used
    queues    <->  table positions, bytes used; jobs in order, all of them queued, none missing
    waiters   <->  the lines of the queues; nobody waits beside a job that could be had
    copies    <->  jobs that wait for them
    timers    <->  jobs, queues, waiters and producers: one each, at the right time, none left over
    memory    <->  jobs nobody would miss

`check` looks at every job, so it is for tests, the simulator and the moment after a mistake, not
for every turn. It raises `AssertionError` with the first fact that is not one.
"""

from __future__ import annotations

from typing import Final

from disque.core.node import Node
from disque.core.queues import PAUSED_OUT, Queue
from disque.core.shelf import ANNOUNCE_MS
from disque.model.job import ACKED, ANNOUNCE, DELIVERED, QUEUED, WAIT_REPL, Job
from disque.model.limits import CLIENT_BYTES, JOB_BYTES, NODE_BYTES, QUEUE_BYTES

__all__ = ["check"]

COUNTER_MAX: Final = 65_535


def check(node: Node) -> None:
    """Raise `AssertionError` unless everything the node knows agrees with everything else."""
    _check_registry(node)
    for job in node.jobs.table:
        _check_job(node, job)
    _check_queues(node)
    _check_waiters(node)
    _check_copies(node)
    _check_timers(node)
    _check_memory(node)


def _check_registry(node: Node) -> None:
    jobs = node.jobs
    assert len(jobs.ids()) == len(jobs.table), "registry and table differ in size"
    for slot, job in enumerate(jobs.table):
        assert job.table_slot == slot, f"{job.id!r} does not know its place in the table"
        assert jobs.get(job.id) is job, f"{job.id!r} is in the table only"


def _check_job(node: Node, job: Job) -> None:
    me = node.shelf.me
    assert 0 <= job.nacks <= COUNTER_MAX, f"{job.id!r} was nacked {job.nacks} times"
    assert 0 <= job.additional_deliveries <= COUNTER_MAX, f"{job.id!r} counts deliveries wrongly"
    if job.body is None:
        assert job.state == ACKED, f"{job.id!r} has no body, but is not a dummy"
        assert not job.held_by, f"the dummy {job.id!r} has holders"
    else:
        assert me in job.held_by, f"{job.id!r} is here, but its holders are elsewhere"
    if job.state == ACKED:
        assert me in job.confirmed_by, f"{job.id!r} is acknowledged, but not by us"
    if job.state in (ACKED, WAIT_REPL):
        assert job.requeue_at_ms == 0, f"{job.id!r} would be queued although it may not be"
    if job.state == WAIT_REPL:
        assert job.confirmed_by <= job.held_by, f"{job.id!r} has a copy nobody holds"
    if job.retry_s == 0 and job.flags & DELIVERED:
        assert job.state != QUEUED, f"{job.id!r} may be delivered once only, but is queued again"
        assert job.requeue_at_ms == 0, f"{job.id!r} may be delivered once only, but has a next time"


def _check_queues(node: Node) -> None:
    queues = node.queues
    assert len(queues.by_name) == len(queues.table), "queues and their table differ in size"
    queued = 0
    for slot, queue in enumerate(queues.table):
        assert queue.table_slot == slot, f"{queue.name!r} does not know its place in the table"
        assert queues.by_name.get(queue.name) is queue, f"{queue.name!r} is in the table only"
        queued += len(queue.jobs)
        _check_order(node, queue)
    in_state = sum([1 for job in node.jobs.table if job.state == QUEUED])
    assert queued == in_state, f"{in_state} jobs are queued, but queues hold {queued}"


def _check_order(node: Node, queue: Queue) -> None:
    before = (-1, b"")
    forwards = list(queue.jobs)
    assert len(forwards) == len(queue.jobs), f"{queue.name!r} miscounts its jobs"
    for job in forwards:
        assert node.jobs.get(job.id) is job, f"{queue.name!r} holds a job that is gone"
        assert job.state == QUEUED, f"{job.id!r} is in a queue, but not queued"
        assert job.queue == queue.name, f"{job.id!r} is in the wrong queue"
        assert before < (job.ctime, job.id), f"{queue.name!r} is out of order"
        before = (job.ctime, job.id)
    backwards = list(queue.jobs.youngest_first())
    backwards.reverse()
    assert backwards == forwards, f"{queue.name!r} reads differently from its end"


def _check_waiters(node: Node) -> None:
    places = 0
    for client, waiter in node.waiters.by_client.items():
        assert waiter.client == client, f"client {client} is known under another number"
        assert waiter.queues, f"client {client} waits for nothing"
        for name in waiter.queues:
            queue = node.queues.get(name)
            assert queue is not None, f"client {client} waits for a queue that is gone"
            assert client in queue.waiting, f"client {client} is not in the line of {name!r}"
            places += 1
    assert places == sum([len(queue.waiting) for queue in node.queues.table]), "a line has a ghost"
    for queue in node.queues.table:
        if queue.waiting and len(queue.jobs) and not queue.paused & PAUSED_OUT:
            assert queue.name in node.requeue.ready, f"clients starve beside {queue.name!r}"


def _check_copies(node: Node) -> None:
    pending = node.replication.by_job
    for id, producer in pending.items():
        assert node.jobs.get(id) is producer.job, f"a producer waits for {id!r}, which is gone"
        assert producer.job.state == WAIT_REPL, f"a producer waits for {id!r} in vain"
    waiting = sum([1 for job in node.jobs.table if job.state == WAIT_REPL])
    assert waiting == len(pending), "jobs wait for copies, but nobody waits for them"


def _check_timers(node: Node) -> None:
    appointments = node.shelf.awake.appointments()
    expected = len(node.jobs.table) + len(node.queues.table)
    expected += sum([1 for waiter in node.waiters.by_client.values() if waiter.awake_ms])
    expected += sum([1 for producer in node.replication.by_job.values() if producer.awake_ms])
    assert len(appointments) == expected, f"{len(appointments)} timers instead of {expected}"
    for job in node.jobs.table:
        if job.state == ACKED:
            assert 0 < job.awake_ms <= job.expires_ms, f"{job.id!r} is never collected"
        else:
            assert job.awake_ms == _next_event_ms(job), f"{job.id!r} wakes at the wrong time"
    for queue in node.queues.table:
        assert queue.awake_ms, f"{queue.name!r} is never forgotten"


def _next_event_ms(job: Job) -> int:
    if job.requeue_at_ms == 0:
        return job.expires_ms
    early_ms = ANNOUNCE_MS if job.flags & ANNOUNCE else 0
    return min(job.requeue_at_ms - early_ms, job.expires_ms)


def _check_memory(node: Node) -> None:
    used_bytes = NODE_BYTES + node.memory.clients * CLIENT_BYTES
    used_bytes += sum(
        [JOB_BYTES + len(job.queue) + len(job.body or b"") for job in node.jobs.table]
    )
    used_bytes += sum([QUEUE_BYTES + len(queue.name) for queue in node.queues.table])
    assert node.memory.account.used_bytes == used_bytes, "the account of the memory is wrong"
    spare = node.memory.spare
    for job in spare.values():
        assert node.jobs.get(job.id) is job, f"{job.id!r} could be evicted, but is gone"
        assert _is_missed_by_nobody(job), f"{job.id!r} could be evicted, but is needed"
    needless = sum([1 for job in node.jobs.table if _is_missed_by_nobody(job)])
    assert needless == len(spare), "there are jobs nobody needs that are never evicted"


def _is_missed_by_nobody(job: Job) -> bool:
    return job.state == ACKED or (job.retry_s == 0 and bool(job.flags & DELIVERED))
