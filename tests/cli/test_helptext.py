"""`help` finds every topic."""

import pytest

from disque.cli.helptext import ENTRIES, find_entries, help_text
from disque.commands.table import COMMANDS, FORMS, GROUPS


def test_every_command_and_form_has_an_entry() -> None:
    expected = {c.name.decode().upper() for c in COMMANDS} | {form.name for form in FORMS}

    assert {entry.name for entry in ENTRIES} == expected
    assert len(ENTRIES) == len(expected)


def test_a_container_is_shown_with_its_forms() -> None:
    names = [entry.name for entry in find_entries(["slowlog"])]

    assert names == ["SLOWLOG", "SLOWLOG GET", "SLOWLOG LEN", "SLOWLOG RESET"]
    assert [entry.name for entry in find_entries(["client", "kill"])] == ["CLIENT KILL"]


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_entries(group: str) -> None:
    entries = find_entries([f"@{group}"])

    assert entries
    assert {entry.group for entry in entries} == {group}


def test_an_entry_shows_syntax_summary_and_group() -> None:
    text = help_text(["QPEEK"], is_coloured=False)

    assert text.startswith("  QPEEK queue count\n  summary: Look at jobs")
    assert text.endswith("  group: queues\n")
    assert "\x1b" not in text
    assert "\x1b" in help_text(["QPEEK"], is_coloured=True)


def test_an_unknown_topic_is_answered_with_what_there_is() -> None:
    assert "no help on 'nosuch'" in help_text(["nosuch"], is_coloured=False)
    assert "@jobs" in help_text(["nosuch"], is_coloured=False)


def test_without_a_topic_the_shell_is_introduced() -> None:
    assert "connect host port" in help_text([], is_coloured=False)
