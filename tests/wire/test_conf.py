"""The text of disque.conf: reading it, adding the command line, writing it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from disque.model.directive_table import BY_NAME, DIRECTIVES
from disque.model.directives import RUN_TIME_ONLY, bytes_of
from disque.model.settings import Settings
from disque.wire.conf import (
    REWRITTEN,
    ConfigError,
    ConfigReader,
    LineError,
    UnreadableFileError,
    UnusableDirectoryError,
    UsageError,
    arguments_to_lines,
    load,
    parse,
    rewrite,
    split_command_line,
    with_arguments,
)
from disque.wire.words import quote

EXAMPLE = Path(__file__).parents[2] / "conf" / "disque.conf"
COMMANDS = [b"config", b"debug", b"ping"]


class World:
    """A few files, and a memory of where we went."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = files or {}
        self.visited: list[str] = []

    def read_file(self, path: str) -> bytes:
        """Answer a file that was put here."""
        if path not in self.files:
            raise UnreadableFileError(path)
        return self.files[path]

    def change_directory(self, path: str) -> None:
        """Remember the directory, if it is not the missing one."""
        if path == "/missing":
            raise UnusableDirectoryError(path, "No such file or directory")
        self.visited.append(path)


def reader_in(world: World) -> ConfigReader:
    return ConfigReader(Settings(), world.read_file, world.change_directory, COMMANDS)


def read(text: bytes, world: World | None = None) -> Settings:
    reader = reader_in(world or World())
    reader.read(text)
    return reader.settings


def report(text: bytes, world: World | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text, world)
    return caught.value.report


def message(text: bytes, world: World | None = None) -> str:
    with pytest.raises(LineError) as caught:
        read(text, world)
    return caught.value.message


def values(settings: Settings) -> dict[str, list[bytes]]:
    """Everything a file can say, for comparison."""
    found = {directive.name: directive.written(settings) for directive in DIRECTIVES}
    found["rename-command"] = [name for pair in settings.rename_command for name in pair]
    return found


def test_last_line_of_a_name_wins_whatever_its_case() -> None:
    settings = read(b"port 1\nPORT 2\n\n  \t Port\t3  \r\n")

    assert settings.port == 3


def test_hash_is_a_comment_at_the_start_of_a_line_only() -> None:
    assert read(b"# port 1\n   # port 2\n").port == 7711
    assert message(b"port 1 # one") == "Bad directive or wrong number of arguments"


def test_quoted_words_keep_their_bytes() -> None:
    settings = read(b"requirepass \"a b\\xff\\n\"\nlogfile 'x y'")

    assert settings.requirepass == b"a b\xff\n"
    assert settings.logfile == "x y"


def test_empty_password_in_a_file_means_none() -> None:
    assert read(b'requirepass "x"\nrequirepass ""').requirepass == b""


def test_bad_line_is_reported_with_its_number_and_its_text() -> None:
    assert report(b"# one\n\n  port abc\t\r\n") == (
        "\n*** FATAL CONFIG FILE ERROR ***\n"
        "Reading the configuration file, at line 3\n"
        ">>> 'port abc'\n"
        "Invalid port"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"nosuch 1", "Bad directive or wrong number of arguments"),
        (b'""', "Bad directive or wrong number of arguments"),
        (b"port", "Bad directive or wrong number of arguments"),
        (b"include", "Bad directive or wrong number of arguments"),
        (b"watchdog-period 1", "Bad directive or wrong number of arguments"),
        (b'logfile "x', "Unbalanced quotes in configuration line"),
        (b'"logfile"x y', "Unbalanced quotes in configuration line"),
        (b"appendonly yes", "appendonly is not available in this version"),
        (b"maxmemory 0", "You need to specify a memory limit greater than zero"),
        (b"rename-command nosuch x", "No such command in rename-command"),
        (b"rename-command ping config", "Target command name already exists"),
    ],
)
def test_bad_line_has_its_sentence(line: bytes, expected: str) -> None:
    assert message(line) == expected


def test_commands_are_renamed_one_after_the_other() -> None:
    settings = read(
        b'rename-command PING p\nrename-command p q\nrename-command debug ""\n'
        b"rename-command config debug\n"
    )

    assert settings.rename_command == [
        (b"PING", b"p"),
        (b"p", b"q"),
        (b"debug", b""),
        (b"config", b"debug"),
    ]
    assert message(b"rename-command ping p\nrename-command ping q") == (
        "No such command in rename-command"
    )


def test_command_can_be_renamed_to_itself() -> None:
    assert read(b"rename-command ping PING").rename_command == [(b"ping", b"PING")]


def test_directory_is_changed_as_it_is_read() -> None:
    world = World({"more.conf": b"dir ../b\n"})

    settings = read(b"dir /srv/a\ninclude more.conf\ndir c", world)

    assert world.visited == ["/srv/a", "../b", "c"]
    assert settings.dir == "/srv/b/c"


def test_missing_directory_ends_the_start() -> None:
    assert report(b"dir /missing") == "Can't chdir to '/missing': No such file or directory"


def test_included_file_counts_where_it_stands() -> None:
    world = World({"more.conf": b"port 2\ntimeout 2\n"})

    settings = read(b"port 1\ninclude more.conf\ntimeout 3", world)

    assert settings.port == 2
    assert settings.timeout == 3


def test_problem_in_an_included_file_names_the_file() -> None:
    world = World({"more.conf": b"\nport x\n"})

    assert report(b"include more.conf", world).endswith(
        "at line 2\n>>> 'port x'\nInvalid port\nIn the included file 'more.conf'"
    )


def test_missing_file_ends_the_start() -> None:
    assert report(b"include gone") == "Fatal error, can't open config file 'gone'"


def test_file_that_includes_itself_is_refused() -> None:
    world = World({"/a": b"include /b", "/b": b"port 2\ninclude ./../a"})
    world.files["./../a"] = world.files["/a"]
    reader = reader_in(world)
    reader.settings.dir = "/etc"

    with pytest.raises(LineError) as caught:
        reader.read(b"include /a", "/etc/disque.conf")

    assert caught.value.message == "'./../a' includes itself"
    assert caught.value.line.number == 2


def test_main_file_is_part_of_a_cycle() -> None:
    reader = reader_in(World({"disque.conf": b""}))

    with pytest.raises(LineError, match=r"'disque\.conf' includes itself"):
        reader.read(b"include disque.conf", "disque.conf")


def test_file_may_be_included_twice_in_a_row() -> None:
    world = World({"more.conf": b"port 2"})

    assert read(b"include more.conf\nport 1\ninclude more.conf", world).port == 2


def test_includes_nest_sixteen_deep_and_not_deeper() -> None:
    files = {f"{depth}": b"include %d" % (depth + 1) for depth in range(1, 17)}

    assert read(b"include 1", World(files | {"16": b"port 5"})).port == 5
    assert message(b"include 1", World(files | {"17": b"port 5"})) == (
        "Files include each other more than 16 deep"
    )


def test_world_can_complain_about_the_line_it_could_not_follow() -> None:
    reader = reader_in(World({"more.conf": b"pidfile /p"}))
    reader.read(b"\nlogfile /x/y\ninclude more.conf\n")

    assert ">>> 'logfile /x/y'\nno such directory" in (
        reader.problem("logfile", "no such directory").report
    )
    assert reader.problem("pidfile", "bad").report.endswith("In the included file 'more.conf'")
    assert reader.problem("port", "taken").report == "taken"


@pytest.mark.parametrize(
    ("arguments", "config_file", "rest"),
    [
        ([], None, []),
        (["disque.conf"], "disque.conf", []),
        (["-"], "-", []),
        (["-x"], "-x", []),
        (["disque.conf", "--port", "1"], "disque.conf", ["--port", "1"]),
        (["--port", "1", "2"], None, ["--port", "1", "2"]),
        (["--config", "f"], "f", []),
        (["--config", "-", "--port", "1"], "-", ["--port", "1"]),
        (["--port", "1", "--config", "f", "--hz", "2"], "f", ["--port", "1", "--hz", "2"]),
    ],
)
def test_configuration_file_is_found_on_the_command_line(
    arguments: list[str], config_file: str | None, rest: list[str]
) -> None:
    assert split_command_line(arguments) == (config_file, rest)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--config"], "--config needs the name of a file"),
        (["--config", "--port", "1"], "--config needs the name of a file"),
        (["--config", "a", "b"], "--config takes one file only"),
        (["a", "--config", "b"], "The configuration file is given twice"),
        (["--config", "a", "--config", "b"], "The configuration file is given twice"),
    ],
)
def test_contradictory_command_line_is_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        split_command_line(arguments)

    assert caught.value.report == sentence


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ([], b""),
        (["--port", "1"], b'port "1"'),
        (["--bind", "a", "b", "--hz", "-1"], b'bind "a" "b"\nhz "-1"'),
        (["--requirepass", 'a"\n'], b'requirepass "a\\"\\n"'),
        (["--requirepass", ""], b'requirepass ""'),
        (["stray", "word"], b'"stray" "word"'),
        (["--"], b'""'),
        (["--logfile", "\udcff"], b'logfile "\\xff"'),
    ],
)
def test_arguments_become_lines(arguments: list[str], lines: bytes) -> None:
    assert arguments_to_lines(arguments) == lines


def test_command_line_overrides_the_file() -> None:
    world = World({"disque.conf": b"port 1\ntimeout 1\n"})
    settings = Settings()

    load(
        settings,
        "disque.conf",
        ["--port", "2"],
        world.read_file,
        world.change_directory,
        COMMANDS,
    )

    assert settings.port == 2
    assert settings.timeout == 1


@pytest.mark.parametrize(
    ("text", "number"), [(b"", 2), (b"port 1", 2), (b"port 1\n", 3), (b"port 1\nhz 1\n", 4)]
)
def test_lines_of_the_command_line_are_numbered_after_the_file(text: bytes, number: int) -> None:
    expected = f"at line {number}\n>>> 'port \"x\"'\nInvalid port"

    assert expected in report(with_arguments(text, ["--port", "x"]))


def test_file_is_read_as_it_is_without_arguments() -> None:
    assert with_arguments(b"port 1\n", []) == b"port 1\n"


def test_missing_main_file_ends_the_start() -> None:
    world = World()

    with pytest.raises(UnreadableFileError):
        load(Settings(), "gone", [], world.read_file, world.change_directory, COMMANDS)


def test_parse_numbers_every_line() -> None:
    lines = parse(b"a b\n# c\n\n'd")

    assert [(line.number, line.text, line.words) for line in lines] == [
        (1, b"a b", [b"a", b"b"]),
        (2, b"# c", []),
        (3, b"", []),
        (4, b"'d", None),
    ]


def test_rewrite_changes_values_and_keeps_the_rest() -> None:
    settings = Settings()
    settings.dir = "/srv"
    settings.port = 7712
    settings.maxmemory = 2 * 1024**3
    settings.requirepass = b'se"cret'
    settings.bind = ["127.0.0.1", "::1"]
    old = (
        b"  # ports \n\n\n\nPORT 7711\n\ttimeout 5\nport 1\n'broken\n"
        b"databases 3\ninclude more.conf\nrename-command debug x\nunixsocket /gone\n"
    )

    assert rewrite(old, settings) == (
        b"# ports\n\nport 7712\ntimeout 0\n\n# ??? 'broken\n"
        b"databases 3\ninclude more.conf\nrename-command debug x\n\n"
        b"# Generated by CONFIG REWRITE\n"
        b'bind 127.0.0.1 ::1\ndir "/srv"\nrequirepass "se\\"cret"\nmaxmemory 2gb\n'
    )


def test_rewrite_of_nothing_writes_what_is_not_default() -> None:
    settings = Settings()
    settings.dir = "/srv"
    settings.tcp_keepalive = 60
    settings.unixsocketperm = 0o750
    settings.auto_aof_rewrite_min_size = 1000
    settings.output_limit_hard = 64 * 1024**2
    settings.retry_from = "delivered"
    settings.log_format = "json"

    assert rewrite(b"", settings) == (
        b"# Generated by CONFIG REWRITE\n"
        b"unixsocketperm 750\n"
        b"tcp-keepalive 60\n"
        b'dir "/srv"\n'
        b"auto-aof-rewrite-min-size 1000\n"
        b"client-output-buffer-limit normal 64mb 0 0\n"
        b"retry-from delivered\n"
        b"log-format json\n"
    )


def test_rewrite_appends_below_its_own_comment() -> None:
    settings = Settings()
    settings.dir = "/srv"
    first = rewrite(b"# mine\n", settings)
    settings.timeout = 5

    assert rewrite(first, settings) == (
        b'# mine\n# Generated by CONFIG REWRITE\ndir "/srv"\ntimeout 5\n'
    )


def test_rewrite_blanks_what_is_unset() -> None:
    settings = Settings()
    settings.dir = "/srv"
    old = b'dir "/srv"\nrequirepass a\nrequirepass b\nbind ::1\nunixsocket x\n# end\n'

    assert rewrite(old, settings) == b'dir "/srv"\n\n# end\n'


def test_rewrite_covers_all_a_file_can_say() -> None:
    left_alone = {"databases", "rename-command"}
    expected = {
        directive.name
        for directive in DIRECTIVES
        if directive.access != RUN_TIME_ONLY and directive.name not in left_alone
    }

    assert {directive.name for directive in REWRITTEN} == expected


def test_example_file_is_the_defaults() -> None:
    assert values(read(EXAMPLE.read_bytes())) == values(Settings())


def test_example_file_mentions_every_directive() -> None:
    lines = [line.removeprefix("# ").split(" ") for line in EXAMPLE.read_text().splitlines()]
    mentioned = {words[0] for words in lines if len(words) > 1}
    expected = {directive.name for directive in DIRECTIVES if directive.access != RUN_TIME_ONLY}

    assert expected | {"include"} <= mentioned
    assert "watchdog-period" in EXAMPLE.read_text()


def test_example_file_gives_every_default_a_line() -> None:
    given_names = {line.name() for line in parse(EXAMPLE.read_bytes())}
    unset = {b"requirepass", b"bind", b"unixsocket", b"rename-command", b"watchdog-period"}

    assert given_names - {b""} == set(BY_NAME) - unset


def test_example_file_marks_what_changes_at_run_time() -> None:
    for paragraph in EXAMPLE.read_text().split("\n\n"):
        names = [line.name() for line in parse(paragraph.encode())]
        for directive in [BY_NAME[name] for name in names if name]:
            assert ("[run time]" in paragraph) == directive.is_settable() or directive.name in (
                # These share a paragraph with others, or wait for a later version.
                "databases",
                "appendonly",
            )


texts = st.binary(min_size=1, max_size=12).map(lambda raw: raw.replace(b"\0", b"x"))
sizes = st.integers(1, 2**50).map(lambda size: b"%d" % size)
counts = st.integers(1, 32_767).map(lambda count: b"%d" % count)
switches = st.sampled_from([b"yes", b"no"])
lines_of_a_file = st.one_of(
    st.tuples(st.sampled_from([b"port", b"timeout", b"maxclients", b"hz"]), counts),
    st.tuples(st.sampled_from([b"slowlog-log-slower-than", b"tcp-keepalive"]), counts),
    st.tuples(st.just(b"maxmemory"), sizes),
    st.tuples(st.just(b"client-output-buffer-limit"), st.just(b"normal"), sizes, sizes, counts),
    st.tuples(st.sampled_from([b"daemonize", b"activerehashing", b"syslog-enabled"]), switches),
    st.tuples(st.just(b"loglevel"), st.sampled_from([b"debug", b"NOTICE"])),
    st.tuples(st.just(b"retry-from"), st.sampled_from([b"queued", b"delivered"])),
    st.tuples(st.sampled_from([b"requirepass", b"unixsocket", b"logfile"]), texts),
    st.tuples(st.sampled_from([b"pidfile", b"syslog-ident", b"dir"]), texts),
    st.tuples(st.just(b"bind"), texts, texts),
    st.tuples(st.just(b"unixsocketperm"), st.sampled_from([b"700", b"0755"])),
).map(lambda words: words[0] + b" " + b" ".join([quote(word) for word in words[1:]]))
comments = st.sampled_from([b"", b"# about ports", b"  # indented", b"\t"])
files = st.lists(lines_of_a_file | comments, max_size=12).map(b"\n".join)


@given(files, files)
def test_rewritten_file_means_the_running_configuration(old: bytes, changes: bytes) -> None:
    settings = read(old + b"\ndir /srv\n" + changes)
    settings.dir = "/" + settings.dir.lstrip("/")

    new = rewrite(old, settings)

    assert values(read(new)) == values(settings)
    assert rewrite(new, settings) == new


@given(files, files)
def test_rewrite_keeps_comments(old: bytes, changes: bytes) -> None:
    comments_before = [line.strip() for line in old.split(b"\n") if line.strip()[:1] == b"#"]

    new = rewrite(old, read(changes))

    comments_after = [line for line in new.split(b"\n") if line[:1] == b"#"]
    assert comments_after[: len(comments_before)] == comments_before


@given(st.binary(max_size=200))
def test_any_bytes_are_applied_or_refused(text: bytes) -> None:
    try:
        problem = values(read(text)) and b"none"
    except ConfigError as error:
        problem = bytes_of(error.report)

    assert problem


@given(st.binary(max_size=200))
def test_any_bytes_can_be_rewritten_once_and_for_all(text: bytes) -> None:
    new = rewrite(text, Settings())

    assert rewrite(new, Settings()) == new


def test_a_bad_line_is_shown_as_far_as_people_read() -> None:
    with pytest.raises(ConfigError) as caught:
        read(b"port " + b"9" * 1_000_000)

    assert len(caught.value.report) < 2_000
    assert caught.value.report.endswith("Invalid port")
