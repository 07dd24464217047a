"""Passwords never reach MONITOR or SLOWLOG."""

import pytest

from disque.commands.redaction import redacted


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        ([b"AUTH", b"pw"], [b"AUTH", b"(redacted)"]),
        ([b"aUtH", b"default", b"pw"], [b"aUtH", b"(redacted)", b"(redacted)"]),
        (
            [b"HELLO", b"3", b"auth", b"default", b"pw"],
            [b"HELLO", b"3", b"auth", b"(redacted)", b"(redacted)"],
        ),
        (
            [b"config", b"Set", b"RequirePass", b"pw"],
            [b"config", b"Set", b"RequirePass", b"(redacted)"],
        ),
    ],
)
def test_a_password_is_hidden(argv: list[bytes], shown: list[bytes]) -> None:
    assert redacted(argv) == shown


def test_a_connection_named_auth_does_not_uncover_the_password() -> None:
    argv = [b"HELLO", b"3", b"SETNAME", b"auth", b"AUTH", b"default", b"pw"]

    assert b"pw" not in redacted(argv)


@pytest.mark.parametrize(
    "argv",
    [
        [b"PING"],
        [b"HELLO"],
        [b"HELLO", b"3", b"SETNAME", b"joe"],
        [b"CONFIG", b"GET", b"requirepass"],
        [b"CONFIG", b"SET", b"maxclients", b"10"],
        [b"CONFIG", b"SET", b"requirepass"],
    ],
)
def test_everything_else_is_shown_as_it_is(argv: list[bytes]) -> None:
    assert redacted(argv) is argv


def test_a_renamed_command_is_known_by_its_original_name() -> None:
    assert redacted([b"letmein", b"pw"], b"auth") == [b"letmein", b"(redacted)"]
    assert redacted([b"AUTH", b"text"], b"echo") == [b"AUTH", b"text"]
