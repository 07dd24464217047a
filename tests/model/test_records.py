"""A record is a snapshot: the job may change again before it is written."""

from disque.model.job import ACTIVE, DELIVERED
from disque.model.records import Deleted, Delivered, Stored
from tests.model.helpers import HOLDERS, ID, change, new_job


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


def test_record_shares_the_body_and_the_holders() -> None:
    job = new_job(b"x" * 1_000)

    record = Stored(job)

    assert record.body is job.body
    assert record.held_by is job.held_by


def test_record_of_a_dummy_has_no_body_either() -> None:
    assert Stored(new_job(None)).body is None


def test_records_of_an_end_name_the_job() -> None:
    assert (Deleted(ID).id, Delivered(ID).id) == (ID, ID)
