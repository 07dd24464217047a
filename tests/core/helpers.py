"""What the tests of the core share: a node to talk to, and jobs, orders and peers to give it."""

import random

from disque.core.node import Node
from disque.model.job import Job, JobId, NodeId
from disque.model.order import JobOrder
from disque.model.peer import Peer
from disque.model.replies import Reply
from disque.model.settings import Settings

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000
PORT = 7711

ME = NodeId(b"a" * 40)
BEE = NodeId(b"b" * 40)
CAT = NodeId(b"c" * 40)
DOG = NodeId(b"d" * 40)

CLIENT = 1
QUEUE = b"jobs"


def new_node(settings: Settings | None = None, seed: int = 1) -> Node:
    """Make a node that is alone and behaves the same in every run."""
    settings = settings if settings is not None else Settings()
    return Node(ME, PORT, settings, random.Random(seed), random.Random(seed))


def new_cluster_node(*peers: NodeId) -> Node:
    """Make a node that knows `peers`, all of them reachable."""
    node = new_node()
    for peer in peers or (BEE, CAT):
        node.membership.nodes[peer] = Peer(peer, "10.0.0.1", PORT, 0)
    return node


def new_order(
    queue: bytes = QUEUE,
    body: bytes = b"body",
    *,
    timeout_ms: int = 0,
    replicate: int = 1,
    ttl_s: int = 86_400,
    retry_s: int = 300,
    delay_s: int = 0,
    length_max: int = 0,
    is_async: bool = False,
) -> JobOrder:
    """Fill in an order of ADDJOB."""
    order = JobOrder(queue, body, timeout_ms, replicate, ttl_s, retry_s)
    order.delay_s = delay_s
    order.length_max = length_max
    order.is_async = is_async
    return order


def new_job(number: int, ctime: int | None = None, body: bytes | None = b"body") -> Job:
    """Make a job that no node knows yet; without `ctime`, a later number is a younger job."""
    id = JobId(b"D-aaaaaaaa-%024d-05a1" % number)
    created = number if ctime is None else ctime
    return Job(id, QUEUE, body, created, START_MS + DAY_MS, 1, 300, 0, frozenset((ME,)))


def take_one(node: Node, name: bytes, now_ms: int) -> Job | None:
    """Fetch the oldest job of one queue."""
    found = node.take([name], 1, now_ms)
    return found[0] if found else None


def added(node: Node, order: JobOrder, now_ms: int = START_MS) -> Job:
    """Add a job that needs no copies elsewhere, and return it."""
    id = node.add(CLIENT, order, now_ms)
    assert id is not None
    return known(node, id)


def waiting(node: Node, order: JobOrder, client: int = CLIENT, now_ms: int = START_MS) -> Job:
    """Add a job whose producer has to wait for copies, and return it."""
    before = node.jobs.ids()
    assert node.add(client, order, now_ms) is None
    (id,) = node.jobs.ids() - before
    return known(node, id)


def known(node: Node, id: JobId) -> Job:
    """Return a job the node must know."""
    job = node.jobs.get(id)
    assert job is not None
    return job


def taken(node: Node, now_ms: int, *names: bytes, count: int = 1) -> list[bytes]:
    """Fetch jobs and return their bodies."""
    jobs = node.take(list(names or (QUEUE,)), count, now_ms)
    return [job.body or b"" for job in jobs]


def run_until(node: Node, end_ms: int) -> int:
    """Tick exactly when the node asks for it, up to and including `end_ms`; count the ticks."""
    ticks = 0
    at_ms = node.next_ms()
    while at_ms is not None and at_ms <= end_ms:
        ticks += 1
        at_ms = node.tick(at_ms)
    return ticks


def drained_replies(node: Node) -> list[Reply]:
    """Take the replies the node has made so far."""
    replies, node.effects.replies = node.effects.replies, []
    return replies
