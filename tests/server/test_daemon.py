"""The pid file belongs to whoever wrote it last."""

from __future__ import annotations

from pathlib import Path

from disque.server.daemon import remove_pid_file, write_pid_file
from disque.server.logs import Log
from tests.server.inside import Lines


def test_the_pid_file_is_written_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "disque.pid"
    lines = Lines()

    write_pid_file(path, Log([lines]))
    assert path.exists()
    remove_pid_file(path, Log([lines]))

    assert not path.exists()
    assert lines.messages == []


def test_the_number_of_another_process_stays(tmp_path: Path) -> None:
    path = tmp_path / "disque.pid"
    path.write_text("1\n", encoding="ascii")

    remove_pid_file(path, Log([Lines()]))

    assert path.read_text(encoding="ascii") == "1\n"


def test_a_pid_file_that_is_gone_already_is_no_news(tmp_path: Path) -> None:
    lines = Lines()

    remove_pid_file(tmp_path / "disque.pid", Log([lines]))

    assert lines.messages == []


def test_a_pid_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    lines = Lines()

    write_pid_file(tmp_path / "missing" / "disque.pid", Log([lines]))

    assert lines.text().startswith("Can't write the pid file")
