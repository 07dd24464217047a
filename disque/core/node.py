"""One node: the state machines wired together behind a few entry points.

    add, take, acknowledge, ...   what a client command wants
    receive                       a bus message arrived
    tick                          time has passed; returns when to call again
    client_gone                   a fact about the world
    effects                       what must now be done, drained by the shell

Everything is synchronous and deterministic: time is an argument, randomness is given.
"""

from __future__ import annotations

import random
from typing import Final, final

from disque.core.account import Account
from disque.core.ackgc import AckGC
from disque.core.awake import AwakeList
from disque.core.effects import Effects
from disque.core.membership import Membership
from disque.core.memory import Memory
from disque.core.mint import Jitter, Mint
from disque.core.queues import PAUSED_IN, PAUSED_OUT, SWEEP_MS, Queue, Queues
from disque.core.registry import Registry
from disque.core.replication import PendingCopies, Replication
from disque.core.requeue import Requeue
from disque.core.shelf import Shelf
from disque.core.waiters import Waiter, Waiters
from disque.model.asks import SaveNodes
from disque.model.errors import CommandError
from disque.model.job import ACKED, WAIT_REPL, Job, JobId, NodeId
from disque.model.limits import MENTIONS_PER_COMMAND_MAX, TIMERS_PER_TICK_MAX
from disque.model.messages import DelJob, GotAck, GotJob, Message, Pause, SetAck
from disque.model.order import JobOrder
from disque.model.peer import LEAVING
from disque.model.replies import Delivery, JobsReply
from disque.model.settings import Settings
from disque.model.timed import Timed

__all__ = ["LEAVING_SENTENCE", "OUT_OF_MEMORY", "Node"]

LEAVING_SENTENCE: Final = "This node is leaving the cluster, please connect to a different one"
OUT_OF_MEMORY: Final = "command not allowed when used memory > 'maxmemory'."
TIMED_OUT: Final = "Timeout reached before replicating to the requested number of nodes"
REMOVED: Final = "job removed (expired?) before the requested replication level was achieved"
NOT_ENOUGH_NODES: Final = "Not enough reachable nodes for the requested replication level"


@final
class Node:
    """A Disque node without sockets, files or clocks."""

    __slots__ = (
        "_entropy",
        "_mint",
        "_sweep_at_ms",
        "acks",
        "awake",
        "effects",
        "jobs",
        "membership",
        "memory",
        "queues",
        "replication",
        "requeue",
        "settings",
        "shelf",
        "waiters",
    )

    def __init__(
        self,
        id: NodeId,
        port: int,
        settings: Settings,
        entropy: random.Random,
        jitter: random.Random,
    ) -> None:
        self.settings = settings
        self.effects = Effects()
        self._entropy = entropy
        self._mint = Mint(id, entropy)
        self.awake = AwakeList()
        self._sweep_at_ms = 0
        offsets = Jitter(jitter)
        self.membership = Membership(id, port)
        account = Account()
        self.jobs = Registry(account)
        self.queues = Queues(account, self.awake, jitter)
        self.memory = Memory(account, settings)
        self.shelf = Shelf(id, self.jobs, self.queues, self.awake, self.memory, self.effects)
        self.requeue = Requeue(self.shelf, settings, offsets)
        self.replication = Replication(self.shelf, jitter)
        self.acks = AckGC(self.shelf, self.membership, offsets)
        self.waiters = Waiters(self.queues, self.awake, self.effects)

    # --- Facts about the world ------------------------------------------------------------------

    def settings_changed(self) -> None:
        """Recompute what is derived from settings."""
        self.memory.settings_changed()
        self.requeue.settings_changed()
        if self.memory.level():
            self._sweep_soon()

    def client_gone(self, client: int, now_ms: int) -> None:
        """A client disconnected; whatever it waited for is given up."""
        self.waiters.client_gone(client)
        for job in self.replication.jobs_of(client):
            self.replication.abandon(job, "")
            self.delete(job)

    def receive(self, sender: NodeId, message: Message, now_ms: int) -> None:
        """Process one bus message from `sender`."""
        if isinstance(message, GotJob):
            job = self.replication.on_got_job(sender, message.job_id)
            if job is not None:
                self._complete(job, now_ms)
        elif isinstance(message, SetAck):
            waiting = self.jobs.get(message.job_id)
            if waiting is not None and waiting.state == WAIT_REPL:
                self._complete(waiting, now_ms)
            self.acks.on_set_ack(sender, message, now_ms)
        elif isinstance(message, GotAck):
            self.acks.on_got_ack(sender, message)
        elif isinstance(message, DelJob):
            known = self.jobs.get(message.job_id)
            if known is not None:
                self.delete(known)
        else:
            raise AssertionError(f"unhandled message {message!r}")
        self.serve_ready(now_ms)

    def count_items(self) -> int:
        """Count what there may be millions of."""
        return self.jobs.count() + self.queues.count()

    # --- Time -----------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> int | None:
        """Run timers that are due, a bounded number of them; return when to call again."""
        # The clock cuts off fractions, so a millisecond may have begun just before the moment an
        # appointment was made for: it is kept when its millisecond is over, and never early.
        for _ in range(TIMERS_PER_TICK_MAX):
            item = self.awake.pop_due(now_ms - 1)
            if item is None:
                break
            self._wake(item, now_ms)
        self._sweep(now_ms)
        self.serve_ready(now_ms)
        return self.next_ms()

    def next_ms(self) -> int | None:
        """Return when `tick` must be called next, if ever."""
        at_ms = self.awake.next_ms()
        if self._sweep_at_ms and (at_ms is None or self._sweep_at_ms <= at_ms):
            return self._sweep_at_ms
        return at_ms + 1 if at_ms is not None else None

    def _wake(self, item: Timed, now_ms: int) -> None:
        if isinstance(item, Job):
            if item.expires_ms <= now_ms:
                self.delete(item)
            elif item.state == ACKED:
                self.acks.collect(item, now_ms)
            else:
                self.requeue.on_timer(item, now_ms)
        elif isinstance(item, Waiter):
            self.waiters.on_timer(item)
        elif isinstance(item, Queue):
            self.queues.on_timer(item, now_ms)
        elif isinstance(item, PendingCopies):
            self.replication.abandon(item.job, TIMED_OUT)
            self.delete(item.job)
        else:
            raise AssertionError(f"unhandled timer {item!r}")

    def _sweep_soon(self) -> None:
        """Memory is short: have the next tick look for idle queues."""
        if self.queues.table and not self._sweep_at_ms:
            # Any moment in the past.
            self._sweep_at_ms = 1
            self.awake.has_moved = True

    def _sweep(self, now_ms: int) -> None:
        """Under memory pressure, look for idle queues every 100 ms."""
        level = self.memory.level()
        if level == 0 or not self.queues.table:
            self._sweep_at_ms = 0
        elif now_ms >= self._sweep_at_ms:
            self.queues.sweep(now_ms, level)
            self._sweep_at_ms = now_ms + SWEEP_MS

    # --- What commands want ---------------------------------------------------------------------

    def add(self, client: int, order: JobOrder, now_ms: int) -> JobId | None:
        """Make a job; return its id, or None if `client` must wait for copies."""
        memory = self.memory
        copies = 0
        if (
            order.replicate > 1
            or memory.account.used_bytes > memory.tight_bytes
            or self.membership.me.flags & LEAVING
        ):
            copies = self._copies_elsewhere(order)
        queue = self.queues.by_name.get(order.queue)
        if queue is not None and (queue.paused or order.length_max):
            _check_entry(queue, order)
        job = self._mint.new_job(order, self.shelf.only_me, now_ms)
        self.jobs.add(job)
        if copies:
            peers = self.membership.reachable()
            self.replication.send_copies(job, peers, copies, wants_reply=not order.is_async)
            if not order.is_async:
                self.replication.wait(client, job, order.timeout_ms, now_ms)
                return None
        if order.delay_s:
            self.requeue.launch(job, now_ms)
        else:
            self.requeue.put(job, queue, now_ms)
        if self.effects.is_journaling:
            self.shelf.store(job)
        return job.id

    def take(self, names: list[bytes], count: int, now_ms: int) -> list[Job]:
        """Fetch up to `count` jobs, one per queue and pass; name the queues in order."""
        if len(names) > MENTIONS_PER_COMMAND_MAX:
            # There is no room to keep so many names that are only asked for.
            found = [self.queues.by_name.get(name) for name in names]
            queues = [queue for queue in found if queue is not None]
        else:
            queues = [self.queues.mention(name, now_ms) for name in names]
        taken: list[Job] = []
        while queues:
            # A queue that had nothing is not asked again: the rounds cost no more than they bring.
            giving: list[Queue] = []
            for queue in queues:
                job = self.requeue.fetch(queue, now_ms)
                if job is not None:
                    taken.append(job)
                    if len(taken) == count:
                        return taken
                    giving.append(queue)
            queues = giving
        return taken

    def serve_ready(self, now_ms: int) -> None:
        """Give jobs to the clients that wait for queues that just got some."""
        while self.requeue.ready:
            ready = list(self.requeue.ready)
            self.requeue.ready.clear()
            for name in ready:
                queue = self.queues.get(name)
                if queue is not None:
                    self._serve(queue, now_ms)

    def acknowledge(self, id: JobId, now_ms: int) -> bool:
        """Acknowledge a job; tell whether it was known here and not acknowledged yet."""
        job = self.jobs.get(id)
        if job is None:
            self.acks.acknowledge_unknown(id, now_ms)
            return False
        return self.acknowledge_known(job, now_ms)

    def acknowledge_known(self, job: Job, now_ms: int) -> bool:
        """Acknowledge a job of this node; tell whether it was not acknowledged yet."""
        if job.state == ACKED:
            self.acks.collect(job, now_ms)
            return False
        if job.state == WAIT_REPL:
            self._complete(job, now_ms)
        shelf = self.shelf
        if job.held_by is shelf.only_me or shelf.is_only_holder(job):
            shelf.remove(job)
        else:
            self.acks.acknowledge(job, now_ms)
        return True

    def delete_everywhere(self, id: JobId) -> bool:
        """Delete a job here and, as far as messages arrive, on every other node."""
        job = self.jobs.get(id)
        if job is None:
            for peer in sorted(self.membership.known_ids()):
                if peer != self.shelf.me:
                    self.effects.outbox.append((peer, DelJob(id)))
            return False
        # A job that still waits for copies tells its holders when it is abandoned.
        if job.state != WAIT_REPL:
            self.shelf.tell_holders(job, DelJob(id))
        self.delete(job)
        return True

    def delete(self, job: Job) -> None:
        """Forget a job in any state, on this node only."""
        if job.state == WAIT_REPL:
            self.replication.abandon(job, REMOVED)
        self.shelf.remove(job)

    def pause(self, name: bytes, paused: int, now_ms: int) -> None:
        """Replace the pause state of a queue."""
        queue = self.queues.get(name)
        if queue is None:
            if not paused:
                return
            if self.memory.level() > 1:
                # A paused queue is never forgotten.
                raise CommandError("OOM", OUT_OF_MEMORY)
            queue = self.queues.open(name, now_ms)
        queue.paused = paused
        self.requeue.note_ready(queue)

    def broadcast_pause(self, name: bytes) -> None:
        """Tell every peer the pause state of a queue."""
        queue = self.queues.get(name)
        paused = queue.paused if queue is not None else 0
        for peer in sorted(self.membership.known_ids()):
            if peer != self.shelf.me:
                self.effects.outbox.append((peer, Pause(name, paused)))

    def make_room(self) -> int:
        """Evict what nobody will miss if memory is short; return the level afterwards."""
        level = self.memory.level()
        if level:
            for job in self.memory.victims():
                self.shelf.remove(job)
            level = self.memory.level()
            if level:
                self._sweep_soon()
        return level

    def leave(self, is_leaving: bool) -> None:
        """Start or stop leaving the cluster."""
        self.membership.set_leaving(is_leaving)
        if is_leaving:
            self.waiters.release_all_with_error("LEAVING", LEAVING_SENTENCE)
        self.effects.asks.append(SaveNodes(0, sync=False))

    def flush(self) -> None:
        """Delete every job and queue; whoever waits is answered."""
        self.memory.account.note_peak()
        for job in list(self.jobs.table):
            self.delete(job)
        self.waiters.release_all_with_nothing()
        for queue in list(self.queues.table):
            self.queues.forget(queue)
        self.requeue.ready.clear()

    def reset(self, is_hard: bool) -> None:
        """Forget peers, jobs and queues; a hard reset takes a new identity too."""
        self.flush()
        self.membership.forget_peers()
        if is_hard:
            id = NodeId(self._entropy.randbytes(20).hex().encode())
            self.membership.rename(id)
            self.shelf.rename(id)
            self._mint.rename(id)
        self.effects.asks.append(SaveNodes(0, sync=True))

    # --- Helpers --------------------------------------------------------------------------------

    def _copies_elsewhere(self, order: JobOrder) -> int:
        """Return how many copies other nodes must hold, or refuse."""
        is_leaving = self.membership.is_leaving
        # This node cannot keep the job itself.
        is_external = is_leaving or self.memory.level() > 0
        copies = order.replicate if is_external else order.replicate - 1
        reachable = len(self.membership.reachable())
        # Handing a job over entirely needs the bus, so such a job is refused even among peers.
        if copies <= reachable and not is_external:
            return copies
        sentence = NOT_ENOUGH_NODES
        if is_external and copies - 1 <= reachable:
            reason = "I'm leaving the cluster" if is_leaving else "I'm out of memory"
            sentence += (
                ", since I'm unable to hold a copy of the message for the following reason: "
                + reason
            )
        raise CommandError("NOREPL", sentence)

    def _complete(self, job: Job, now_ms: int) -> None:
        """A job has enough copies, or was acknowledged early: answer its producer."""
        self.replication.complete(job)
        self.requeue.launch(job, now_ms)
        self.shelf.store(job)

    def _serve(self, queue: Queue, now_ms: int) -> None:
        """Serve the waiters of `queue` in the order they blocked, one job each."""
        while queue.waiting and len(queue.jobs) and not queue.paused & PAUSED_OUT:
            waiter = self.waiters.by_client[next(iter(queue.waiting))]
            job = self._first_for(waiter, now_ms)
            if job is None:
                # Only expired jobs were left; they are gone now.
                continue
            self.waiters.release(waiter)
            reply = JobsReply(waiter.client, [Delivery(job)], waiter.with_counters)
            self.effects.replies.append(reply)

    def _first_for(self, waiter: Waiter, now_ms: int) -> Job | None:
        """Fetch from the first of the waiter's queues, in its own order, where it is its turn."""
        for name in waiter.queues:
            queue = self.queues.by_name[name]
            if len(queue.jobs) and next(iter(queue.waiting)) == waiter.client:
                job = self.requeue.fetch(queue, now_ms)
                if job is not None:
                    return job
        return None


def _check_entry(queue: Queue, order: JobOrder) -> None:
    """Refuse a job that its queue does not take."""
    if order.length_max and len(queue.jobs) >= order.length_max:
        raise CommandError("MAXLEN", "Queue is already longer than the specified MAXLEN count")
    if queue.paused & PAUSED_IN:
        raise CommandError("PAUSED", "Queue paused in input, try later")
