"""Why a server cannot start: a sentence for the person who started it."""

from __future__ import annotations

__all__ = ["StartError"]


class StartError(Exception):
    """Start-up is given up: the sentence goes to the log and to stderr, the exit code is 1."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
