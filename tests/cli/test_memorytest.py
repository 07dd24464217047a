"""The test of memory says what it did, and asks for a size it can use."""

import pytest

from disque.cli.memorytest import main


def test_good_memory_passes_with_every_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["2"]) == 0

    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "Writing and reading 0xaa in 2 MB...",
        "Writing and reading 0x55 in 2 MB...",
        "Writing and reading 0xff in 2 MB...",
        "Writing and reading 0x00 in 2 MB...",
        "Your memory passed this test.",
    ]
    assert said.err == ""


@pytest.mark.parametrize(
    "words", [[], ["1", "2"], ["0"], ["-1"], ["x"], ["\u00b2"], ["1048577"], ["9" * 5_000]]
)
def test_a_size_that_makes_no_sense_is_asked_for_again(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1

    said = capsys.readouterr()
    assert "amount of memory to test in megabytes" in said.err
    assert said.out == ""
