"""The command line is understood, or refused with a reason."""

import os

import pytest
from hypothesis import given, strategies as st

from disque.cli.connection import Address
from disque.cli.options import REFUSED, Options, UsageError, parse_options

WORDS = [
    *("-h", "-p", "-s", "-a", "-u", "-r", "-i", "-x", "-X", "-d", "-e", "--", "-", "", *REFUSED),
    *("--raw", "--no-raw", "--csv", "--json", "--latency", "--stat", "--scan", "--pattern"),
    *("--pipe", "--pipe-timeout", "--intrinsic-latency", "--help", "-v", "--longest"),
    *("1", "-1", "nan", "9" * 5000, "1e400", "7711", "ping", "\udcff", "disque://[::1", "B"),
]


def parse(*arguments: str) -> Options:
    return parse_options(arguments, {})


def test_without_options_the_local_node_is_asked_once() -> None:
    options = parse("ping")

    assert options.address == Address("127.0.0.1", 7711, None)
    assert (options.words, options.repeat, options.mode) == ([b"ping"], None, "command")


def test_options_end_at_the_first_word() -> None:
    assert parse("-p", "7712", "qpeek", "q", "-1").words == [b"qpeek", b"q", b"-1"]
    assert parse("--", "-strange").words == [b"-strange"]


def test_every_value_finds_its_place() -> None:
    options = parse(
        *("-h", "::1", "-p", "7", "-a", "pw", "-r", "-1", "-i", "0.5", "-d", ";", "--csv", "-e"),
        *("-X", "B", "addjob", "q", "B", "0"),
    )

    assert options.address == Address("::1", 7)
    assert options.address.label == "[::1]:7"
    assert (options.password, options.repeat, options.interval_s) == (b"pw", -1, 0.5)
    assert (options.delimiter, options.style, options.is_error_fatal) == (b";", "csv", True)
    assert options.stdin_word == b"B"
    assert parse("-s", "/run/d.sock").address.label == "/run/d.sock"


def test_h_as_the_last_argument_asks_for_help() -> None:
    assert parse("-h").mode == "help"
    assert parse("--help").mode == "help"
    assert parse("-h", "host").mode == "command"


def test_a_url_gives_host_port_and_password() -> None:
    options = parse("-u", "disque://:p%40ss@queue.example:7712/")

    assert options.address == Address("queue.example", 7712)
    assert options.password == b"p@ss"
    assert parse("-u", "disque://[::1]").address == Address("::1", 7711)


def test_the_password_may_come_from_the_environment_and_options_win() -> None:
    environment = {"DISQUECLI_AUTH": "env"}

    assert parse_options(["ping"], environment).password == b"env"
    assert parse_options(["-a", "opt", "ping"], environment).password == b"opt"
    assert parse_options(["ping"], {"DISQUECLI_AUTH": ""}).password is None


@pytest.mark.parametrize(
    ("switch", "mode"),
    [
        ("--latency", "latency"),
        ("--latency-history", "latency-history"),
        ("--stat", "stat"),
        ("--scan", "scan"),
        ("--longest", "longest"),
        ("--pipe", "pipe"),
        ("-v", "version"),
        ("--version", "version"),
    ],
)
def test_every_mode_has_its_switch(switch: str, mode: str) -> None:
    assert parse(switch).mode == mode


def test_modes_take_their_values() -> None:
    assert parse("--scan", "--pattern", "a*").pattern == b"a*"
    assert parse("--pipe", "--pipe-timeout", "2.5").pipe_timeout_s == 2.5
    intrinsic = parse("--intrinsic-latency", "3")
    assert (intrinsic.mode, intrinsic.intrinsic_s) == ("intrinsic-latency", 3.0)


@pytest.mark.parametrize("style", ["raw", "csv", "json"])
def test_the_last_style_wins(style: str) -> None:
    assert parse("ping").style == ""
    assert parse("--no-raw", f"--{style}", "ping").style == style
    assert parse(f"--{style}", "--no-raw", "ping").style == "standard"


def test_help_wins_over_what_would_be_refused() -> None:
    assert parse("-x", "--help").mode == "help"
    assert parse("--version", "ping").mode == "version"


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_any_command_line_is_understood_or_refused(arguments: list[str]) -> None:
    try:
        options = parse(*arguments)
    except UsageError:
        return
    behind = len(arguments) - len(options.words)
    assert [os.fsdecode(word) for word in options.words] == arguments[behind:]


def test_bigkeys_is_another_name_of_longest() -> None:
    assert parse("--bigkeys").mode == parse("--longest").mode == "longest"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bogus"], "Unrecognized option or bad number of args for: '--bogus'"),
        (["-p"], "Unrecognized option or bad number of args for: '-p'"),
        (["-p", "x"], "'-p' takes a whole number"),
        (["-p", "70000"], "between 1 and 65535"),
        (["-i", "-1"], "'-i' takes a number"),
        (["-i", "nan"], "'-i' takes a number"),
        (["-i", "1e300"], "'-i' takes a number"),
        (["--intrinsic-latency", "inf"], "'--intrinsic-latency' takes a number"),
        (["--pipe-timeout", "soon"], "'--pipe-timeout' takes a number"),
        (["-r", "1.5", "ping"], "'-r' takes a whole number"),
        (["-u", "http://host"], "'-u' takes disque://"),
        (["-u", "disque://host:0"], "between 1 and 65535"),
        (["-u", "disque://"], "'-u' takes disque://"),
        (["-u", "disque://host/path"], "'-u' takes disque://"),
        (["-u", "disque://host:port"], "'-u' takes a URL"),
        (["-x"], "'-x' needs a command"),
        (["-X", "B", "ping"], "'-X B' needs a command with the argument 'B'"),
        (["--pattern", "a*"], "only makes sense with '--scan'"),
        (["--stat", "ping"], "takes no command"),
        (["-n", "1"], "no numbered databases"),
        (["-c"], "never redirect"),
        (["--slave"], "use MONITOR"),
        (["--rdb", "f"], "use BGREWRITEAOF"),
        (["--eval", "f"], "pipe commands into disque"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_reason(
    arguments: list[str], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        parse(*arguments)

    assert message in str(refused.value)
