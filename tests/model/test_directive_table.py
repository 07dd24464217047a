"""Which directives there are, what each takes, and what it says to everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from disque.model.directive_table import BY_NAME, DIRECTIVES, READABLE
from disque.model.settings import Settings, UnavailableError
from tests.model.helpers import problem, read, shown

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


def test_names_are_listed_in_the_order_clients_know() -> None:
    assert [directive.name for directive in READABLE] == CONFIG_GET_ORDER


def test_every_directive_is_found_by_its_name() -> None:
    assert len(BY_NAME) == len(DIRECTIVES) == len(CONFIG_GET_ORDER) + 5


def test_what_belongs_to_the_start_is_not_settable() -> None:
    fixed = [directive.name for directive in DIRECTIVES if not directive.is_settable()]

    assert sorted(fixed) == sorted(FIXED_DIRECTIVES)


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


# How each directive is told something that is not its default.
CHANGES: dict[str, tuple[bytes, ...]] = {
    "requirepass": (b"secret",),
    "unixsocket": (b"/tmp/s",),
    "logfile": (b"d.log",),
    "pidfile": (b"d.pid",),
    "maxmemory": (b"2gb",),
    "maxmemory-samples": (b"6",),
    "timeout": (b"7",),
    "auto-aof-rewrite-percentage": (b"8",),
    "auto-aof-rewrite-min-size": (b"9",),
    "slowlog-log-slower-than": (b"10",),
    "latency-monitor-threshold": (b"11",),
    "slowlog-max-len": (b"12",),
    "port": (b"13",),
    "tcp-backlog": (b"14",),
    "databases": (b"15",),
    "maxclients": (b"17",),
    "watchdog-period": (b"5000",),
    "hz": (b"18",),
    "cluster-node-timeout": (b"19",),
    "tcp-keepalive": (b"20",),
    "no-appendfsync-on-rewrite": (b"yes",),
    "daemonize": (b"yes",),
    "activerehashing": (b"no",),
    "aof-rewrite-incremental-fsync": (b"no",),
    "aof-load-truncated": (b"no",),
    "aof-enqueue-jobs-once": (b"yes",),
    "maxmemory-policy": (b"noeviction",),
    "loglevel": (b"debug",),
    "appendfsync": (b"always",),
    "syslog-facility": (b"user",),
    "dir": (b"/srv",),
    "client-output-buffer-limit": (b"normal", b"1", b"2", b"3"),
    "unixsocketperm": (b"700",),
    "bind": (b"10.0.0.1",),
    "retry-from": (b"delivered",),
    "log-format": (b"json",),
    "appendfilename": (b"d.aof",),
    "cluster-config-file": (b"d.conf",),
    "syslog-enabled": (b"yes",),
    "syslog-ident": (b"d",),
    "rename-command": (b"debug", b""),
}


def attributes(name: str) -> list[str]:
    """Return the settings a directive speaks of: the one of its name, with one exception."""
    if name == "client-output-buffer-limit":
        return ["output_limit_hard", "output_limit_soft", "output_limit_soft_seconds"]
    return [name.replace("-", "_")]


def values(settings: Settings) -> dict[str, object]:
    """Return every setting by its name."""
    names = [name for name in dir(settings) if not name.startswith("_")]
    return {name: getattr(settings, name) for name in names}


def test_every_directive_has_its_settings_and_every_setting_its_directive() -> None:
    known = [setting for directive in DIRECTIVES for setting in attributes(directive.name)]

    assert sorted(known) == sorted(values(Settings()))


@pytest.mark.parametrize("name", sorted({d.name for d in DIRECTIVES} - {"appendonly"}))
def test_directive_changes_its_own_setting_and_no_other(name: str) -> None:
    settings, before = Settings(), values(Settings())

    if name == "watchdog-period":
        BY_NAME[name.encode()].change(settings, *CHANGES[name])
    else:
        BY_NAME[name.encode()].read(settings, list(CHANGES[name]))

    changed = {setting for setting, value in values(settings).items() if value != before[setting]}
    assert changed == set(attributes(name))


def test_journal_can_be_switched_off_where_it_is_off_already() -> None:
    settings = read("appendonly", b"no")

    assert values(settings) == values(Settings())


def test_journal_is_not_promised_before_it_exists() -> None:
    with pytest.raises(UnavailableError, match=r"^appendonly is not available in this version$"):
        read("appendonly", b"yes")


def test_watchdog_waits_for_two_periods_at_least() -> None:
    settings = Settings()

    BY_NAME[b"watchdog-period"].change(settings, b"50")
    assert settings.watchdog_period == 200

    BY_NAME[b"watchdog-period"].change(settings, b"0")
    assert settings.watchdog_period == 0


def test_relative_directory_starts_at_the_last_one() -> None:
    settings = read("dir", b"/srv/disque")
    BY_NAME[b"dir"].read(settings, [b"../queue"])

    assert settings.dir == "/srv/queue"


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
