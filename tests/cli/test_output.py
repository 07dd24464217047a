"""Replies leave at once, in the style asked for, or in the one that fits who is looking."""

import io
from contextlib import redirect_stdout

import pytest

from disque.cli.formatting import CSV, JSON, RAW, STANDARD
from disque.cli.options import Options
from disque.cli.output import Output, complain
from disque.cli.replies import ErrorReply, Reply
from disque.model.override import override


class Stream(io.BytesIO):
    """Remembers what had been written whenever it was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[bytes] = []

    @override
    def flush(self) -> None:
        """Note what is out."""
        self.flushed.append(self.getvalue())


class Terminal(io.TextIOWrapper):
    """Standard output: a screen that a person looks at, or a pipe."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.screen = io.BytesIO()
        super().__init__(self.screen)
        self._is_terminal = is_terminal

    @override
    def isatty(self) -> bool:
        """Tell whether there is a person."""
        return self._is_terminal


def chosen(options: Options, *, is_terminal: bool, **environment: str) -> Output:
    """Return the output a program would have there."""
    with redirect_stdout(Terminal(is_terminal=is_terminal)):
        return Output.for_options(options, environment)


# --- Writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "reply", "written"),
    [
        (STANDARD, [b"a", 1], b'1) "a"\n2) (integer) 1\n'),
        (RAW, [b"a", 1], b"a;1\n"),
        (CSV, [b"a", 1], b'"a",1\n'),
        (JSON, [b"a", 1], b'["a", 1]\n'),
        (RAW, ErrorReply(b"ERR no"), b"ERR no\n\n"),
    ],
)
def test_reply_is_written_in_its_style_with_its_delimiter(
    style: str, reply: Reply, written: bytes
) -> None:
    stream = Stream()

    Output(stream, style=style, delimiter=b";").reply(reply, [b"x"])

    assert stream.getvalue() == written


def test_reply_that_is_a_text_is_written_as_it_is() -> None:
    stream = Stream()

    Output(stream).reply(b"# Server\r\nuptime:1\r\n", [b"INFO"])

    assert stream.getvalue() == b"# Server\r\nuptime:1\r\n"


def test_everything_is_flushed_at_once() -> None:
    stream = Stream()
    output = Output(stream)

    output.reply(1, [b"QLEN", b"q"])
    output.line("two")
    output.text("three")
    output.write(b"four")

    assert stream.flushed[:2] == [b"(integer) 1\n", b"(integer) 1\ntwo\n"]
    assert stream.flushed[2:] == [b"(integer) 1\ntwo\nthree", b"(integer) 1\ntwo\nthreefour"]


def test_bytes_that_were_no_text_come_out_as_they_were() -> None:
    stream = Stream()
    name = b"odd\xff".decode("utf-8", "surrogateescape")

    Output(stream).line(name)

    assert stream.getvalue() == b"odd\xff\n"


# --- Choosing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "is_terminal", "style"),
    [
        ("", True, STANDARD),
        ("", False, RAW),
        (RAW, True, RAW),
        (STANDARD, False, STANDARD),
        (JSON, True, JSON),
        (CSV, False, CSV),
    ],
)
def test_people_see_types_and_pipes_get_bytes_unless_a_style_is_named(
    asked: str, is_terminal: bool, style: str
) -> None:
    output = chosen(Options(style=asked), is_terminal=is_terminal)

    assert (output.style, output.is_terminal) == (style, is_terminal)


def test_pretended_terminal_makes_replies_readable_but_rewrites_no_lines() -> None:
    output = chosen(Options(), is_terminal=False, FAKETTY="")

    assert (output.style, output.is_terminal) == (STANDARD, False)


def test_delimiter_is_the_one_asked_for() -> None:
    terminal = Terminal(is_terminal=False)
    with redirect_stdout(terminal):
        Output.for_options(Options(delimiter=b"|"), {}).reply([1, 2], [b"x"])

    assert terminal.screen.getvalue() == b"1|2\n"


# --- Complaining --------------------------------------------------------------------------------


def test_complaint_does_not_get_into_the_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    complain("Error: no")

    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Error: no\n")
