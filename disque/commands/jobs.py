"""ADDJOB, GETJOB, SHOW and JSCAN: commands about single jobs."""

from __future__ import annotations

from typing import Final

from disque.commands import replies
from disque.commands.frontend import Frontend
from disque.commands.options import integer_or_none, timeout_ms
from disque.commands.scanning import ScanPage, read_scan
from disque.commands.session import ON_QUEUES, ON_REPLICATION, Session
from disque.core.node import LEAVING_SENTENCE
from disque.core.scan import scan
from disque.model import jobid
from disque.model.errors import CommandError, SyntaxProblem
from disque.model.job import STATE_NAMES, Job
from disque.model.limits import REMEMBERED_BYTES_MAX, SECONDS_MAX, WAITED_QUEUES_MAX
from disque.model.order import FetchOrder, JobOrder
from disque.model.replies import Delivery
from disque.wire import resp

__all__ = ["addjob", "getjob", "jscan", "show"]

TTL_S: Final = 86_400
RETRY_S_MAX: Final = 300
REPLICATE: Final = 3
REPLICATE_MAX: Final = 65_535
# Between the id and a short body of a job in a reply: joining is quicker than writing numbers.
TABLE_SIZE: Final = 1_024
BETWEEN_ID_AND_BODY: Final = [b"\r\n$%d\r\n" % length for length in range(TABLE_SIZE)]


def addjob(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes | None:
    """ADDJOB queue body ms-timeout [option ...]: make a job, reply with its id."""
    node = front.node
    options = argv[3:]
    membership = node.membership
    size = 1 if len(membership.nodes) == 1 else membership.size()
    order = front.last_order
    if options != front.last_options or size != front.last_size:
        # Producers repeat themselves: options are read once, as long as they stay the same.
        order = read_order(argv, size)
        if sum([len(word) for word in options]) <= REMEMBERED_BYTES_MAX:
            front.last_order = order
            front.last_options = options
            front.last_size = size
    order.queue = argv[1]
    order.body = argv[2]
    try:
        id = node.add(session.id, order, now_ms)
    finally:
        # The order is kept, but neither the queue's name nor the body need live as long.
        order.queue = order.body = b""
    if id is None:
        session.waits = ON_REPLICATION
        return None
    return b"+%s\r\n" % id


def read_order(argv: list[bytes], cluster_size: int) -> JobOrder:
    """Read the options of ADDJOB, check them in the order clients know, and fill in defaults."""
    order = JobOrder(argv[1], argv[2], 0, min(REPLICATE, cluster_size), TTL_S, -1)
    at = 4
    while at < len(argv):
        at += read_option(order, argv, at)
    order.timeout_ms = timeout_ms(argv[3])
    if order.retry_s == 0 and order.replicate > 1:
        raise CommandError(
            "ERR",
            # The two spaces are part of the text that clients know.
            "With RETRY set to 0 please explicitly set  REPLICATE to 1 (at-most-once delivery)",
        )
    if order.delay_s >= order.ttl_s:
        raise CommandError(
            "ERR",
            "The specified DELAY is greater than TTL. Job refused since would never be delivered",
        )
    if order.retry_s < 0:
        order.retry_s = max(min(order.ttl_s // 10, RETRY_S_MAX), 1)
    return order


def read_option(order: JobOrder, argv: list[bytes], at: int) -> int:
    """Read one option of ADDJOB; return how many arguments it took."""
    word = argv[at].upper()
    if word == b"ASYNC":
        order.is_async = True
        return 1
    if at + 1 == len(argv):
        raise SyntaxProblem
    value = integer_or_none(argv[at + 1])
    if word == b"REPLICATE":
        if value is None or not 1 <= value <= REPLICATE_MAX:
            raise CommandError("ERR", "REPLICATE must be between 1 and 65535")
        order.replicate = value
    elif word == b"TTL":
        order.ttl_s = at_least(1, value, "TTL must be a number > 0")
    elif word == b"RETRY":
        order.retry_s = at_least(0, value, "RETRY time must be a non negative number")
    elif word == b"DELAY":
        order.delay_s = at_least(0, value, "DELAY time must be a non negative number")
    elif word == b"MAXLEN":
        order.length_max = at_least(1, value, "MAXLEN must be a positive number")
    else:
        raise SyntaxProblem
    return 2


def at_least(least: int, value: int | None, sentence: str) -> int:
    """Return a number that is large enough, clamped to what we store."""
    if value is None or value < least:
        raise CommandError("ERR", sentence)
    return min(value, SECONDS_MAX)


def getjob(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes | None:
    """GETJOB [option ...] FROM queue [queue ...]: take jobs, or wait for one."""
    node = front.node
    order = front.last_fetch
    if argv is not front.last_getjob and argv != front.last_getjob:
        # Consumers repeat themselves: a request is read once, as long as it stays the same.
        order = read_fetch(argv)
        if sum([len(word) for word in argv]) <= REMEMBERED_BYTES_MAX:
            front.last_fetch = order
            front.last_getjob = argv
    if not order.is_single:
        taken = node.take(order.queues, order.count, now_ms)
        if taken:
            if order.with_counters:
                return replies.deliveries([Delivery(job) for job in taken], with_counters=True)
            return replies.jobs(taken)
        return come_away_empty(front, session, order, now_ms)
    name = order.queues[0]
    queue = node.queues.by_name.get(name)
    if queue is None:
        queue = node.queues.mention(name, now_ms)
    job = node.requeue.fetch(queue, now_ms)
    if job is None:
        return come_away_empty(front, session, order, now_ms)
    body = job.body
    assert body is not None
    length = len(body)
    if length >= TABLE_SIZE:
        return replies.jobs([job])
    # The same, without counting and measuring what is known.
    return b"".join((order.reply_head, job.id, BETWEEN_ID_AND_BODY[length], body, b"\r\n"))


def come_away_empty(
    front: Frontend, session: Session, order: FetchOrder, now_ms: int
) -> bytes | None:
    """There is no job: say so, or let the client wait for one."""
    node = front.node
    if not order.is_waiting:
        return replies.nil_array(session.protocol)
    if node.membership.is_leaving:
        raise CommandError("LEAVING", LEAVING_SENTENCE)
    node.waiters.block(session.id, order.queues, order.timeout_ms, order.with_counters, now_ms)
    session.waits = ON_QUEUES
    return None


def read_fetch(argv: list[bytes]) -> FetchOrder:
    """Read the options of GETJOB and the names of its queues."""
    order = FetchOrder()
    at, last = 1, len(argv) - 1
    while at < last:
        word = argv[at].upper()
        if word == b"FROM":
            # Everything that follows is a queue's name, whatever it looks like.
            order.queues = argv[at + 1 :]
            if order.is_waiting and len(order.queues) > WAITED_QUEUES_MAX < len(set(order.queues)):
                raise CommandError(
                    "ERR", f"GETJOB without NOHANG takes at most {WAITED_QUEUES_MAX} queues"
                )
            order.is_single = order.count == 1 and at + 1 == last and not order.with_counters
            order.reply_head = b"*1\r\n*3\r\n%b$40\r\n" % resp.bulk(argv[last])
            return order
        at += read_fetch_option(order, word, argv[at + 1])
    raise SyntaxProblem


def read_fetch_option(order: FetchOrder, word: bytes, value: bytes) -> int:
    """Read one option of GETJOB; return how many arguments it took."""
    if word == b"NOHANG":
        order.is_waiting = False
        return 1
    if word == b"WITHCOUNTERS":
        order.with_counters = True
        return 1
    if word == b"COUNT":
        order.count = at_least_one(value)
        return 2
    if word == b"TIMEOUT":
        order.timeout_ms = timeout_ms(value)
        return 2
    raise SyntaxProblem


def at_least_one(raw: bytes) -> int:
    """Read how many jobs are wanted."""
    value = integer_or_none(raw)
    if value is None or value <= 0:
        raise CommandError("ERR", "COUNT must be a number greater than zero")
    return value


def show(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """SHOW id: everything this node knows of a job."""
    job = front.node.jobs.get(jobid.checked(argv[1]))
    if job is None:
        return replies.nil(session.protocol)
    return replies.show(job, session.protocol, now_ms)


def jscan(front: Frontend, session: Session, argv: list[bytes], now_ms: int) -> bytes:
    """JSCAN [cursor] [option ...]: walk over the jobs of this node."""
    queue: bytes | None = None
    states: set[int] = set()
    is_full = False

    def read_own(word: bytes, value: bytes) -> bool:
        nonlocal queue, is_full
        if word == b"QUEUE":
            queue = value
        elif word == b"STATE":
            states.add(state_number(value))
        elif word == b"REPLY":
            is_full = is_reply_all(value)
        else:
            return False
        return True

    def is_wanted(job: Job) -> bool:
        return (
            job.body is not None
            and (queue is None or job.queue == queue)
            and (not states or job.state in states)
        )

    page: ScanPage = read_scan(argv, read_own)
    cursor, found = scan(front.node.jobs.table, page.cursor, page.count, is_wanted)
    if is_full:
        items = [replies.show(job, session.protocol, now_ms) for job in found]
    else:
        items = [resp.simple(job.id) for job in found]
    return resp.array([resp.bulk(b"%d" % cursor), resp.array(items)])


def state_number(name: bytes) -> int:
    """Find a job state by its name."""
    lowered = name.lower()
    for number, known in enumerate(STATE_NAMES):
        if known == lowered:
            return number
    raise CommandError("ERR", "Invalid job state name")


def is_reply_all(name: bytes) -> bool:
    """Tell whether JSCAN shows whole jobs or only their ids."""
    lowered = name.lower()
    if lowered not in (b"all", b"id"):
        raise CommandError("ERR", "Invalid REPLY type, try ID or ALL")
    return lowered == b"all"
