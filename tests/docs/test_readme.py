"""What the documents show can be typed, and what they point at is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import (
    HAS_REDIS_CLI,
    ROOT,
    Reader,
    markdown_files,
    normalised,
    outside_fences,
    read_blocks,
)
from tests.support.server import ServerProcess

PAGES: Final = [
    page
    for page in markdown_files()
    if page == ROOT / "README.md" or page.is_relative_to(ROOT / "docs" / "guide")
]
LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE_CODE: Final = re.compile(r"`[^`]*`")
OF_ONE_MACHINE: Final = re.compile(r"/(?:work|home|root|Users|mnt)/|/tmp/bash")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_everything_shown_can_be_typed_and_prints_what_is_shown(
    page: Path, server: ServerProcess
) -> None:
    shown: list[str] = []
    printed: list[str] = []

    with Reader(server) as reader:
        for block in read_blocks(page):
            header = f"# line {block.line_number}: {block.text}"
            shown += [header, *block.printed]
            printed += [header, *reader.run(block).splitlines()]

    # Together, because ids are counted over the whole page.
    assert normalised("\n".join(printed)) == normalised("\n".join(shown))
    server.assert_healthy()
    if not HAS_REDIS_CLI and "redis-cli" in "\n".join(shown):
        pytest.skip("redis-cli is not installed: its lines were typed into our own client instead")


def test_the_readme_has_a_tour() -> None:
    languages = {block.language for block in read_blocks(ROOT / "README.md")}

    assert languages == {"sh", "python"}


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [link for link in links_of(page) if not leads_somewhere(page, link)]

    assert broken == []


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_no_page_knows_the_machine_it_was_written_on(page: Path) -> None:
    assert OF_ONE_MACHINE.findall(page.read_text(encoding="utf-8")) == []


def test_normalising_keeps_what_matters() -> None:
    one, other = (f"D-80a0808d-{letter * 24}-05a1" for letter in "xy")

    assert normalised(f"{one} {other} {one}") == "<job 1>-05a1 <job 2>-05a1 <job 1>-05a1"
    assert normalised("(integer) 5 at 12:30") == "(integer) 5 at 12:30"


def links_of(page: Path) -> list[str]:
    prose = "\n".join(outside_fences(page))
    return LINK.findall(INLINE_CODE.sub("code", prose))


def leads_somewhere(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return link.startswith(("https://", "mailto:"))
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or anchor in anchors_of(target)


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that forges make from the headings of a page."""
    headings = [line.lstrip("#").strip() for line in outside_fences(page) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
