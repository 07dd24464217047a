"""Settings and the directives that fill them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from disque.model.directive_table import BY_NAME, DIRECTIVES, READABLE
from disque.model.directives import (
    bytes_of,
    integer,
    memory_size,
    memory_text,
    resolved,
    text_of,
)
from disque.model.settings import Settings, SettingsError, UnavailableError

MANUAL = Path(__file__).parents[2] / "docs" / "operate" / "configuration.md"

# The order in which clients have always seen them, then ours.
CONFIG_GET_ORDER = [
    "requirepass",
    "unixsocket",
    "logfile",
    "pidfile",
    "maxmemory",
    "maxmemory-samples",
    "timeout",
    "auto-aof-rewrite-percentage",
    "auto-aof-rewrite-min-size",
    "slowlog-log-slower-than",
    "latency-monitor-threshold",
    "slowlog-max-len",
    "port",
    "tcp-backlog",
    "databases",
    "maxclients",
    "watchdog-period",
    "hz",
    "cluster-node-timeout",
    "tcp-keepalive",
    "no-appendfsync-on-rewrite",
    "daemonize",
    "activerehashing",
    "aof-rewrite-incremental-fsync",
    "aof-load-truncated",
    "aof-enqueue-jobs-once",
    "maxmemory-policy",
    "loglevel",
    "appendfsync",
    "syslog-facility",
    "appendonly",
    "dir",
    "client-output-buffer-limit",
    "unixsocketperm",
    "bind",
    "retry-from",
    "log-format",
]

YES_NO_DIRECTIVES = [
    "no-appendfsync-on-rewrite",
    "daemonize",
    "activerehashing",
    "aof-rewrite-incremental-fsync",
    "aof-load-truncated",
    "aof-enqueue-jobs-once",
    "appendonly",
    "syslog-enabled",
]

FIXED_DIRECTIVES = [
    "unixsocket",
    "logfile",
    "pidfile",
    "port",
    "tcp-backlog",
    "databases",
    "no-appendfsync-on-rewrite",
    "daemonize",
    "syslog-facility",
    "unixsocketperm",
    "bind",
    "appendfilename",
    "cluster-config-file",
    "syslog-enabled",
    "syslog-ident",
    "rename-command",
]


def read(name: str, *words: bytes) -> Settings:
    settings = Settings()
    BY_NAME[name.encode()].read(settings, list(words))
    return settings


def shown(name: str, settings: Settings) -> bytes:
    return BY_NAME[name.encode()].shown(settings)


def problem(name: str, *words: bytes) -> str:
    with pytest.raises(SettingsError) as caught:
        read(name, *words)
    return caught.value.message


def test_names_are_listed_in_the_order_clients_know() -> None:
    assert [directive.name for directive in READABLE] == CONFIG_GET_ORDER


def test_every_directive_is_found_by_its_name() -> None:
    assert len(BY_NAME) == len(DIRECTIVES) == len(CONFIG_GET_ORDER) + 5


def test_what_belongs_to_the_start_is_not_settable() -> None:
    fixed = [directive.name for directive in DIRECTIVES if not directive.is_settable()]

    assert sorted(fixed) == sorted(FIXED_DIRECTIVES)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("requirepass", b""),
        ("unixsocket", b""),
        ("logfile", b""),
        ("pidfile", b"/var/run/disque.pid"),
        ("maxmemory", b"1073741824"),
        ("maxmemory-samples", b"5"),
        ("timeout", b"0"),
        ("auto-aof-rewrite-percentage", b"100"),
        ("auto-aof-rewrite-min-size", b"67108864"),
        ("slowlog-log-slower-than", b"10000"),
        ("latency-monitor-threshold", b"0"),
        ("slowlog-max-len", b"128"),
        ("port", b"7711"),
        ("tcp-backlog", b"511"),
        ("databases", b"16"),
        ("maxclients", b"10000"),
        ("watchdog-period", b"0"),
        ("hz", b"10"),
        ("cluster-node-timeout", b"15000"),
        ("tcp-keepalive", b"no"),
        ("no-appendfsync-on-rewrite", b"no"),
        ("daemonize", b"no"),
        ("activerehashing", b"yes"),
        ("aof-rewrite-incremental-fsync", b"yes"),
        ("aof-load-truncated", b"yes"),
        ("aof-enqueue-jobs-once", b"no"),
        ("maxmemory-policy", b"acks"),
        ("loglevel", b"notice"),
        ("appendfsync", b"everysec"),
        ("syslog-facility", b"local0"),
        ("appendonly", b"no"),
        ("client-output-buffer-limit", b"normal 0 0 0"),
        ("unixsocketperm", b"0"),
        ("bind", b""),
        ("retry-from", b"queued"),
        ("log-format", b"text"),
        ("appendfilename", b"disque.aof"),
        ("cluster-config-file", b"nodes.conf"),
        ("syslog-enabled", b"no"),
        ("syslog-ident", b"disque"),
    ],
)
def test_default_is_shown(name: str, default: bytes) -> None:
    assert shown(name, Settings()) == default


@pytest.mark.parametrize(
    ("name", "given_word", "expected"),
    [
        ("port", b"0", b"0"),
        ("port", b"65535", b"65535"),
        ("port", b"+7712", b"7712"),
        ("timeout", b"00060", b"60"),
        ("tcp-backlog", b"100", b"100"),
        ("databases", b"3", b"3"),
        ("maxclients", b"50", b"50"),
        ("maxmemory", b"100MB", b"104857600"),
        ("maxmemory", b"1", b"1"),
        ("maxmemory-samples", b"9", b"9"),
        ("maxmemory-policy", b"NoEviction", b"noeviction"),
        ("loglevel", b"WARNING", b"warning"),
        ("syslog-facility", b"LOCAL7", b"local7"),
        ("syslog-facility", b"user", b"user"),
        ("syslog-ident", b"queue", b"queue"),
        ("syslog-enabled", b"YES", b"yes"),
        ("appendfsync", b"ALWAYS", b"always"),
        ("appendfilename", b"other.aof", b"other.aof"),
        ("cluster-config-file", b"n.conf", b"n.conf"),
        ("cluster-node-timeout", b"3000", b"3000"),
        ("auto-aof-rewrite-percentage", b"0", b"0"),
        ("auto-aof-rewrite-min-size", b"1k", b"1000"),
        ("slowlog-log-slower-than", b"-1", b"-1"),
        ("slowlog-max-len", b"0", b"0"),
        ("latency-monitor-threshold", b"20", b"20"),
        ("unixsocket", b"/tmp/\xff", b"/tmp/\xff"),
        ("logfile", b"d.log", b"d.log"),
        ("pidfile", b"d.pid", b"d.pid"),
        ("unixsocketperm", b"0755", b"755"),
        ("hz", b"100000", b"500"),
        ("hz", b"-3", b"1"),
        ("tcp-keepalive", b"60", b"yes"),
        ("tcp-keepalive", b"0", b"no"),
        ("requirepass", b"\x00any bytes\xff", b"\x00any bytes\xff"),
        ("retry-from", b"DELIVERED", b"delivered"),
        ("log-format", b"Json", b"json"),
    ],
)
def test_value_is_taken_and_shown(name: str, given_word: bytes, expected: bytes) -> None:
    settings = read(name, given_word)

    assert shown(name, settings) == expected


@pytest.mark.parametrize("name", YES_NO_DIRECTIVES)
def test_switch_takes_yes_and_no_in_any_case_and_nothing_else(name: str) -> None:
    assert shown(name, read(name, b"NO")) == b"no"
    if name != "appendonly":
        assert shown(name, read(name, b"Yes")) == b"yes"
    for word in (b"", b"1", b"true", b"yes "):
        assert problem(name, word) == "argument must be 'yes' or 'no'"


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("port", (b"abc", b"", b"-1", b"65536", b"1 ", b" 1", b"1\x00", b"0x1"), "Invalid port"),
        ("tcp-backlog", (b"-1", b"x", b"4294967296"), "Invalid backlog value"),
        (
            "unixsocketperm",
            (b"999", b"1000", b"", b"-1", b"0o7"),
            "Invalid socket file permissions",
        ),
        ("timeout", (b"-1", b"", b"1s"), "Invalid timeout value"),
        ("tcp-keepalive", (b"-1", b"maybe", b"", b"32768"), "Invalid tcp-keepalive value"),
        (
            "loglevel",
            (b"loud", b""),
            "Invalid log level. Must be one of debug, verbose, notice, warning",
        ),
        (
            "syslog-facility",
            (b"local8", b"daemon"),
            "Invalid log facility. Must be one of USER or between LOCAL0-LOCAL7",
        ),
        ("databases", (b"0", b"x"), "Invalid number of databases"),
        ("maxclients", (b"0", b"x"), "Invalid max clients limit"),
        (
            "maxmemory",
            (b"0", b"0gb", b"-1", b"1x", b"gb", b"", b"1.5gb", b"9999999999gb"),
            "You need to specify a memory limit greater than zero",
        ),
        ("maxmemory-policy", (b"lru",), "Invalid maxmemory policy"),
        ("maxmemory-samples", (b"0",), "maxmemory-samples must be 1 or greater"),
        ("hz", (b"fast", b""), "Invalid hz value"),
        (
            "appendfilename",
            (b"a/b", b"a\\b", b""),
            "appendfilename can't be a path, just a filename",
        ),
        ("appendfsync", (b"never",), "argument must be 'no', 'always' or 'everysec'"),
        (
            "auto-aof-rewrite-percentage",
            (b"-1", b"x"),
            "Invalid negative percentage for AOF auto rewrite",
        ),
        ("auto-aof-rewrite-min-size", (b"-1", b"big"), "Invalid auto-aof-rewrite-min-size value"),
        ("requirepass", (b"x" * 513,), "Password is longer than CONFIG_AUTHPASS_MAX_LEN"),
        ("cluster-node-timeout", (b"0", b"-5"), "cluster node timeout must be 1 or greater"),
        ("slowlog-log-slower-than", (b"", b"1ms"), "Invalid slowlog-log-slower-than value"),
        ("slowlog-max-len", (b"-1",), "Invalid slowlog-max-len value"),
        ("latency-monitor-threshold", (b"-1",), "The latency threshold can't be negative"),
        ("dir", (b"", b"a\x00b"), "Invalid dir value"),
        ("bind", (b"",), "Invalid bind address"),
        ("retry-from", (b"now",), "argument must be 'queued' or 'delivered'"),
        ("log-format", (b"xml",), "argument must be 'text' or 'json'"),
    ],
)
def test_bad_value_is_refused_with_its_sentence(
    name: str, bad: tuple[bytes, ...], message: str
) -> None:
    for word in bad:
        assert problem(name, word) == message, word


@pytest.mark.parametrize("name", [directive.name for directive in DIRECTIVES])
def test_wrong_number_of_words_is_refused(name: str) -> None:
    assert problem(name) == "Bad directive or wrong number of arguments"
    if name != "bind":
        message = problem(name, b"1", b"2", b"3", b"4", b"5")
        assert message == "Bad directive or wrong number of arguments"


def test_journal_is_not_promised_before_it_exists() -> None:
    with pytest.raises(UnavailableError, match=r"^appendonly is not available in this version$"):
        read("appendonly", b"yes")


def test_watchdog_cannot_be_given_in_a_file() -> None:
    assert problem("watchdog-period", b"500") == "Bad directive or wrong number of arguments"


def test_watchdog_waits_for_two_periods_at_least() -> None:
    settings = Settings()

    BY_NAME[b"watchdog-period"].change(settings, b"50")
    assert settings.watchdog_period == 200

    BY_NAME[b"watchdog-period"].change(settings, b"0")
    assert settings.watchdog_period == 0


def test_empty_password_means_none() -> None:
    settings = read("requirepass", b"secret")

    BY_NAME[b"requirepass"].read(settings, [b""])

    assert settings.requirepass == b""
    assert BY_NAME[b"requirepass"].written(settings) == []


def test_sixteen_addresses_can_be_bound_but_not_more() -> None:
    addresses = [b"10.0.0.%d" % number for number in range(17)]

    settings = read("bind", *addresses[:16])

    assert settings.bind[:2] == ["10.0.0.0", "10.0.0.1"]
    assert shown("bind", settings) == b" ".join(addresses[:16])
    assert problem("bind", *addresses) == "Too many bind addresses specified"


def test_keepalive_yes_means_five_minutes_unless_seconds_are_set() -> None:
    assert read("tcp-keepalive", b"yes").tcp_keepalive == 300

    settings = read("tcp-keepalive", b"60")
    BY_NAME[b"tcp-keepalive"].read(settings, [b"YES"])
    assert settings.tcp_keepalive == 60

    BY_NAME[b"tcp-keepalive"].read(settings, [b"no"])
    assert settings.tcp_keepalive == 0


def test_output_limits_take_units_and_show_bytes() -> None:
    settings = read("client-output-buffer-limit", b"NORMAL", b"64mb", b"1k", b"10")

    assert settings.output_limit_hard == 67_108_864
    assert settings.output_limit_soft == 1_000
    assert settings.output_limit_soft_seconds == 10
    assert shown("client-output-buffer-limit", settings) == b"normal 67108864 1000 10"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((b"slave", b"0", b"0", b"0"), "Unrecognized client limit class"),
        ((b"normal", b"x", b"0", b"0"), "Invalid client-output-buffer-limit value"),
        (
            (b"normal", b"0", b"0", b"-1"),
            "Negative number of seconds in soft limit is invalid",
        ),
    ],
)
def test_bad_output_limits_are_refused(words: tuple[bytes, ...], message: str) -> None:
    assert problem("client-output-buffer-limit", *words) == message


def test_output_limits_change_all_or_nothing() -> None:
    settings = Settings()
    directive = BY_NAME[b"client-output-buffer-limit"]

    with pytest.raises(SettingsError):
        directive.change(settings, b"normal 1 2 3 normal 4 5")
    with pytest.raises(SettingsError):
        directive.change(settings, b"normal 1 2 3 normal 4 5 x")
    with pytest.raises(SettingsError):
        directive.change(settings, b"")
    assert shown("client-output-buffer-limit", settings) == b"normal 0 0 0"

    directive.change(settings, b"normal 1 2 3 normal 4kb 5 6")
    assert shown("client-output-buffer-limit", settings) == b"normal 4096 5 6"


def test_negative_hz_is_good_for_the_file_only() -> None:
    settings = Settings()

    with pytest.raises(SettingsError):
        BY_NAME[b"hz"].change(settings, b"-3")
    BY_NAME[b"hz"].change(settings, b"0")

    assert settings.hz == 1


def test_renames_add_up() -> None:
    settings = read("rename-command", b"debug", b"")
    BY_NAME[b"rename-command"].read(settings, [b"config", b"secret"])

    assert settings.rename_command == [(b"debug", b""), (b"config", b"secret")]
    assert Settings().rename_command == []


def test_relative_directory_starts_at_the_last_one() -> None:
    settings = read("dir", b"/srv/disque")
    BY_NAME[b"dir"].read(settings, [b"../queue"])

    assert settings.dir == "/srv/queue"


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        (".", ".", "."),
        (".", "a", "a"),
        (".", "..", ".."),
        ("..", "..", "../.."),
        ("a", "..", "."),
        ("/", "..", "/"),
        ("/a", "b//c/", "/a/b/c"),
        ("/a", "/", "/"),
    ],
)
def test_paths_are_resolved(base: str, path: str, expected: str) -> None:
    assert resolved(base, path) == expected


@given(st.binary(max_size=24))
def test_numbers_are_digits_with_a_sign_and_nothing_else(raw: bytes) -> None:
    value = integer(raw)

    if value is not None:
        assert raw.lstrip(b"+-").isdigit()
        assert int(raw) == value
        assert -(2**63) <= value < 2**63


@given(st.integers(-(2**64), 2**64))
def test_exactly_64_bit_numbers_are_read(value: int) -> None:
    fits = -(2**63) <= value < 2**63

    assert integer(b"%d" % value) == (value if fits else None)


def test_leading_zeros_never_overflow() -> None:
    assert integer(b"0" * 10_000 + b"7") == 7
    assert integer(b"9" * 10_000) is None


@given(st.integers(0, 2**63 - 1) | st.integers(0, 2**20).map(lambda n: n * 1024))
def test_sizes_survive_being_written(size: int) -> None:
    assert memory_size(memory_text(size)) == size


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (b"7", 7),
        (b"7b", 7),
        (b"7B", 7),
        (b"2k", 2_000),
        (b"2Kb", 2_048),
        (b"2m", 2_000_000),
        (b"2MB", 2_097_152),
        (b"2g", 2_000_000_000),
        (b"2gB", 2_147_483_648),
        (b"2t", None),
        (b"2bb", None),
        (b"2kbb", None),
        (b"+2", None),
        (b"2 kb", None),
        (b"2mb\x00", None),
    ],
)
def test_units_count_in_thousands_or_in_steps_of_1024(raw: bytes, size: int | None) -> None:
    assert memory_size(raw) == size


@given(st.binary())
def test_texts_give_their_bytes_back(raw: bytes) -> None:
    assert bytes_of(text_of(raw)) == raw


def test_manual_lists_every_directive_with_its_default_and_its_access() -> None:
    rows: dict[str, tuple[str, str, str]] = {}
    for line in MANUAL.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0] not in ("directive", "---"):
            rows[cells[0]] = (cells[1].strip("`"), cells[2], cells[3])

    assert rows.pop("include") == ("none", "no", "no")
    assert list(rows) == [directive.name for directive in DIRECTIVES]
    for directive in DIRECTIVES:
        words = b" ".join(directive.written(Settings())).decode()
        default = words or ('""' if directive.written(Settings()) else "none")
        is_readable = "yes" if directive in READABLE else "no"
        is_settable = "yes" if directive.is_settable() else "no"
        assert rows[directive.name] == (default, is_readable, is_settable)
