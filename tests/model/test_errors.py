"""Errors carry a code for machines and a sentence for people."""

import pytest
from hypothesis import given, strategies as st

from disque.model.errors import CommandError, ProtocolError, SyntaxProblem, shown
from disque.model.limits import SHOWN_BYTES_MAX


def test_code_and_sentence_are_kept_apart() -> None:
    error = CommandError("NOREPL", "only 2 of 3 copies made")

    assert (error.code, error.sentence) == ("NOREPL", "only 2 of 3 copies made")


def test_syntax_problem_is_an_error_of_the_client() -> None:
    with pytest.raises(CommandError) as caught:
        raise SyntaxProblem

    assert (caught.value.code, caught.value.sentence) == ("ERR", "syntax error")


def test_peers_and_clients_err_in_different_ways() -> None:
    assert not issubclass(ProtocolError, CommandError)


@given(st.binary(max_size=SHOWN_BYTES_MAX))
def test_user_bytes_survive_being_shown(raw: bytes) -> None:
    assert shown(raw).encode("latin-1") == raw


def test_only_the_beginning_of_what_is_too_long_is_shown() -> None:
    raw = b"x" * (SHOWN_BYTES_MAX + 1)

    assert shown(raw) == "x" * SHOWN_BYTES_MAX + "..."
    assert shown(raw[:SHOWN_BYTES_MAX]) == "x" * SHOWN_BYTES_MAX
