"""Orders start out as what a client means when it says nothing."""

from disque.model.order import FetchOrder, JobOrder


def test_job_is_made_at_once_synchronously_and_without_a_length_limit() -> None:
    order = JobOrder(b"queue", b"body", timeout_ms=1, replicate=2, ttl_s=3, retry_s=4)

    assert (order.queue, order.body) == (b"queue", b"body")
    assert (order.timeout_ms, order.replicate, order.ttl_s, order.retry_s) == (1, 2, 3, 4)
    assert (order.delay_s, order.length_max, order.is_async) == (0, 0, False)


def test_fetch_waits_for_ever_for_one_job_without_counters() -> None:
    order = FetchOrder()

    assert (order.count, order.timeout_ms, order.is_waiting) == (1, 0, True)
    assert (order.with_counters, order.is_single, order.reply_head) == (False, False, b"")


def test_orders_do_not_share_their_queues() -> None:
    first, second = FetchOrder(), FetchOrder()

    first.queues.append(b"mail")

    assert second.queues == []
