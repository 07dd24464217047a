"""Keys at the prompt: history, completion, giving up and leaving."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from disque.cli.lineeditor import LineEditor


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield pipe


def test_enter_sends_the_line(keys: PipeInput) -> None:
    keys.send_bytes("ping é\r".encode())

    assert LineEditor(None).read("> ") == "ping é".encode()


def test_tab_completes_and_the_hint_is_not_sent(keys: PipeInput) -> None:
    keys.send_text("qst\t mail\r")

    assert LineEditor(None).read("> ") == b"qstat mail"


def test_ctrl_c_gives_up_the_line_and_ctrl_d_the_shell(keys: PipeInput) -> None:
    editor = LineEditor(None)

    keys.send_text("half a li\x03")
    assert editor.read("> ") == b""

    keys.send_text("\x04")
    assert editor.read("> ") is None


def test_lines_are_remembered_but_passwords_are_not(keys: PipeInput, tmp_path: Path) -> None:
    path = tmp_path / "history"
    editor = LineEditor(path)

    for line in ("ping", "auth secret", '"auth" secret'):
        keys.send_text(line + "\r")
        editor.read("> ")

    assert path.read_text() == "ping\n"


def test_pasted_lines_come_in_one_piece(keys: PipeInput) -> None:
    keys.send_text("\x1b[200~ping 1\nping 2\x1b[201~\r")

    assert LineEditor(None).read("> ") == b"ping 1\nping 2"
