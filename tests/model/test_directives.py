"""Text becomes a setting only if it is exactly right, and comes out as it went in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, strategies as st

from disque.model.directive_table import BY_NAME, DIRECTIVES
from disque.model.directives import (
    RUN_TIME_ONLY,
    Directive,
    bytes_of,
    integer,
    memory_size,
    memory_text,
    resolved,
    text_of,
)
from disque.model.settings import Settings, SettingsError
from tests.model.helpers import problem, read, shown, written

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


# Words that mean something to some directive.
WORDS = [
    b"yes",
    b"NO",
    b"0",
    b"7",
    b"60",
    b"755",
    b"4gb",
    b"normal",
    b"always",
    b"noeviction",
    b"debug",
    b"LOCAL3",
    b"json",
    b"delivered",
    b"10.0.0.1",
    b"../spool",
    b"a name",
]
word = st.sampled_from(WORDS) | st.binary(max_size=6)
some_words = st.lists(word, min_size=1, max_size=1) | st.lists(word, max_size=5)

SETTABLE_DIRECTIVES = [directive for directive in DIRECTIVES if directive.is_settable()]


def meaning(settings: Settings) -> list[list[bytes]]:
    """Return everything that directives can say; renames, which are never written, come last."""
    renames = [b" ".join(pair) for pair in settings.rename_command]
    return [*[directive.written(settings) for directive in DIRECTIVES], renames]


def accepts(attempt: Callable[[], None]) -> bool:
    """Tell whether something is taken rather than refused."""
    try:
        attempt()
    except SettingsError:
        return False
    return True


# --- Every kind ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words", "shown_value", "written_words"),
    [
        ("hz", [b"+0020"], b"20", [b"20"]),
        ("slowlog-log-slower-than", [b"-1"], b"-1", [b"-1"]),
        ("maxmemory", [b"2048mb"], b"2147483648", [b"2gb"]),
        ("auto-aof-rewrite-min-size", [b"3kb"], b"3072", [b"3kb"]),
        ("auto-aof-rewrite-min-size", [b"1k"], b"1000", [b"1000"]),
        ("aof-load-truncated", [b"No"], b"no", [b"no"]),
        ("loglevel", [b"WARNING"], b"warning", [b"warning"]),
        ("pidfile", [b"/run/\xff x"], b"/run/\xff x", [b"/run/\xff x"]),
        ("logfile", [b""], b"", [b""]),
        ("unixsocket", [b"/tmp/s"], b"/tmp/s", [b"/tmp/s"]),
        ("unixsocket", [b""], b"", []),
        ("requirepass", [b"\x00secret\xff"], b"\x00secret\xff", [b"\x00secret\xff"]),
        ("unixsocketperm", [b"00755"], b"755", [b"755"]),
        ("bind", [b"10.0.0.1", b"::1"], b"10.0.0.1 ::1", [b"10.0.0.1", b"::1"]),
        ("tcp-keepalive", [b"60"], b"yes", [b"60"]),
        (
            "client-output-buffer-limit",
            [b"Normal", b"64mb", b"1k", b"10"],
            b"normal 67108864 1000 10",
            [b"normal", b"64mb", b"1000", b"10"],
        ),
        # The new names may be secrets.
        ("rename-command", [b"debug", b"secret"], b"", []),
    ],
)
def test_value_is_shown_to_clients_and_written_for_operators(
    name: str, words: list[bytes], shown_value: bytes, written_words: list[bytes]
) -> None:
    settings = read(name, *words)

    assert shown(name, settings) == shown_value
    assert written(name, settings) == written_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("port", [b"65536"]),
        ("port", [b"http"]),
        ("maxmemory", [b"0"]),
        ("maxmemory", [b"much"]),
        ("daemonize", [b"maybe"]),
        ("appendfsync", [b"sometimes"]),
        ("pidfile", [b"a\x00b"]),
        ("requirepass", [b"x" * 513]),
        ("unixsocketperm", [b"778"]),
        ("unixsocketperm", [b"1000"]),
        ("unixsocketperm", [b""]),
        ("bind", [b"10.0.0.1", b""]),
        ("tcp-keepalive", [b"-1"]),
        ("tcp-keepalive", [b"later"]),
    ],
)
def test_value_of_every_kind_can_be_wrong(name: str, words: list[bytes]) -> None:
    assert problem(name, *words)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("port", 0, 65_535),
        ("maxmemory", 1, 2**63 - 1),
        ("auto-aof-rewrite-min-size", 0, 2**63 - 1),
        ("timeout", 0, 2**31 - 1),
        ("cluster-node-timeout", 1, 2**63 - 1),
        ("slowlog-log-slower-than", -(2**63), 2**63 - 1),
        ("tcp-keepalive", 0, 32_767),
    ],
)
def test_number_may_be_as_small_and_as_large_as_its_bounds_say(
    name: str, least: int, most: int
) -> None:
    for value in (least, most):
        read(name, b"%d" % value)
    for value in (least - 1, most + 1):
        assert problem(name, b"%d" % value)


@given(st.sampled_from(DIRECTIVES), some_words)
def test_refused_directive_changes_nothing(directive: Directive, words: list[bytes]) -> None:
    settings = Settings()
    before = meaning(settings)

    is_taken = accepts(partial(directive.read, settings, words))

    assert is_taken or meaning(settings) == before


@given(st.sampled_from(SETTABLE_DIRECTIVES), st.sampled_from(WORDS) | st.binary(max_size=12))
def test_refused_change_at_run_time_changes_nothing(directive: Directive, value: bytes) -> None:
    settings = Settings()
    before = meaning(settings)

    is_taken = accepts(partial(directive.change, settings, value))

    assert is_taken or meaning(settings) == before


@given(st.lists(st.tuples(st.sampled_from(DIRECTIVES), some_words)))
def test_what_is_written_means_the_same_when_it_is_read(
    lines: list[tuple[Directive, list[bytes]]],
) -> None:
    settings, again = Settings(), Settings()
    for directive, words in lines:
        accepts(partial(directive.read, settings, words))

    for directive in DIRECTIVES:
        if directive.access != RUN_TIME_ONLY and directive.written(settings):
            directive.read(again, directive.written(settings))

    assert meaning(again)[:-1] == meaning(settings)[:-1]


@pytest.mark.parametrize("name", ["port", "bind", "rename-command", "daemonize"])
def test_changing_what_is_fixed_is_our_own_mistake(name: str) -> None:
    settings = Settings()
    before = meaning(settings)

    with pytest.raises(AssertionError):
        BY_NAME[name.encode()].change(settings, b"1")

    assert meaning(settings) == before


@pytest.mark.parametrize(
    ("name", "value", "shown_value"),
    [
        ("hz", b"20", b"20"),
        ("maxmemory", b"1gb", b"1073741824"),
        ("requirepass", b"two words", b"two words"),
        ("tcp-keepalive", b"no", b"no"),
        ("client-output-buffer-limit", b"normal 1 2 3", b"normal 1 2 3"),
    ],
)
def test_one_string_is_enough_to_change_a_directive_at_run_time(
    name: str, value: bytes, shown_value: bytes
) -> None:
    settings = Settings()

    BY_NAME[name.encode()].change(settings, value)

    assert shown(name, settings) == shown_value


def test_free_strings_are_quoted_in_the_file_and_nothing_else_is() -> None:
    quoted = {directive.name for directive in DIRECTIVES if directive.is_quoted}

    assert {"requirepass", "pidfile", "dir", "syslog-ident"} <= quoted
    assert quoted.isdisjoint({"port", "maxmemory", "loglevel", "bind", "rename-command"})


# --- One kind at a time -------------------------------------------------------------------------


@pytest.mark.parametrize("name", YES_NO_DIRECTIVES)
def test_switch_takes_yes_and_no_in_any_case_and_nothing_else(name: str) -> None:
    assert shown(name, read(name, b"NO")) == b"no"
    if name != "appendonly":
        assert shown(name, read(name, b"Yes")) == b"yes"
    for word in (b"", b"1", b"true", b"yes "):
        assert problem(name, word) == "argument must be 'yes' or 'no'"


@pytest.mark.parametrize("name", [directive.name for directive in DIRECTIVES])
def test_wrong_number_of_words_is_refused(name: str) -> None:
    assert problem(name) == "Bad directive or wrong number of arguments"
    if name != "bind":
        message = problem(name, b"1", b"2", b"3", b"4", b"5")
        assert message == "Bad directive or wrong number of arguments"


def test_watchdog_cannot_be_given_in_a_file() -> None:
    assert problem("watchdog-period", b"500") == "Bad directive or wrong number of arguments"


def test_negative_hz_is_good_for_the_file_only() -> None:
    settings = Settings()

    with pytest.raises(SettingsError):
        BY_NAME[b"hz"].change(settings, b"-3")
    BY_NAME[b"hz"].change(settings, b"0")

    assert settings.hz == 1


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


def test_password_may_have_512_bytes_and_a_file_all_permissions() -> None:
    assert read("requirepass", b"x" * 512).requirepass == b"x" * 512
    assert read("unixsocketperm", b"777").unixsocketperm == 0o777


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
        (
            (b"normal", b"0", b"0", b"2147483648"),
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


def test_renames_add_up() -> None:
    settings = read("rename-command", b"debug", b"")
    BY_NAME[b"rename-command"].read(settings, [b"config", b"secret"])

    assert settings.rename_command == [(b"debug", b""), (b"config", b"secret")]
    assert Settings().rename_command == []


# --- Numbers, sizes, texts and paths ------------------------------------------------------------


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
        (b"2kkb", None),
        (b"+2", None),
        (b"2 kb", None),
        (b"2mb\x00", None),
        (b"9223372036854775807", 2**63 - 1),
        (b"9223372036854775808", None),
        (b"8589934591gb", 2**63 - 2**30),
        (b"8589934592gb", None),
    ],
)
def test_units_count_in_thousands_or_in_steps_of_1024(raw: bytes, size: int | None) -> None:
    assert memory_size(raw) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, b"0"),
        (1, b"1"),
        (1_000, b"1000"),
        (1_024, b"1kb"),
        (1_536, b"1536"),
        (3 * 2**20, b"3mb"),
        (1_025 * 2**30, b"1025gb"),
    ],
)
def test_size_is_written_with_the_largest_unit_that_divides_it(size: int, text: bytes) -> None:
    assert memory_text(size) == text


@given(st.binary())
def test_texts_give_their_bytes_back(raw: bytes) -> None:
    assert bytes_of(text_of(raw)) == raw


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
