"""A server in the background belongs to nobody, and whoever started it learns how that went."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from disque.server.daemon import (
    REPORT_BYTES_MAX,
    Launch,
    foreground,
    remove_pid_file,
    write_pid_file,
)
from disque.server.logs import Log
from tests.server.inside import Lines
from tests.server.program import run_python

# Goes to the background, notes what that is like, and does what it is told.
BACKGROUND = """
import json, os, pathlib, sys
from disque.server.daemon import daemonize

path, order, *words = sys.argv[1:]
print("said before", end="")
launch = daemonize()
print("said after", flush=True)
print("said after", file=sys.stderr, flush=True)
place = {
    "is_daemon": launch.is_daemon,
    "pid": os.getpid(),
    "session": os.getsid(0),
    "stdio": [os.readlink(f"/proc/self/fd/{number}") for number in range(3)],
}
pathlib.Path(path).write_text(json.dumps(place))
if order == "ready":
    launch.ready()
elif order == "fail":
    launch.failed(eval(words[0]))
else:
    raise RuntimeError(order)
"""


def run(tmp_path: Path, *order: str) -> tuple[subprocess.CompletedProcess[str], dict[str, object]]:
    """Start something in the background; return how that ended, and what it was like there."""
    path = tmp_path / "place"
    done = run_python(BACKGROUND, str(path), *order)
    place: dict[str, object] = json.loads(path.read_text(encoding="ascii"))
    return done, place


# --- Going there ------------------------------------------------------------------------------


@pytest.mark.process
def test_a_server_in_the_background_belongs_to_no_terminal_and_no_session(tmp_path: Path) -> None:
    done, place = run(tmp_path, "ready")

    assert (done.returncode, done.stdout, done.stderr) == (0, "said before", "")
    assert place["is_daemon"] is True
    assert place["stdio"] == ["/dev/null"] * 3
    assert place["session"] not in (os.getsid(0), place["pid"])


@pytest.mark.process
def test_why_it_cannot_start_is_printed_where_it_was_started(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "fail", "'The port is busy.'")

    assert (done.returncode, done.stdout) == (1, "said before")
    assert done.stderr == "The port is busy.\n"


@pytest.mark.process
def test_a_reason_that_is_no_text_is_printed_as_far_as_it_is(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "fail", r"'\udcff \u00e9'")

    assert (done.returncode, done.stderr) == (1, "\\udcff \u00e9\n")


@pytest.mark.process
def test_a_long_reason_is_cut_and_holds_nobody_up(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "fail", "'x' * 10_000_000")

    assert done.returncode == 1
    assert done.stderr.startswith("x" * REPORT_BYTES_MAX)
    assert len(done.stderr) <= 2 * REPORT_BYTES_MAX


@pytest.mark.process
def test_a_server_that_ends_without_a_word_has_not_started(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "crash")

    assert done.returncode == 1
    assert done.stderr == "The server ended while it was starting; its log may say why.\n"


# --- Telling how it went ----------------------------------------------------------------------


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Make the pipe at whose other end somebody waits; the launch closes its own end."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_the_first_report_counts(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    launch = Launch(writing, is_daemon=True)

    launch.ready()
    launch.ready()

    assert os.read(reading, 100) == b"\0"
    assert os.read(reading, 100) == b""


def test_who_gave_up_waiting_disturbs_no_server() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    launch = Launch(writing, is_daemon=True)

    launch.ready()

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writing)


def test_in_the_foreground_nobody_waits_and_a_failure_is_an_error_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    launch = foreground()

    launch.ready()
    launch.failed("The port is busy.")

    assert capsys.readouterr() == ("", "The port is busy.\n")
    assert not launch.is_daemon


def test_who_was_in_the_background_before_knows_it() -> None:
    assert foreground(is_daemon=True).is_daemon


# --- The pid file -----------------------------------------------------------------------------


def test_the_pid_file_has_the_number_of_the_process_until_it_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "disque.pid"
    path.write_text("somebody who crashed", encoding="ascii")
    lines = Lines()

    write_pid_file(path, Log([lines]))
    written = path.read_text(encoding="ascii")
    remove_pid_file(path, Log([lines]))
    remove_pid_file(path, Log([lines]))

    assert written == f"{os.getpid()}\n"
    assert not path.exists()
    assert lines.messages == []


def test_a_pid_file_that_cannot_be_written_or_removed_is_a_warning(tmp_path: Path) -> None:
    lines = Lines()

    write_pid_file(tmp_path / "nowhere" / "disque.pid", Log([lines]))
    write_pid_file(tmp_path, Log([lines]))
    remove_pid_file(tmp_path, Log([lines]))

    lost = tmp_path / "nowhere" / "disque.pid"
    assert lines.messages == [
        f"Can't write the pid file path={lost} reason=No such file or directory",
        f"Can't write the pid file path={tmp_path} reason=Is a directory",
        f"Can't remove the pid file path={tmp_path} reason=Is a directory",
    ]


def test_the_number_of_another_process_stays(tmp_path: Path) -> None:
    path = tmp_path / "disque.pid"
    path.write_text("1\n", encoding="ascii")

    remove_pid_file(path, Log([Lines()]))

    assert path.read_text(encoding="ascii") == "1\n"


def test_a_pid_file_that_is_gone_already_is_no_news(tmp_path: Path) -> None:
    lines = Lines()

    remove_pid_file(tmp_path / "disque.pid", Log([lines]))

    assert lines.messages == []
