"""What the prompt suggests while a line is typed: the rest of the syntax, and completions.

Both are functions of the text alone, so that they can be tested without a terminal.
"""

from __future__ import annotations

from typing import Final

from disque.cli.helptext import ENTRIES, Entry
from disque.commands.table import GROUPS
from disque.wire.words import split

__all__ = ["complete", "hint"]

# Words the prompt itself understands, with their arguments.
_LOCAL: Final = {
    "HELP": "[command|@group]",
    "?": "[command|@group]",
    "CONNECT": "host port",
    "CLEAR": "",
    "QUIT": "",
    "EXIT": "",
}
_BY_NAME: Final = {entry.name: entry for entry in ENTRIES}
_TOPICS: Final = tuple(f"@{group}" for group in GROUPS)


def hint(line: str) -> str:
    """Say what may still follow the line, starting with a space if the line needs one.

    >>> hint("qpeek mail")
    ' count'
    """
    words = _words(line)
    if not words:
        return ""
    syntax, arguments = _syntax(words)
    remaining = " ".join(_remaining(_groups(syntax), arguments))
    return remaining if not remaining or line.endswith(" ") else " " + remaining


def complete(line: str) -> tuple[str, list[str]]:
    """Answer the unfinished word at the end of the line, and what it may become.

    >>> complete("addjob q body 0 re")
    ('re', ['replicate', 'retry'])
    """
    fragment = "" if line.endswith(" ") else line.rpartition(" ")[2]
    before = _words(line[: len(line) - len(fragment)])
    if before is None:
        return fragment, []
    is_lower = fragment[:1].islower()
    found = [
        candidate.lower() if is_lower else candidate
        for candidate in _candidates(before)
        if candidate.upper().startswith(fragment.upper())
    ]
    return fragment, list(dict.fromkeys(found))


def _words(line: str) -> list[str] | None:
    """Split a line, leaving out the count of a repetition; None if its quotes are open."""
    typed = split(line.encode("utf-8", "surrogateescape"))
    if typed is None:
        return None
    words = [word.decode("utf-8", "replace") for word in typed]
    return words[1:] if words and words[0].isdecimal() else words


def _candidates(before: list[str]) -> list[str]:
    if not before:
        return [*_first_words(), *_LOCAL]
    if before[0].upper() in ("HELP", "?"):
        topics = [*_first_words(), *_TOPICS] if len(before) == 1 else []
        return topics + _subcommands(before[1:])
    syntax, arguments = _syntax(before)
    return _subcommands(before) + _keywords(_remaining(_groups(syntax), arguments))


def _first_words() -> list[str]:
    return sorted(name for name in _BY_NAME if " " not in name)


def _subcommands(before: list[str]) -> list[str]:
    if len(before) != 1:
        return []
    prefix = before[0].upper() + " "
    return [name[len(prefix) :] for name in _BY_NAME if name.startswith(prefix)]


def _syntax(words: list[str]) -> tuple[str, list[str]]:
    """Find the longest known beginning: its syntax, and the words that follow it."""
    first = words[0].upper()
    form: Entry | None = _BY_NAME.get(" ".join(words[:2]).upper()) if len(words) > 1 else None
    if form is not None:
        return form.syntax, words[2:]
    if first in _LOCAL:
        return _LOCAL[first], words[1:]
    command = _BY_NAME.get(first)
    return ("", []) if command is None else (command.syntax, words[1:])


def _groups(syntax: str) -> list[str]:
    """Split a syntax at spaces outside brackets."""
    groups: list[str] = []
    depth = 0
    for word in syntax.split():
        if depth:
            groups[-1] += " " + word
        else:
            groups.append(word)
        depth += word.count("[") - word.count("]")
    return groups


def _remaining(groups: list[str], arguments: list[str]) -> list[str]:
    """Take away what the arguments have already said."""
    remaining = list(groups)
    skipped = 0
    for argument in arguments:
        if skipped:
            skipped -= 1
            continue
        named = _find_named(remaining, argument.upper())
        if named is not None:
            group = remaining[named]
            skipped = len([w for w in group.strip("[]").split() if w != "..."]) - 1
            # A bare word such as FROM ends the options before it.
            remaining[(named if group.startswith("[") else 0) : named + 1] = []
        else:
            del remaining[: _taken(remaining, argument)]
    return remaining


def _taken(groups: list[str], argument: str) -> int:
    """Count the groups at the front that one argument settles."""
    if not groups or "..." in groups[0] or groups[0].strip("[]").split()[0].isupper():
        return 0
    has_required_next = len(groups) > 1 and not groups[1].startswith("[")
    if groups[0].startswith("[") and has_required_next and groups[0] != f"[{argument}]":
        # AUTH [default] password: any other word is already the password.
        return 2
    return 1


def _find_named(groups: list[str], word: str) -> int | None:
    """Find the option or the bare keyword that is spelled like this."""
    for index, group in enumerate(groups):
        first = group.strip("[]").split()[0]
        if first == word and first.isupper():
            return index
    return None


def _keywords(groups: list[str]) -> list[str]:
    """Pick the words that are typed as they are: capitals and choices."""
    keywords: list[str] = []
    for word in " ".join(groups).replace("[", " ").replace("]", " ").split():
        choices = [choice for choice in word.split("|") if choice]
        if len(choices) > 1 or word.isupper():
            keywords += choices
    return keywords
