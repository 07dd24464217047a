"""How jobs, queues and the core's own replies look on the wire."""

from __future__ import annotations

from typing import Final

from disque.core.queues import PAUSE_NAMES, Queue
from disque.model.errors import CommandError
from disque.model.job import STATE_NAMES, Job, NodeId
from disque.model.replies import Delivery, ErrorReply, IdReply, JobsReply, NothingReply, Reply
from disque.wire import resp

__all__ = [
    "deliveries",
    "encode",
    "error",
    "jobs",
    "nil",
    "nil_array",
    "queue_facts",
    "show",
]


def error(problem: CommandError) -> bytes:
    """Encode an error reply; user text in it was decoded byte by byte, so it goes back that way."""
    return resp.error(
        problem.code.encode("latin-1", "replace"), problem.sentence.encode("latin-1", "replace")
    )


def nil(protocol: int) -> bytes:
    """Encode the absence of a value."""
    return resp.NIL_BULK if protocol == 2 else resp.NULL3


def nil_array(protocol: int) -> bytes:
    """Encode the absence of a list."""
    return resp.NIL_ARRAY if protocol == 2 else resp.NULL3


def encode(reply: Reply, protocol: int) -> bytes:
    """Encode what the core says to a client that was blocked."""
    if isinstance(reply, JobsReply):
        return deliveries(reply.deliveries, reply.with_counters)
    if isinstance(reply, NothingReply):
        return nil_array(protocol)
    if isinstance(reply, IdReply):
        return resp.simple(reply.id)
    if isinstance(reply, ErrorReply):
        return error(CommandError(reply.code, reply.sentence))
    raise AssertionError(f"unhandled reply {reply!r}")


def jobs(taken: list[Job]) -> bytes:
    """Encode fetched jobs, without counters: queue, id and body of each."""
    parts = [b"*%d\r\n" % len(taken)]
    for job in taken:
        body = job.body if job.body is not None else b""
        parts.append(
            b"*3\r\n$%d\r\n%s\r\n$40\r\n%s\r\n$%d\r\n%s\r\n"
            % (len(job.queue), job.queue, job.id, len(body), body)
        )
    return b"".join(parts)


def deliveries(taken: list[Delivery], with_counters: bool) -> bytes:
    """Encode fetched jobs, with counters on demand."""
    parts = [b"*%d\r\n" % len(taken)]
    for given in taken:
        parts.append(b"*7\r\n" if with_counters else b"*3\r\n")
        parts.append(resp.bulk(given.queue))
        parts.append(resp.bulk(given.id))
        parts.append(resp.bulk(given.body))
        if with_counters:
            parts.append(
                b"$5\r\nnacks\r\n:%d\r\n$21\r\nadditional-deliveries\r\n:%d\r\n"
                % (given.nacks, given.additional_deliveries)
            )
    return b"".join(parts)


def show(job: Job, protocol: int, now_ms: int) -> bytes:
    """Encode everything SHOW tells of a job: fifteen names and values."""
    is_dummy = job.body is None
    confirmed = job.confirmed_by if job.confirmed_by is not job.held_by else NOBODY
    requeue_ms = job.requeue_at_ms - now_ms if job.requeue_at_ms else None
    awake_ms = job.awake_ms - now_ms if job.awake_ms else None
    parts = [
        b"$2\r\nid\r\n" + resp.bulk(job.id),
        b"$5\r\nqueue\r\n" + (nil(protocol) if is_dummy else resp.bulk(job.queue)),
        b"$5\r\nstate\r\n" + resp.bulk(STATE_NAMES[job.state]),
        b"$4\r\nrepl\r\n:%d\r\n" % job.replicate,
        b"$3\r\nttl\r\n:%d\r\n" % seconds_left(job.expires_ms, now_ms),
        b"$5\r\nctime\r\n:%d\r\n" % job.ctime,
        b"$5\r\ndelay\r\n:%d\r\n" % job.delay_s,
        b"$5\r\nretry\r\n:%d\r\n" % job.retry_s,
        b"$5\r\nnacks\r\n:%d\r\n" % job.nacks,
        b"$21\r\nadditional-deliveries\r\n:%d\r\n" % job.additional_deliveries,
        b"$15\r\nnodes-delivered\r\n" + node_ids(job.held_by),
        b"$15\r\nnodes-confirmed\r\n" + node_ids(confirmed),
        b"$19\r\nnext-requeue-within\r\n" + milliseconds(requeue_ms, protocol),
        b"$17\r\nnext-awake-within\r\n" + milliseconds(awake_ms, protocol),
        b"$4\r\nbody\r\n" + (nil(protocol) if job.body is None else resp.bulk(job.body)),
    ]
    return b"*30\r\n" + b"".join(parts)


def queue_facts(queue: Queue, now_ms: int) -> bytes:
    """Encode everything QSTAT tells of a queue: ten names and values."""
    parts = [
        b"$4\r\nname\r\n" + resp.bulk(queue.name),
        b"$3\r\nlen\r\n:%d\r\n" % len(queue.jobs),
        b"$3\r\nage\r\n:%d\r\n" % ((now_ms - queue.created_ms) // 1_000),
        b"$4\r\nidle\r\n:%d\r\n" % ((now_ms - queue.used_ms) // 1_000),
        b"$7\r\nblocked\r\n:%d\r\n" % len(queue.waiting),
        b"$11\r\nimport-from\r\n" + node_ids(frozenset(queue.sources)),
        b"$11\r\nimport-rate\r\n:%d\r\n" % queue.import_rate(now_ms),
        b"$7\r\njobs-in\r\n:%d\r\n" % queue.jobs_in,
        b"$8\r\njobs-out\r\n:%d\r\n" % queue.jobs_out,
        b"$5\r\npause\r\n" + resp.bulk(PAUSE_NAMES[queue.paused]),
    ]
    return b"*20\r\n" + b"".join(parts)


NOBODY: Final[frozenset[NodeId]] = frozenset()


def node_ids(nodes: frozenset[NodeId]) -> bytes:
    """Encode a set of nodes, sorted so that equal sets look equal."""
    return resp.array([resp.bulk(node) for node in sorted(nodes)])


def milliseconds(left_ms: int | None, protocol: int) -> bytes:
    """Encode a time to wait, never negative, or its absence."""
    return nil(protocol) if left_ms is None else resp.integer(max(left_ms, 0))


def seconds_left(expires_ms: int, now_ms: int) -> int:
    """Return whole seconds until then, rounded up, never negative."""
    return max(-((now_ms - expires_ms) // 1_000), 0)
