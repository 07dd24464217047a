"""CONFIG: reading and changing the settings of a running server."""

from __future__ import annotations

import random

import pytest

from disque.commands.config import (
    PATTERN_BYTES_MAX,
    VALUE_BYTES_MAX,
    answer_apply,
    answer_rewrite,
    config,
)
from disque.commands.frontend import Entry, Frontend
from disque.commands.session import FREE, ON_ANSWER, Session
from disque.commands.table import COMMANDS
from disque.core.node import Node
from disque.model.asks import Apply, Done, Failed, RewriteConfig
from disque.model.directive_table import READABLE
from disque.model.errors import CommandError
from disque.model.job import NodeId
from disque.model.settings import Settings
from disque.wire import resp

NOW_MS = 1_700_000_000_000


class Server:
    """A command layer with one client, and the words to talk to it."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.settings.dir = "/srv/disque"
        node = Node(NodeId(b"a" * 40), 7711, self.settings, random.Random(1), random.Random(2))
        self.front = Frontend(node, self.settings, lambda: 0)
        self.session = Session(7, b"127.0.0.1:50000", False, NOW_MS)
        self.front.sessions[7] = self.session

    def run(self, *words: bytes) -> bytes | None:
        """Run CONFIG with these words."""
        return config(self.front, self.session, [b"CONFIG", *words], NOW_MS)

    def error(self, *words: bytes) -> str:
        """Run CONFIG and tell how it was refused."""
        with pytest.raises(CommandError) as caught:
            self.run(*words)
        return f"{caught.value.code} {caught.value.sentence}"

    def value(self, name: bytes) -> bytes:
        """Read one value with CONFIG GET."""
        reply = self.run(b"GET", name)
        assert reply is not None
        head = b"*2\r\n" + resp.bulk(name)
        assert reply.startswith(head)
        return reply[len(head) :].split(b"\r\n", 1)[1][:-2]

    def asked(self) -> Apply:
        """Take the one question the world was asked, while the client waits."""
        assert self.session.waits == ON_ANSWER
        (ask,) = self.front.node.effects.asks
        assert isinstance(ask, Apply)
        return ask


@pytest.fixture
def server() -> Server:
    return Server()


def flat(*words: bytes) -> bytes:
    return resp.array([resp.bulk(word) for word in words])


def test_get_lists_every_readable_name_in_order(server: Server) -> None:
    expected: list[bytes] = []
    for directive in READABLE:
        expected += [directive.name.encode(), directive.shown(server.settings)]

    assert server.run(b"GET", b"*") == flat(*expected)


def test_get_answers_what_the_pattern_describes(server: Server) -> None:
    assert server.run(b"get", b"maxmemory*") == flat(
        b"maxmemory", b"1073741824", b"maxmemory-samples", b"5", b"maxmemory-policy", b"acks"
    )
    assert server.run(b"GET", b"tcp-*") == flat(b"tcp-backlog", b"511", b"tcp-keepalive", b"no")
    assert server.run(b"GET", b"nosuch") == b"*0\r\n"


def test_get_ignores_case(server: Server) -> None:
    assert server.run(b"GET", b"MAXMEMORY") == flat(b"maxmemory", b"1073741824")


def test_a_pattern_has_room_for_every_spelling_of_the_longest_name(server: Server) -> None:
    longest = max([directive.name for directive in READABLE], key=len)
    pattern = "".join([f"[{letter}{letter.upper()}]" for letter in longest])

    assert server.run(b"GET", pattern.encode()) == server.run(b"GET", longest.encode())


def test_a_pattern_that_would_take_long_to_compare_is_refused(server: Server) -> None:
    error = server.error(b"GET", b"*" * (PATTERN_BYTES_MAX + 1))

    assert error == "ERR The pattern is longer than 256 bytes"
    assert server.run(b"GET", b"*" * PATTERN_BYTES_MAX) == server.run(b"GET", b"*")


def test_get_answers_a_map_in_resp3(server: Server) -> None:
    server.session.protocol = 3

    assert server.run(b"GET", b"p[io]*") == (
        b"%2\r\n" + flat(b"pidfile", b"/var/run/disque.pid", b"port", b"7711")[4:]
    )
    assert server.run(b"GET", b"nosuch") == b"%0\r\n"


@pytest.mark.parametrize(
    "name",
    [b"appendfilename", b"cluster-config-file", b"syslog-enabled", b"rename-command", b"include"],
)
def test_hidden_names_are_not_shown(server: Server, name: bytes) -> None:
    assert server.run(b"GET", name) == b"*0\r\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((b"GET",), "ERR Wrong number of arguments for CONFIG GET"),
        ((b"get", b"a", b"b"), "ERR Wrong number of arguments for CONFIG get"),
        ((b"SET", b"timeout"), "ERR Wrong number of arguments for CONFIG SET"),
        ((b"SET", b"timeout", b"1", b"2"), "ERR Wrong number of arguments for CONFIG SET"),
        ((b"RESETSTAT", b"x"), "ERR Wrong number of arguments for CONFIG RESETSTAT"),
        ((b"ReWrite", b"x"), "ERR Wrong number of arguments for CONFIG ReWrite"),
        (
            (b"FOO",),
            "ERR CONFIG subcommand must be one of GET, SET, RESETSTAT, REWRITE",
        ),
        ((b"SET", b"port", b"1"), "ERR Unsupported CONFIG parameter: port"),
        ((b"SET", b"NoSuch", b"1"), "ERR Unsupported CONFIG parameter: NoSuch"),
        ((b"SET", b"include", b"x"), "ERR Unsupported CONFIG parameter: include"),
        ((b"SET", b"maxmemory", b"1x"), "ERR Invalid argument '1x' for CONFIG SET 'maxmemory'"),
        ((b"SET", b"MaxMemory", b"0"), "ERR Invalid argument '0' for CONFIG SET 'MaxMemory'"),
        ((b"SET", b"timeout", b"-1"), "ERR Invalid argument '-1' for CONFIG SET 'timeout'"),
        ((b"SET", b"timeout", b""), "ERR Invalid argument '' for CONFIG SET 'timeout'"),
        ((b"SET", b"hz", b"-1"), "ERR Invalid argument '-1' for CONFIG SET 'hz'"),
        ((b"SET", b"loglevel", b"x"), "ERR Invalid argument 'x' for CONFIG SET 'loglevel'"),
        ((b"SET", b"maxclients", b"0"), "ERR Invalid argument '0' for CONFIG SET 'maxclients'"),
        ((b"SET", b"timeout", b"\xff"), "ERR Invalid argument '\xff' for CONFIG SET 'timeout'"),
        ((b"SET", b"appendonly", b"yes"), "ERR appendonly is not available in this version"),
        (
            (b"SET", b"appendonly", b"maybe"),
            "ERR Invalid argument 'maybe' for CONFIG SET 'appendonly'",
        ),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(
    server: Server, words: tuple[bytes, ...], sentence: str
) -> None:
    before = server.run(b"GET", b"*")

    assert server.error(*words) == sentence

    assert server.run(b"GET", b"*") == before
    assert server.session.waits == FREE
    assert server.front.node.effects.asks == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # The first would otherwise be a list of millions of words, and valid besides.
        (b"client-output-buffer-limit", b"normal 0 0 0 " * (VALUE_BYTES_MAX // 13 + 1)),
        (b"dir", b"/" * (VALUE_BYTES_MAX + 1)),
        (b"maxmemory", b"0" * VALUE_BYTES_MAX + b"1"),
    ],
)
def test_a_value_longer_than_any_path_is_refused(server: Server, name: bytes, value: bytes) -> None:
    assert server.error(b"SET", name, value).startswith("ERR Invalid argument '")

    assert server.session.waits == FREE
    assert server.front.node.effects.asks == []


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        (b"MaxMemory", b"100MB", b"104857600"),
        (b"hz", b"100000", b"500"),
        (b"client-output-buffer-limit", b"normal 1000 500 3", b"normal 1000 500 3"),
        (b"client-output-buffer-limit", b"normal 1kb 1k 3", b"normal 1024 1000 3"),
        (b"slowlog-log-slower-than", b"-1", b"-1"),
        (b"auto-aof-rewrite-min-size", b"1mb", b"1048576"),
        (b"tcp-keepalive", b"60", b"yes"),
        (b"tcp-keepalive", b"YES", b"yes"),
        (b"watchdog-period", b"1", b"200"),
        (b"cluster-node-timeout", b"500", b"500"),
        (b"maxmemory-policy", b"NOEVICTION", b"noeviction"),
        (b"appendonly", b"no", b"no"),
        (b"retry-from", b"delivered", b"delivered"),
    ],
)
def test_set_counts_at_once(server: Server, name: bytes, value: bytes, shown: bytes) -> None:
    assert server.run(b"SET", name, value) == b"+OK\r\n"

    assert server.value(name.lower()) == shown


def test_password_can_be_set_and_cleared(server: Server) -> None:
    server.run(b"SET", b"requirepass", b"x" * 512)
    assert server.settings.requirepass == b"x" * 512

    assert "Invalid argument" in server.error(b"SET", b"requirepass", b"x" * 513)
    assert server.settings.requirepass == b"x" * 512

    server.run(b"SET", b"requirepass", b"")
    assert server.settings.requirepass == b""


def test_whoever_depends_on_a_setting_is_told(server: Server) -> None:
    server.run(b"SET", b"slowlog-log-slower-than", b"5")

    assert server.front.slow_ns == 5_000


@pytest.mark.parametrize(
    ("name", "value", "applied", "shown"),
    [
        (b"LogLevel", b"WARNING", b"warning", b"warning"),
        (b"log-format", b"JSON", b"json", b"json"),
        (b"maxclients", b"0500", b"500", b"500"),
        (b"dir", b"/tmp//x/", b"/tmp/x", b"/tmp/x"),
        (b"dir", b"../other", b"/srv/other", b"/srv/other"),
    ],
)
def test_value_counts_only_when_the_world_has_followed(
    server: Server, name: bytes, value: bytes, applied: bytes, shown: bytes
) -> None:
    before = server.value(name.lower())

    assert server.run(b"SET", name, value) is None
    ask = server.asked()

    assert (ask.client, ask.name, ask.values) == (7, name.decode().lower(), [applied])
    assert server.value(name.lower()) == before
    assert answer_apply(server.front, server.session, ask, Done(), NOW_MS) == b"+OK\r\n"
    assert server.value(name.lower()) == shown


@pytest.mark.parametrize(
    ("name", "value", "reason", "sentence"),
    [
        (
            b"dir",
            b"/nonexistent-dir",
            "No such file or directory",
            "Changing directory: No such file or directory",
        ),
        (
            b"maxclients",
            b"1000000",
            "4064",
            (
                "The operating system is not able to handle the specified number of clients, "
                "try with 4064"
            ),
        ),
        (b"loglevel", b"debug", "Disk full", "Changing loglevel: Disk full"),
    ],
)
def test_old_value_stays_when_the_world_cannot_follow(
    server: Server, name: bytes, value: bytes, reason: str, sentence: str
) -> None:
    before = server.value(name)
    server.run(b"SET", name, value)
    ask = server.asked()

    with pytest.raises(CommandError) as caught:
        answer_apply(server.front, server.session, ask, Failed(reason), NOW_MS)

    assert (caught.value.code, caught.value.sentence) == ("ERR", sentence)
    assert server.value(name) == before


def test_rewrite_is_asked_of_the_world(server: Server) -> None:
    assert server.run(b"REWRITE") is None

    (ask,) = server.front.node.effects.asks
    assert isinstance(ask, RewriteConfig)
    assert ask.client == 7
    assert server.session.waits == ON_ANSWER
    assert answer_rewrite(server.front, server.session, ask, Done(), NOW_MS) == b"+OK\r\n"


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("", "The server is running without a config file"),
        ("Permission denied", "Rewriting config file: Permission denied"),
    ],
)
def test_failed_rewrite_is_explained(server: Server, reason: str, sentence: str) -> None:
    ask = RewriteConfig(7)

    with pytest.raises(CommandError) as caught:
        answer_rewrite(server.front, server.session, ask, Failed(reason), NOW_MS)

    assert (caught.value.code, caught.value.sentence) == ("ERR", sentence)


def test_resetstat_forgets_commands_and_traffic(server: Server) -> None:
    entry = Entry(COMMANDS[0], config)
    entry.calls = 5
    entry.nanoseconds = 900
    server.front.table.append(entry)
    server.front.traffic.commands += 3

    assert server.run(b"ResetStat") == b"+OK\r\n"

    assert (entry.calls, entry.nanoseconds) == (0, 0)
    assert server.front.traffic.commands == 0
