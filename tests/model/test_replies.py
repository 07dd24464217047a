"""What a client is told of a job is how the job was when it was handed out."""

from disque.model.replies import Delivery
from tests.model.helpers import ID, change, new_job


def test_delivery_keeps_the_counters_of_its_moment() -> None:
    job = new_job()
    job.nacks, job.additional_deliveries = 6, 7

    delivery = Delivery(job)
    change(job)

    assert (delivery.queue, delivery.id, delivery.body) == (b"queue", ID, b"body")
    assert (delivery.nacks, delivery.additional_deliveries) == (6, 7)


def test_delivery_of_nothing_is_an_empty_body() -> None:
    assert Delivery(new_job(None)).body == b""
