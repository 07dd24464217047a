"""A job starts out waiting for copies, and what leaves the node is a snapshot of it."""

from disque.model.job import (
    ACKED,
    ACTIVE,
    ANNOUNCE,
    DELIVERED,
    QUEUED,
    QUEUED_BEFORE,
    STATE_NAMES,
    WAIT_REPL,
    Job,
    JobId,
    NodeId,
)
from disque.model.records import Deleted, Delivered, Stored
from disque.model.replies import Delivery

ID = JobId(b"D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1")
HOLDERS = frozenset((NodeId(b"a" * 40), NodeId(b"b" * 40)))


def new_job(body: bytes | None = b"body") -> Job:
    return Job(
        ID,
        b"queue",
        body,
        ctime=1,
        expires_ms=2,
        replicate=3,
        retry_s=4,
        delay_s=5,
        held_by=HOLDERS,
    )


def change(job: Job) -> None:
    """Change everything that changes in the life of a job."""
    job.state = ACKED
    job.flags = ANNOUNCE
    job.nacks += 1
    job.additional_deliveries += 1
    job.requeue_at_ms += 1
    job.held_by = frozenset()


def test_new_job_waits_for_copies_and_has_no_history() -> None:
    job = new_job()

    assert job.state == WAIT_REPL
    assert (job.flags, job.nacks, job.additional_deliveries, job.gc_attempts) == (0, 0, 0, 0)
    assert (job.requeue_at_ms, job.awake_ms) == (0, 0)
    assert job.confirmed_by == HOLDERS


def test_states_have_the_names_clients_know() -> None:
    assert STATE_NAMES[WAIT_REPL] == b"wait-repl"
    assert STATE_NAMES[ACTIVE] == b"active"
    assert STATE_NAMES[QUEUED] == b"queued"
    assert STATE_NAMES[ACKED] == b"acked"


def test_flags_do_not_overlap() -> None:
    assert QUEUED_BEFORE | ANNOUNCE | DELIVERED == QUEUED_BEFORE + ANNOUNCE + DELIVERED


def test_record_of_a_job_keeps_every_value_whatever_happens_to_the_job() -> None:
    job = new_job()
    job.state, job.flags, job.nacks, job.additional_deliveries = ACTIVE, DELIVERED, 6, 7
    job.requeue_at_ms = 8

    record = Stored(job)
    change(job)

    assert (record.id, record.queue, record.body) == (ID, b"queue", b"body")
    assert (record.ctime, record.expires_ms, record.replicate) == (1, 2, 3)
    assert (record.retry_s, record.delay_s, record.held_by) == (4, 5, HOLDERS)
    assert (record.state, record.flags) == (ACTIVE, DELIVERED)
    assert (record.nacks, record.additional_deliveries, record.requeue_at_ms) == (6, 7, 8)


def test_record_shares_the_body() -> None:
    job = new_job(b"x" * 1_000)

    assert Stored(job).body is job.body


def test_delivery_keeps_the_counters_of_its_moment() -> None:
    job = new_job()
    job.nacks, job.additional_deliveries = 6, 7

    delivery = Delivery(job)
    change(job)

    assert (delivery.queue, delivery.id, delivery.body) == (b"queue", ID, b"body")
    assert (delivery.nacks, delivery.additional_deliveries) == (6, 7)


def test_delivery_of_nothing_is_an_empty_body() -> None:
    assert Delivery(new_job(None)).body == b""


def test_records_of_an_end_name_the_job() -> None:
    assert (Deleted(ID).id, Delivered(ID).id) == (ID, ID)
