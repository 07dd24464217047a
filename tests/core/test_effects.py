"""What a step wants done lies in lists, and their order protects what was promised."""

from disque.core.effects import Effects, Note
from disque.model.asks import ReadWallClock
from disque.model.replies import NothingReply


def test_nothing_is_to_be_done_at_first_and_nobody_keeps_a_journal() -> None:
    effects = Effects()

    assert [getattr(effects, name) for name in Effects.DRAIN_ORDER] == [[], [], [], [], []]
    assert not effects.is_journaling


def test_every_list_has_its_place_in_the_order() -> None:
    effects = Effects()

    lists = [name for name in dir(effects) if isinstance(getattr(effects, name), list)]

    assert sorted(Effects.DRAIN_ORDER) == sorted(lists)


def test_promises_leave_after_the_records_that_keep_them() -> None:
    place = Effects.DRAIN_ORDER.index

    assert place("journal") < place("outbox")
    assert place("journal") < place("replies")


def test_who_was_blocked_is_answered_before_the_world_is_asked_and_the_log_comes_last() -> None:
    place = Effects.DRAIN_ORDER.index

    assert place("replies") < place("asks") < place("notes")


def test_two_nodes_share_no_effects() -> None:
    first, second = Effects(), Effects()

    first.replies.append(NothingReply(1))
    first.asks.append(ReadWallClock(1))

    assert (second.replies, second.asks) == ([], [])


def test_note_keeps_its_importance_and_its_sentence() -> None:
    note = Note("warning", "the disk is full")

    assert (note.level, note.text) == ("warning", "the disk is full")
