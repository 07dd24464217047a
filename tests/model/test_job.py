"""A job starts out waiting for copies, without a history."""

from disque.model.job import (
    ACKED,
    ACTIVE,
    ANNOUNCE,
    DELIVERED,
    QUEUED,
    QUEUED_BEFORE,
    STATE_NAMES,
    WAIT_REPL,
)
from tests.model.helpers import HOLDERS, ID, new_job


def test_new_job_is_what_it_was_made_of() -> None:
    job = new_job()

    assert (job.id, job.queue, job.body, job.held_by) == (ID, b"queue", b"body", HOLDERS)
    assert (job.ctime, job.expires_ms, job.replicate) == (1, 2, 3)
    assert (job.retry_s, job.delay_s) == (4, 5)


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
