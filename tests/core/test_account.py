"""One number says what is used, and the highest it ever was is not forgotten."""

from hypothesis import given, strategies as st

from disque.core.account import Account
from disque.model.limits import NODE_BYTES

# A size is entered; None gives back the youngest part that is still there.
Step = int | None
steps = st.lists(st.none() | st.integers(0, 10_000), max_size=50)


def test_empty_node_has_its_price() -> None:
    account = Account()

    assert account.used_bytes == NODE_BYTES
    assert account.peak_bytes() == NODE_BYTES


def test_what_was_given_back_is_used_no_more_but_stays_the_peak() -> None:
    account = Account()
    account.used_bytes += 100

    account.release(100)

    assert account.used_bytes == NODE_BYTES
    assert account.peak_bytes() == NODE_BYTES + 100


@given(steps)
def test_peak_is_the_highest_moment_whether_or_not_anybody_looked(plan: list[Step]) -> None:
    watched, unwatched = Account(), Account()
    parts: list[int] = []
    highest_bytes = NODE_BYTES

    for size in plan:
        if size is not None:
            parts.append(size)
            watched.used_bytes += size
            unwatched.used_bytes += size
        elif parts:
            last = parts.pop()
            watched.release(last)
            unwatched.release(last)
        highest_bytes = max(highest_bytes, NODE_BYTES + sum(parts))
        assert watched.used_bytes == NODE_BYTES + sum(parts)
        assert watched.peak_bytes() == highest_bytes

    assert unwatched.peak_bytes() == highest_bytes
