"""Which code answers which command, and under which name on this server."""

from __future__ import annotations

from disque.commands.handlers import HANDLERS
from disque.commands.table import COMMANDS
from disque.model.settings import Settings
from tests.commands.world import Client, World


def renamed(*pairs: tuple[bytes, bytes]) -> Client:
    settings = Settings()
    settings.rename_command = list(pairs)
    return World(settings=settings).client()


def test_every_command_has_code_and_all_code_has_a_command() -> None:
    assert sorted(HANDLERS) == sorted(command.name for command in COMMANDS)


def test_a_name_is_understood_in_any_case() -> None:
    client = World().client()

    assert [client.ask(name) for name in (b"ping", b"PING", b"PiNg")] == [b"+PONG\r\n"] * 3


def test_a_renamed_command_is_known_by_its_new_name_only_in_any_case() -> None:
    client = renamed((b"PING", b"Hallo"))

    assert [client.ask(name) for name in (b"hallo", b"HALLO", b"hAllO")] == [b"+PONG\r\n"] * 3
    assert client.ask(b"PING") == b"-ERR unknown command 'PING'\r\n"


def test_a_command_renamed_to_nothing_is_gone() -> None:
    client = renamed((b"debug", b""))

    assert client.ask(b"DEBUG", b"FLUSHALL") == b"-ERR unknown command 'DEBUG'\r\n"
    assert client.ask(b"") == b"-ERR unknown command ''\r\n"


def test_two_commands_may_swap_their_names() -> None:
    client = renamed((b"qlen", b"spare"), (b"show", b"qlen"), (b"spare", b"show"))

    assert client.ask(b"SHOW", b"q") == b":0\r\n"
    assert client.ask(b"QLEN", b"x") == b"-BADID Invalid Job ID format.\r\n"


def test_errors_and_statistics_keep_the_original_name() -> None:
    client = renamed((b"qlen", b"ql"))

    assert client.ask(b"QL") == b"-ERR wrong number of arguments for 'qlen' command\r\n"
    client.ask(b"QL", b"q")
    assert b"cmdstat_qlen" in client.lines(b"INFO", b"commandstats")
    assert b"cmd=client\n" in client.ask(b"CLIENT", b"LIST")


def test_a_renamed_auth_still_opens_the_server_and_hides_its_password() -> None:
    settings = Settings()
    settings.requirepass = b"sekret"
    settings.rename_command = [(b"auth", b"login")]
    settings.slowlog_log_slower_than = 0
    client = World(settings=settings).client()

    assert client.ask(b"AUTH", b"sekret") == b"-ERR unknown command 'AUTH'\r\n"
    assert client.ask(b"LOGIN", b"sekret") == b"+OK\r\n"

    slow = client.ask(b"SLOWLOG", b"GET")
    assert b"LOGIN" in slow
    assert b"sekret" not in slow


def test_a_command_that_asks_the_world_is_answered_under_its_new_name() -> None:
    client = renamed((b"time", b"clock"), (b"info", b"facts"))

    assert len(client.items(b"CLOCK")) == 2
    assert client.lines(b"Facts", b"jobs") == {b"registered_jobs": b"0"}
