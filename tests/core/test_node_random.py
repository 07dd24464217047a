"""Whatever clients do in whatever order, the node does what a much simpler model does."""

# The rules of the machine are named after what they do.
# ruff: noqa: D102

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from disque.core.check import check
from disque.core.node import Node
from disque.core.queues import PAUSED_IN, PAUSED_OUT
from disque.model.errors import CommandError
from disque.model.job import QUEUED, JobId
from disque.model.replies import JobsReply, NothingReply
from tests.core.helpers import CLIENT, START_MS, drained_replies, known, new_node, new_order

QUEUES = [b"high", b"low", b"other"]
names = st.sampled_from(QUEUES)
clients = st.integers(10, 13)
picks = st.integers(0, 1_000)

# Most steps of a random plan are refused, so it takes many plans; profiles may ask for more.
EXAMPLES = max(400, settings().max_examples)


class ModelJob:
    """What a client may know of a job."""

    def __init__(self, id: JobId, queue: bytes, retry_s: int, expires_ms: int) -> None:
        self.id = id
        self.queue = queue
        self.retry_s = retry_s
        self.expires_ms = expires_ms
        self.is_queued = False
        self.was_queued = False
        self.was_delivered = False
        self.requeue_at_ms = 0
        self.nacks = 0
        self.additional_deliveries = 0


class NodeMachine(RuleBasedStateMachine):
    """One node and its model, driven by random commands and by time."""

    def __init__(self) -> None:
        super().__init__()
        self.node: Node = new_node()
        self.now_ms = START_MS
        # In the order they were made, which is the order of every queue.
        self.jobs: dict[JobId, ModelJob] = {}
        self.paused: dict[bytes, int] = dict.fromkeys(QUEUES, 0)
        # In the order they blocked; the deadline 0 means none.
        self.waiters: dict[int, tuple[list[bytes], int]] = {}

    # --- What clients do ------------------------------------------------------------------------

    @rule(
        queue=names,
        retry_s=st.integers(0, 4),
        ttl_s=st.integers(1, 20),
        delay=st.integers(0, 20),
        length_max=st.sampled_from([0, 0, 0, 2]),
    )
    def add(self, queue: bytes, retry_s: int, ttl_s: int, delay: int, length_max: int) -> None:
        delay_s = delay % ttl_s
        order = new_order(
            queue, ttl_s=ttl_s, retry_s=retry_s, delay_s=delay_s, length_max=length_max
        )
        length = len(self.queued_in(queue))
        if length_max and length >= length_max:
            self.refused("MAXLEN", queue, length_max)
            return
        if self.paused[queue] & PAUSED_IN:
            self.refused("PAUSED", queue, 0)
            return
        id = self.node.add(CLIENT, order, self.now_ms)
        assert id is not None
        job = ModelJob(id, queue, retry_s, self.now_ms + ttl_s * 1_000)
        self.jobs[id] = job
        if delay_s:
            job.requeue_at_ms = self.now_ms + delay_s * 1_000
        else:
            self.model_enqueue(job, is_nack=False)
        self.serve()

    def refused(self, code: str, queue: bytes, length_max: int) -> None:
        with pytest.raises(CommandError) as refusal:
            self.node.add(CLIENT, new_order(queue, length_max=length_max), self.now_ms)
        assert refusal.value.code == code

    @rule(wanted=st.lists(names, min_size=1, max_size=3), count=st.integers(1, 4))
    def take(self, wanted: list[bytes], count: int) -> None:
        expected: list[JobId] = []
        progress = True
        while progress and len(expected) < count:
            progress = False
            for queue in wanted:
                available = self.available_in(queue)
                if available and len(expected) < count:
                    expected.append(available[0].id)
                    self.model_deliver(available[0])
                    progress = True

        taken = self.node.take(wanted, count, self.now_ms)

        assert [job.id for job in taken] == expected

    @rule(client=clients, wanted=st.lists(names, min_size=1, max_size=3), limit=st.integers(0, 9))
    def block(self, client: int, wanted: list[bytes], limit: int) -> None:
        if client in self.waiters or any(self.available_in(queue) for queue in wanted):
            return
        timeout_ms = limit * 700
        self.node.waiters.block(client, wanted, timeout_ms, False, self.now_ms)
        self.waiters[client] = (wanted, self.now_ms + timeout_ms if timeout_ms else 0)

    @rule(client=clients)
    def disconnect(self, client: int) -> None:
        self.node.client_gone(client, self.now_ms)
        self.waiters.pop(client, None)

    @rule(chosen=st.lists(picks, min_size=1, max_size=4), is_nack=st.booleans())
    def enqueue(self, chosen: list[int], is_nack: bool) -> None:
        for pick in chosen if self.jobs else []:
            job = list(self.jobs.values())[pick % len(self.jobs)]
            can_queue = not job.is_queued and not (job.retry_s == 0 and job.was_delivered)
            if can_queue:
                self.model_enqueue(job, is_nack)

            was_queued = self.node.requeue.enqueue(known(self.node, job.id), is_nack, self.now_ms)

            assert was_queued == can_queue
        self.serve()

    @rule(pick=picks)
    def dequeue(self, pick: int) -> None:
        job = self.any_job(pick)
        if job is not None and job.is_queued:
            self.node.shelf.dequeue(known(self.node, job.id))
            job.is_queued = False

    @rule(pick=picks)
    def work(self, pick: int) -> None:
        job = self.any_job(pick)
        if job is None:
            return
        before_ms = job.requeue_at_ms

        self.node.requeue.work(known(self.node, job.id), self.now_ms)

        if job.retry_s:
            job.is_queued = False
            at_ms = known(self.node, job.id).requeue_at_ms
            if job.was_queued or at_ms != before_ms:
                self.adopt_requeue_time(job)
            if not job.was_queued:
                assert at_ms >= before_ms
            job.requeue_at_ms = at_ms

    @rule(pick=picks)
    def acknowledge(self, pick: int) -> None:
        job = self.any_job(pick)
        if job is not None:
            assert self.node.acknowledge(job.id, self.now_ms)
            assert not self.node.acknowledge(job.id, self.now_ms)
            del self.jobs[job.id]

    @rule(pick=picks, is_everywhere=st.booleans())
    def delete(self, pick: int, is_everywhere: bool) -> None:
        job = self.any_job(pick)
        if job is not None:
            if is_everywhere:
                assert self.node.delete_everywhere(job.id)
            else:
                self.node.delete(known(self.node, job.id))
            del self.jobs[job.id]

    @rule(queue=names, paused=st.integers(0, 3))
    def pause(self, queue: bytes, paused: int) -> None:
        self.node.pause(queue, paused, self.now_ms)
        self.paused[queue] = paused
        self.serve()

    @rule(dice=st.integers(0, 9))
    def flush(self, dice: int) -> None:
        if dice:
            return
        self.node.flush()
        self.jobs.clear()
        self.paused = dict.fromkeys(QUEUES, 0)
        replies = drained_replies(self.node)
        assert [reply.client for reply in replies] == list(self.waiters)
        assert all(isinstance(reply, NothingReply) for reply in replies)
        self.waiters.clear()

    # --- What time does -------------------------------------------------------------------------

    @rule(elapsed_ms=st.one_of(st.integers(1, 1_000), st.integers(1, 8_000)))
    def pass_time_exactly(self, elapsed_ms: int) -> None:
        end_ms = self.now_ms + elapsed_ms
        at_ms = self.node.next_ms()
        while at_ms is not None and at_ms <= end_ms:
            assert at_ms > self.now_ms
            self.now_ms = at_ms
            self.tick()
            at_ms = self.node.next_ms()
        self.now_ms = max(self.now_ms, end_ms)
        self.finish_the_millisecond()

    @rule(elapsed_ms=st.one_of(st.integers(1, 10_000), st.integers(1, 400_000)))
    def stall(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        self.tick()
        self.finish_the_millisecond()

    def finish_the_millisecond(self) -> None:
        """Go on while something falls into this very millisecond, which both may run or not."""
        while any(self.now_ms in (job.expires_ms, job.requeue_at_ms) for job in self.jobs.values()):
            self.now_ms += 1
            self.tick()

    def tick(self) -> None:
        self.node.tick(self.now_ms)
        for job in list(self.jobs.values()):
            is_gone = self.node.jobs.get(job.id) is None
            if job.expires_ms < self.now_ms or (job.expires_ms == self.now_ms and is_gone):
                del self.jobs[job.id]
            elif 0 < job.requeue_at_ms < self.now_ms or self.was_requeued_just_now(job):
                is_held_back = bool(job.retry_s and self.paused[job.queue] & PAUSED_IN)
                if job.is_queued or is_held_back:
                    # It may have been handed out within the same tick: only a later time counts.
                    job.requeue_at_ms = -1
                else:
                    self.model_enqueue(job, is_nack=False)
        for job in self.jobs.values():
            if job.requeue_at_ms == -1:
                self.adopt_requeue_time(job)
        for client, (_, deadline_ms) in list(self.waiters.items()):
            if 0 < deadline_ms < self.now_ms:
                del self.waiters[client]
                self.node.effects.replies.remove(
                    next(
                        reply
                        for reply in self.node.effects.replies
                        if isinstance(reply, NothingReply) and reply.client == client
                    )
                )
        self.serve()

    def was_requeued_just_now(self, job: ModelJob) -> bool:
        if job.requeue_at_ms != self.now_ms:
            return False
        return known(self.node, job.id).requeue_at_ms != job.requeue_at_ms

    # --- The model ------------------------------------------------------------------------------

    def any_job(self, pick: int) -> ModelJob | None:
        jobs = list(self.jobs.values())
        return jobs[pick % len(jobs)] if jobs else None

    def queued_in(self, queue: bytes) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.queue == queue and job.is_queued]

    def available_in(self, queue: bytes) -> list[ModelJob]:
        return [] if self.paused[queue] & PAUSED_OUT else self.queued_in(queue)

    def model_enqueue(self, job: ModelJob, is_nack: bool) -> None:
        job.is_queued = True
        job.requeue_at_ms = -1 if job.retry_s else 0
        if is_nack:
            job.nacks += 1
        elif job.was_queued:
            job.additional_deliveries += 1
        job.was_queued = True

    def model_deliver(self, job: ModelJob) -> None:
        assert not (job.retry_s == 0 and job.was_delivered)
        job.is_queued = False
        job.was_delivered = True

    def adopt_requeue_time(self, job: ModelJob) -> None:
        """Jitter is the node's own affair, within its bounds."""
        at_ms = known(self.node, job.id).requeue_at_ms
        assert -250 <= at_ms - (self.now_ms + job.retry_s * 1_000) <= 249
        job.requeue_at_ms = at_ms

    def serve(self) -> None:
        """Let the node serve its waiters; each reply must be right at its turn."""
        self.node.serve_ready(self.now_ms)
        for reply in drained_replies(self.node):
            assert isinstance(reply, JobsReply)
            (delivery,) = reply.deliveries
            job = self.jobs[delivery.id]
            assert self.available_in(job.queue)[0] is job
            in_line = [client for client, (line, _) in self.waiters.items() if job.queue in line]
            assert in_line[0] == reply.client
            self.model_deliver(job)
            del self.waiters[reply.client]

    @invariant()
    def node_is_sound(self) -> None:
        check(self.node)

    @invariant()
    def node_and_model_agree(self) -> None:
        assert self.node.jobs.ids() == set(self.jobs)
        for model in self.jobs.values():
            job = known(self.node, model.id)
            assert (job.state == QUEUED) == model.is_queued
            assert job.nacks == model.nacks
            assert job.additional_deliveries == model.additional_deliveries
            if model.requeue_at_ms == -1:
                self.adopt_requeue_time(model)
            assert job.requeue_at_ms == model.requeue_at_ms
        assert list(self.node.waiters.by_client) == list(self.waiters)
        for queue in QUEUES:
            opened = self.node.queues.get(queue)
            ids = [job.id for job in opened.jobs] if opened is not None else []
            assert ids == [job.id for job in self.queued_in(queue)]


TestNodeAgainstModel = pytest.mark.slow(NodeMachine.TestCase)
TestNodeAgainstModel.settings = settings(max_examples=EXAMPLES)
