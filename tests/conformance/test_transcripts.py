"""The server answers as the original did: every section of transcripts.md, replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from disque.commands.table import COMMANDS
from tests.conformance.differences import DIFFERENCES, PENDING
from tests.conformance.transcript import Replay, Section, read_sections
from tests.support.server import ServerProcess

SECTIONS = read_sections()
REPLAYED = [s for s in SECTIONS if s.id not in PENDING and not s.is_bug_compatible]


@pytest.mark.process
@pytest.mark.parametrize("section", REPLAYED, ids=lambda s: f"{s.id} {s.title}")
def test_section_is_answered_as_by_the_original(section: Section, tmp_path: Path) -> None:
    with ServerProcess(tmp_path, *section.arguments) as server:
        replay = Replay([server.port], DIFFERENCES)
        replay.run(section)
        log = server.log

    report = "\n".join(str(mismatch) for mismatch in replay.mismatches)
    assert not replay.mismatches, f"{len(replay.mismatches)} mismatches in {section.id}:\n{report}"
    assert replay.used == {d for d in DIFFERENCES if d.section == section.id}
    assert "Traceback" not in log, log


def test_only_sections_that_need_a_cluster_are_pending() -> None:
    assert list(PENDING) == [section.id for section in SECTIONS if section.is_cluster]


def test_sections_one_to_sixteen_are_replayed() -> None:
    assert [section.id for section in REPLAYED] == [f"S{n}" for n in range(1, 17)]


def test_every_difference_names_a_reply_of_a_replayed_section() -> None:
    by_id = {section.id: section for section in REPLAYED}

    for difference in DIFFERENCES:
        texts = [step.text for step in by_id[difference.section].steps]
        assert difference.request in texts
        assert difference.original in texts
        assert difference.reason


def test_the_number_of_commands_is_pinned() -> None:
    assert len(COMMANDS) == 35
