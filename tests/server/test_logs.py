"""One event is one line, in the style the operator chose, and a full disk stops nobody."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from disque.server.logs import LEVELS, MESSAGE_BYTES_MAX, FileSink, Log, StreamSink, SyslogSink

NOW_NS = 1_700_000_000_123_456_789


class Memory:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.messages: list[bytes] = []

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Keep the line and what it says."""
        assert level in LEVELS
        self.lines.append(line)
        self.messages.append(message)


class Broken:
    """A sink on a full disk."""

    def write(self, level: str, message: bytes, line: bytes) -> None:
        """Fail as a full disk does."""
        raise OSError(28, "No space left on device")


def log_to(sink: Memory, level: str = "debug", style: str = "text") -> Log:
    return Log([sink], level=level, style=style, now_ns=lambda: NOW_NS)


def test_a_text_line_has_process_role_time_mark_sentence_and_facts() -> None:
    sink = Memory()
    log = log_to(sink)
    stamp = time.strftime("%d %b %H:%M:%S", time.localtime(NOW_NS // 10**9))

    log.notice("Client connected", address=b"127.0.0.1:40000", id=7)

    expected = f"{os.getpid()}:C {stamp}.123 * Client connected address=127.0.0.1:40000 id=7\n"
    assert sink.lines == [expected.encode()]


@pytest.mark.parametrize(
    ("level", "mark"), [("debug", "."), ("verbose", "-"), ("notice", "*"), ("warning", "#")]
)
def test_every_level_has_its_mark(level: str, mark: str) -> None:
    sink = Memory()

    log_to(sink).write(level, "hello", {})

    assert re.search(rb"\.123 (\S) hello\n$", sink.lines[0])
    assert sink.lines[0].decode().endswith(f" {mark} hello\n")


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_less_important_than_the_level_is_left_out(level: str) -> None:
    sink = Memory()
    log = log_to(sink, level)

    log.debug("debug")
    log.verbose("verbose")
    log.notice("notice")
    log.warning("warning")

    assert [message.decode() for message in sink.messages] == list(LEVELS[LEVELS.index(level) :])
    assert log.level == level


def test_the_level_can_change_at_any_time() -> None:
    sink = Memory()
    log = log_to(sink, "warning")

    log.notice("too quiet")
    log.level = "notice"
    log.notice("heard")

    assert sink.messages == [b"heard"]


def test_the_role_is_part_of_the_line() -> None:
    sink = Memory()
    log = log_to(sink)

    log.role = "P"
    log.notice("ready")

    assert sink.lines[0].startswith(b"%d:P " % os.getpid())


def test_a_json_line_is_an_object_with_the_facts() -> None:
    sink = Memory()

    log_to(sink, style="json").warning("Peer failed", peer=b"abc", reports=3)

    event = json.loads(sink.lines[0])
    assert sink.lines[0].count(b"\n") == 1
    assert event == {
        "ts": "2023-11-14T22:13:20.123Z",
        "level": "warning",
        "pid": os.getpid(),
        "event": "Peer failed",
        "peer": "abc",
        "reports": 3,
    }


def test_facts_cannot_disguise_themselves_as_the_line_itself() -> None:
    sink = Memory()

    log_to(sink, style="json").write("notice", "true", {"event": "false", "level": "debug"})

    event = json.loads(sink.lines[0])
    assert (event["event"], event["level"]) == ("true", "notice")


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize(
    "hostile",
    ["one\ntwo", "one\r\ntwo", "\x1b[2J", "nul\0", "line\u2028separator", "lone \udcff", "\x85"],
)
def test_no_sentence_of_a_client_becomes_two_lines(style: str, hostile: str) -> None:
    sink = Memory()
    log = log_to(sink, style=style)

    log.warning(f"Name: {hostile}", name=hostile)

    line = sink.lines[0]
    assert line.endswith(b"\n")
    assert not re.search(rb"[\x00-\x1f]", line[:-1])
    assert len(line.decode().splitlines()) == 1


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("character", ["x", "\u00e9", "\U0001f600"])
def test_a_long_message_is_cut_between_characters(style: str, character: str) -> None:
    sink = Memory()

    log_to(sink, style=style).notice(character * 5_000)

    line = sink.lines[0].decode()
    text = json.loads(line)["event"] if style == "json" else line.split(" * ")[1][:-1]
    assert text.endswith(character + "...")
    assert MESSAGE_BYTES_MAX - 4 < len(text.encode()) <= MESSAGE_BYTES_MAX


def test_a_signal_has_the_form_harnesses_look_for() -> None:
    sink = Memory()

    log_to(sink).signal("SIGTERM")

    expected = (
        f"{os.getpid()}:signal-handler (1700000000) Received SIGTERM scheduling shutdown...\n"
    )
    assert sink.lines == [expected.encode()]


def test_a_signal_is_a_json_line_too() -> None:
    sink = Memory()

    log_to(sink, style="json").signal("SIGINT")

    assert json.loads(sink.lines[0])["event"] == "Received SIGINT scheduling shutdown..."


def test_a_full_disk_is_counted_and_the_other_sinks_still_get_the_line() -> None:
    sink = Memory()
    log = Log([Broken(), sink])

    log.notice("one")
    log.notice("two")

    assert sink.messages == [b"one", b"two"]
    assert log.lost_lines == 2


def test_a_log_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "disque.log"
    log = Log([FileSink(str(path))])

    log.notice("before")
    path.rename(tmp_path / "disque.log.1")
    log.notice("after")

    assert "before" in (tmp_path / "disque.log.1").read_text()
    assert "after" in path.read_text()
    assert "before" not in path.read_text()


def test_a_missing_directory_loses_lines_and_nothing_else(tmp_path: Path) -> None:
    log = Log([FileSink(str(tmp_path / "nosuch" / "disque.log"))])

    log.notice("nobody hears this")

    assert log.lost_lines == 1


def test_a_stream_gets_whole_lines() -> None:
    reading, writing = os.pipe()
    try:
        Log([StreamSink(writing)]).notice("hello")

        assert os.read(reading, 4_096).endswith(b" * hello\n")
    finally:
        os.close(reading)
        os.close(writing)


def test_a_stream_that_nobody_reads_loses_lines_and_stops_nobody() -> None:
    reading, writing = os.pipe()
    try:
        log = Log([StreamSink(writing)])
        for _ in range(5_000):
            log.notice("x" * 100)
        lost = log.lost_lines
        while len(os.read(reading, 65_536)) == 65_536:
            pass

        log.notice("somebody reads again")

        assert lost > 0
        assert log.lost_lines == lost
        assert os.read(reading, 4_096).endswith(b"somebody reads again\n")
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("facility", ["user", "local0", "LOCAL7"])
def test_the_system_log_takes_every_level(facility: str) -> None:
    log = Log([SyslogSink("disque-test", facility)], level="debug")

    for level in LEVELS:
        log.write(level, "a line of a test", {})

    assert log.lost_lines == 0
