"""`help`: what the command table has to say, laid out for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from disque import __version__
from disque.commands.table import COMMANDS, FORMS, GROUPS

__all__ = ["ENTRIES", "Entry", "find_entries", "help_text"]

_BOLD: Final = "\x1b[1m"
_GREY: Final = "\x1b[90m"
_YELLOW: Final = "\x1b[33m"
_PLAIN: Final = "\x1b[0m"


@dataclass(frozen=True)
class Entry:
    """A command or one of its forms, as people type it."""

    name: str
    syntax: str
    summary: str
    group: str


# Each container is followed by its forms.
ENTRIES: Final[tuple[Entry, ...]] = tuple(
    entry
    for command in COMMANDS
    for entry in (
        Entry(command.name.decode().upper(), command.syntax, command.summary, command.group),
        *(
            Entry(form.name, form.syntax, form.summary, form.group)
            for form in FORMS
            if form.name.split()[0] == command.name.decode().upper()
        ),
    )
) + tuple(
    Entry(form.name, form.syntax, form.summary, form.group)
    for form in FORMS
    if " " not in form.name
)


def find_entries(topic: Sequence[str]) -> list[Entry]:
    """Find what a topic means: a group, a command with its forms, or one form."""
    wanted = " ".join(topic).upper()
    if wanted.startswith("@"):
        return [entry for entry in ENTRIES if entry.group.upper() == wanted[1:]]
    return [
        entry for entry in ENTRIES if entry.name == wanted or entry.name.startswith(wanted + " ")
    ]


def help_text(topic: Sequence[str], *, is_coloured: bool) -> str:
    """Write the help on a topic, or the introduction if there is none."""
    if not topic:
        return _introduction()
    entries = find_entries(topic)
    if not entries:
        groups = ", ".join(f"@{group}" for group in GROUPS)
        return f"There is no help on '{' '.join(topic)}'. Try a command, or one of {groups}.\n"
    return "\n".join(_describe(entry, is_coloured=is_coloured) for entry in entries)


def _introduction() -> str:
    groups = " ".join(f"@{group}" for group in GROUPS)
    return (
        f"disque {__version__}\n"
        f"help @group       the commands of a group: {groups}\n"
        "help command      a command, as in: help ADDJOB\n"
        "N command         run a command N times\n"
        "connect host port talk to another node\n"
        "clear             clear the screen\n"
        "quit              leave (also: exit, Ctrl-D)\n"
        "TAB completes commands, subcommands and options.\n"
    )


def _describe(entry: Entry, *, is_coloured: bool) -> str:
    bold, grey, yellow, plain = (_BOLD, _GREY, _YELLOW, _PLAIN) if is_coloured else ("", "", "", "")
    title = f"{bold}{entry.name}{plain} {grey}{entry.syntax}{plain}".rstrip()
    return (
        f"  {title}\n"
        f"  {yellow}summary:{plain} {entry.summary}\n"
        f"  {yellow}group:{plain} {entry.group}\n"
    )
