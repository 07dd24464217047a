"""Flags of nodes have the names and the order that files and clients have always seen."""

from disque.model.peer import (
    FAIL,
    FLAG_NAMES,
    HANDSHAKE,
    LEAVING,
    MYSELF,
    NO_ADDRESS,
    SUSPECTED,
)


def test_flags_are_written_down_by_these_names_in_this_order() -> None:
    assert list(FLAG_NAMES) == [
        (MYSELF, "myself"),
        (SUSPECTED, "fail?"),
        (FAIL, "fail"),
        (HANDSHAKE, "handshake"),
        (NO_ADDRESS, "noaddr"),
        (LEAVING, "leaving"),
    ]


def test_flags_are_distinct_bits_with_distinct_names() -> None:
    bits = [bit for bit, _ in FLAG_NAMES]
    names = [name for _, name in FLAG_NAMES]

    assert sum(bits) == 2 ** len(bits) - 1
    assert len(set(names)) == len(names)
