"""The history file keeps what was typed, and no secrets."""

from pathlib import Path

import pytest

from disque.cli.history import LINES_MAX, append_line, load_lines


def test_lines_come_back_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "history"

    append_line(path, "ping")
    append_line(path, "addjob q é 0")

    assert load_lines(path) == ["ping", "addjob q é 0"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        "auth secret",
        "AUTH default secret",
        "3 auth x",
        "hello 3 AUTH u p",
        " ",
        "config set requirepass x",
        "CONFIG SET maxmemory 1 requirepass x",
    ],
)
def test_passwords_and_blanks_are_not_written(tmp_path: Path, line: str) -> None:
    path = tmp_path / "history"

    append_line(path, line)

    assert not path.exists()


def test_a_long_history_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"{n}\n" for n in range(3 * LINES_MAX)))

    lines = load_lines(path)

    assert lines == [str(n) for n in range(2 * LINES_MAX, 3 * LINES_MAX)]
    assert len(path.read_text().splitlines()) == LINES_MAX


def test_a_history_that_cannot_be_used_is_no_error(tmp_path: Path) -> None:
    append_line(tmp_path / "no" / "history", "ping")

    assert load_lines(tmp_path / "no" / "history") == []
