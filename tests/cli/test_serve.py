"""`disque-server` reads its command line, opens its log, and hands over to the server.

A server that is to listen nowhere goes through all of that and ends, which is quick.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from disque.cli.serve import main
from disque.server.app import RESTARTED_VARIABLE
from tests.cli.program import environment
from tests.server.program import PATIENCE_S, PROGRAM, run_program, wait_for_log
from tests.support.fixtures import Starter

NOWHERE = ("--port", "0")
REFUSAL = "Configured to not listen anywhere, exiting. Set port or unixsocket."
NO_FILE = "No config file specified, using the default config."


@pytest.fixture(autouse=True)
def own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give back what the server takes from its process."""
    monkeypatch.chdir(tmp_path)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
    handlers = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


# --- The first word ---------------------------------------------------------------------------


def test_both_names_of_an_option_mean_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for option in ("-v", "--version", "-h", "--help"):
        assert main([option]) == 0
        said.append(capsys.readouterr())

    assert said[0] == said[1]
    assert said[2] == said[3]
    assert " build=" in said[0].out
    assert "Then try:" in said[2].out


def test_testing_memory_is_handed_on(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--test-memory"])

    assert status == 1
    assert "Please specify the amount of memory to test in megabytes." in "".join(
        capsys.readouterr()
    )


@pytest.mark.parametrize("word", ["-x", "nowhere.conf", "a\0b"])
def test_any_other_first_word_is_a_file(capsys: pytest.CaptureFixture[str], word: str) -> None:
    status = main([word])

    assert status == 1
    assert capsys.readouterr() == ("", f"Fatal error, can't open config file '{word}'\n")


def test_options_count_only_as_the_first_word(capsys: pytest.CaptureFixture[str]) -> None:
    status = main([*NOWHERE, "--version"])

    assert status == 1
    assert "Bad directive or wrong number of arguments" in capsys.readouterr().err


# --- Where the server is ----------------------------------------------------------------------


def test_a_directory_that_was_removed_meanwhile_is_no_place_to_start(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()

    status = main([*NOWHERE])

    assert status == 1
    assert capsys.readouterr() == ("", "Can't chdir to '.': No such file or directory\n")


@pytest.mark.parametrize(
    ("name", "reason"), [("x" * 300, "File name too long"), ("file", "Not a directory")]
)
def test_a_directory_that_cannot_be_entered_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").touch()

    status = main(["--dir", name, *NOWHERE])

    assert status == 1
    assert capsys.readouterr() == ("", f"Can't chdir to '{name}': {reason}\n")


def test_a_hangup_while_it_starts_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    main([*NOWHERE])

    signal.raise_signal(signal.SIGHUP)

    assert REFUSAL in capsys.readouterr().err


# --- The configuration ------------------------------------------------------------------------


def test_without_any_word_the_defaults_apply_and_are_mentioned(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # So that it ends, whether the default port is free or not.
    (tmp_path / "nodes.conf").write_text("once upon a time\n", encoding="ascii")

    status = main([])

    assert status == 1
    assert NO_FILE in capfd.readouterr().out


@pytest.mark.process
@pytest.mark.slow
def test_a_configuration_cannot_come_from_a_closed_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" - <&-', PROGRAM],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=tmp_path,
        env=environment(),
    )

    assert done.returncode == 1
    assert done.stderr == "Fatal error, can't open config file '-'\n"


# --- The log ----------------------------------------------------------------------------------


def test_the_log_is_on_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    status = main([*NOWHERE])

    said = capfd.readouterr()
    assert status == 1
    assert said.out.endswith(f" # {REFUSAL}\n")
    assert said.out.startswith(f"{os.getpid()}:C ")
    assert said.err == f"{REFUSAL}\n"
    assert NO_FILE not in said.out


def test_a_log_file_is_in_the_directory_of_the_server(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "place").mkdir()

    main(["--dir", "place", "--logfile", "disque.log", *NOWHERE])

    assert capfd.readouterr().out == ""
    log = (tmp_path / "place" / "disque.log").read_text(encoding="utf-8")
    assert log.endswith(f" # {REFUSAL}\n")


@pytest.mark.parametrize(
    ("name", "reason"), [("nowhere/x", "No such file or directory"), (".", "Is a directory")]
)
def test_a_log_file_that_cannot_be_written_is_shown_with_its_line(
    capsys: pytest.CaptureFixture[str], name: str, reason: str
) -> None:
    status = main(["--logfile", name, *NOWHERE])

    report = capsys.readouterr().err.strip().splitlines()
    assert status == 1
    assert report[2:] == [f">>> 'logfile \"{name}\"'", f"Can't open the log file: {reason}"]


@pytest.mark.process
@pytest.mark.slow
def test_the_log_stays_where_it_was_begun(start_server: Starter) -> None:
    server = start_server("--logfile", "server.log")
    wire = server.wire()

    assert wire.ask("CONFIG", "SET", "dir", "/") == b"+OK\r\n"
    wire.send_raw(b"POST / HTTP/1.1\r\n")

    wait_for_log(server, "HTTP request")


def test_level_and_format_of_the_log_are_those_asked_for(
    capfd: pytest.CaptureFixture[str],
) -> None:
    main(["--log-format", "json", "--loglevel", "warning", *NOWHERE])

    (line,) = capfd.readouterr().out.splitlines()
    assert json.loads(line)["event"] == REFUSAL


def test_the_system_log_comes_on_top(capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["--syslog-enabled", "yes", "--syslog-ident", "disque-test", *NOWHERE])

    assert status == 1
    assert REFUSAL in capfd.readouterr().out


# --- In the background ------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.slow
def test_in_the_background_nothing_is_said_but_why_there_is_no_start(tmp_path: Path) -> None:
    done = run_program(tmp_path, "--daemonize", "yes", *NOWHERE)

    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{REFUSAL}\n")


def test_who_is_in_the_background_already_does_not_go_there_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RESTARTED_VARIABLE, "1")

    status = main(["--daemonize", "yes", *NOWHERE])

    # There was no fork, and whoever is started from here will not be deceived.
    assert status == 1
    assert capfd.readouterr() == ("", f"{REFUSAL}\n")
    assert RESTARTED_VARIABLE not in os.environ
