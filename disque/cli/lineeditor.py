"""The prompt on a terminal: line editing, completion, hints and history.

The only module that imports prompt_toolkit, which takes longer to load than everything else
together: whoever does not sit at a terminal never imports this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.shortcuts import CompleteStyle

from disque.cli.hints import complete, hint
from disque.cli.history import append_line, load_lines
from disque.model.override import override

__all__ = ["LineEditor"]


class LineEditor:
    """Reads lines from the terminal."""

    def __init__(self, history_path: Path | None) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=None if history_path is None else _PlainHistory(history_path),
            completer=_TableCompleter(),
            complete_while_typing=False,
            # The only style that completes at once: with the others, what is typed or pasted
            # right behind the TAB overtakes it.
            complete_style=CompleteStyle.READLINE_LIKE,
            input_processors=[_HintProcessor()],
        )

    def read(self, prompt: str) -> bytes | None:
        """Read a line; None at the end of input. Ctrl-C gives up the line, not the shell."""
        try:
            line = self._session.prompt(prompt)
        except KeyboardInterrupt:
            return b""
        except EOFError:
            return None
        return line.encode("utf-8", "surrogateescape")


class _TableCompleter(Completer):
    """TAB: commands, subcommands, options, groups."""

    @override
    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        fragment, candidates = complete(document.current_line_before_cursor)
        return [Completion(text, start_position=-len(fragment)) for text in candidates]


class _HintProcessor(Processor):
    """Shows the rest of the syntax behind the cursor.

    Not an auto-suggestion, because a key must not be able to accept it: it is a description of
    what to type, not something that could be sent.
    """

    @override
    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        document = transformation_input.document
        # A line that was sent stays on the screen as it was typed.
        if document.is_cursor_at_the_end and not get_app().is_done:
            fragments = [*fragments, ("class:auto-suggestion", hint(document.text))]
        return Transformation(fragments)


class _PlainHistory(History):
    """The history file as prompt_toolkit wants to see it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    @override
    def load_history_strings(self) -> Iterable[str]:
        return reversed(load_lines(self._path))

    @override
    def store_string(self, string: str) -> None:
        append_line(self._path, string)
