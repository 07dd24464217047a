"""The slow log keeps the newest entries, small and harmless."""

from disque.commands.slowlog import SlowLog


def filled(count: int, max_len: int) -> SlowLog:
    slowlog = SlowLog()
    for number in range(count):
        slowlog.add([b"PING", b"%d" % number], 10 * number, 1_000 + number, max_len)
    return slowlog


def test_entries_come_newest_first() -> None:
    slowlog = filled(3, 128)

    entries = slowlog.entries(2)

    assert [(e.id, e.unix_s, e.duration_us, e.arguments) for e in entries] == [
        (2, 1_002, 20, [b"PING", b"2"]),
        (1, 1_001, 10, [b"PING", b"1"]),
    ]


def test_a_negative_count_asks_for_all() -> None:
    assert len(filled(3, 128).entries(-1)) == 3
    assert len(filled(3, 128).entries(2**63 - 1)) == 3
    assert filled(3, 128).entries(0) == []


def test_only_the_newest_entries_are_kept() -> None:
    slowlog = filled(5, 2)

    assert [entry.id for entry in slowlog.entries(-1)] == [4, 3]
    slowlog.trim(1)
    assert len(slowlog) == 1


def test_a_log_of_length_zero_keeps_nothing_but_goes_on_counting() -> None:
    slowlog = filled(2, 0)

    slowlog.add([b"PING"], 1, 1, 1)

    assert [entry.id for entry in slowlog.entries(-1)] == [2]


def test_reset_keeps_the_numbers_counting() -> None:
    slowlog = filled(3, 128)

    slowlog.reset()
    slowlog.add([b"PING"], 1, 1, 128)

    assert [entry.id for entry in slowlog.entries(-1)] == [3]


def test_long_arguments_are_cut_and_say_by_how_much() -> None:
    slowlog = SlowLog()

    slowlog.add([b"ECHO", b"x" * 128, b"y" * 129], 1, 1, 128)

    assert slowlog.entries(1)[0].arguments == [
        b"ECHO",
        b"x" * 128,
        b"y" * 128 + b"... (1 more bytes)",
    ]


def test_long_argument_lists_are_cut_and_say_by_how_much() -> None:
    slowlog = SlowLog()

    slowlog.add([b"ACKJOB", *([b"id"] * 31)], 1, 1, 128)
    slowlog.add([b"ACKJOB", *([b"id"] * 32)], 1, 1, 128)

    longer, whole = slowlog.entries(2)
    assert whole.arguments == [b"ACKJOB", *([b"id"] * 31)]
    assert longer.arguments == [b"ACKJOB", *([b"id"] * 30), b"... (2 more arguments)"]


def test_passwords_are_not_kept() -> None:
    slowlog = SlowLog()

    slowlog.add([b"AUTH", b"sekret"], 1, 1, 128)
    slowlog.add([b"letmein", b"sekret"], 1, 1, 128, b"auth")

    assert [entry.arguments[1] for entry in slowlog.entries(-1)] == [b"(redacted)"] * 2
