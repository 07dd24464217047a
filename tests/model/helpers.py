"""What the tests of the model share: a job, and settings made of one directive."""

import pytest

from disque.model.directive_table import BY_NAME
from disque.model.job import ACKED, ANNOUNCE, Job, JobId, NodeId
from disque.model.settings import Settings, SettingsError

ID = JobId(b"D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1")
HOLDERS = frozenset((NodeId(b"a" * 40), NodeId(b"b" * 40)))


def new_job(body: bytes | None = b"body") -> Job:
    """Make a job in which every number tells where it belongs."""
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


def read(name: str, *words: bytes) -> Settings:
    """Take one directive, as a file gives it."""
    settings = Settings()
    BY_NAME[name.encode()].read(settings, list(words))
    return settings


def shown(name: str, settings: Settings) -> bytes:
    """Return what CONFIG GET shows."""
    return BY_NAME[name.encode()].shown(settings)


def written(name: str, settings: Settings) -> list[bytes]:
    """Return what CONFIG REWRITE writes behind the name."""
    return BY_NAME[name.encode()].written(settings)


def problem(name: str, *words: bytes) -> str:
    """Return the sentence with which one directive is refused."""
    with pytest.raises(SettingsError) as caught:
        read(name, *words)
    return caught.value.message
