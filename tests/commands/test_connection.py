"""Commands about the connection itself, among them all that Redis clients say when they connect."""

from __future__ import annotations

import pytest

from disque import __version__
from disque.commands.connection import monitor_line
from disque.commands.session import Session
from disque.commands.table import COMMANDS
from disque.model.asks import ReadWallClock, WallClock
from disque.model.settings import Settings
from tests.commands.world import ME, START_MS, Client, World

NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONG_PASSWORD = b"-ERR invalid password\r\n"
WRONG_USER = b"-WRONGPASS invalid password or user name (the only user is 'default')\r\n"
PASSWORD = b"sekret"


def locked_world(password: bytes = PASSWORD) -> World:
    settings = Settings()
    settings.requirepass = password
    return World(settings=settings)


def shape(reply: bytes) -> bytes:
    """Return the kinds of values in a reply, without the values."""
    kinds, position = b"", 0
    while position < len(reply):
        end = reply.index(b"\r\n", position)
        kinds += reply[position : position + 1]
        is_bulk = reply[position : position + 1] == b"$" and reply[position + 1] != ord("-")
        length = int(reply[position + 1 : end]) + 2 if is_bulk else 0
        position = end + 2 + length
    return kinds


def is_known(client: Client) -> bool:
    reply = client.ask(b"PING")
    assert reply in (b"+PONG\r\n", NOAUTH)
    return reply != NOAUTH


# --- AUTH -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[PASSWORD], [b"default", PASSWORD]])
def test_the_password_opens_the_server_with_or_without_the_user(words: list[bytes]) -> None:
    client = locked_world().client()
    assert not is_known(client)

    assert client.ask(b"AUTH", *words) == b"+OK\r\n"

    assert is_known(client)


@pytest.mark.parametrize(
    "guess", [b"", b"sekre", b"sekret2", b"SEKRET", b"sekret\0", b"x" * 100_000]
)
def test_a_wrong_password_takes_away_what_a_right_one_gave(guess: bytes) -> None:
    client = locked_world().client()
    client.ask(b"AUTH", PASSWORD)

    assert client.ask(b"AUTH", guess) == WRONG_PASSWORD

    assert not is_known(client)


@pytest.mark.parametrize("user", [b"bob", b"", b"Default", b"default "])
def test_there_is_no_other_user_even_with_the_right_password(user: bytes) -> None:
    client = locked_world().client()
    client.ask(b"AUTH", PASSWORD)

    assert client.ask(b"AUTH", user, PASSWORD) == WRONG_USER

    assert not is_known(client)


def test_who_is_told_no_does_not_learn_whether_the_user_or_the_password_was_wrong() -> None:
    client = locked_world().client()

    assert client.ask(b"AUTH", b"default", b"bad") == client.ask(b"AUTH", b"bob", PASSWORD)


def test_a_password_of_any_bytes_and_of_the_greatest_length_works() -> None:
    password = bytes(range(256)) * 2

    client = locked_world(password).client()

    assert client.ask(b"AUTH", password[:-1]) == WRONG_PASSWORD
    assert client.ask(b"AUTH", password) == b"+OK\r\n"


@pytest.mark.parametrize("words", [[b"x"], [b"default", b"x"]])
def test_a_password_where_none_is_set_is_a_misunderstanding_worth_telling(
    words: list[bytes],
) -> None:
    client = World().client()

    reply = client.ask(b"AUTH", *words)

    assert reply == b"-ERR Client sent AUTH, but no password is set\r\n"
    assert is_known(client)


@pytest.mark.parametrize("words", [[], [b"default", PASSWORD, b"x"]])
def test_auth_takes_one_or_two_words(words: list[bytes]) -> None:
    client = locked_world().client()

    reply = client.ask(b"AUTH", *words)

    assert reply == b"-ERR wrong number of arguments for 'auth' command\r\n"


def test_a_password_set_at_run_time_locks_out_everybody_who_never_gave_one() -> None:
    world = World()
    admin, other = world.client(), world.client()

    assert admin.ask(b"CONFIG", b"SET", b"requirepass", PASSWORD) == b"+OK\r\n"

    assert (is_known(admin), is_known(other)) == (False, False)
    assert admin.ask(b"AUTH", PASSWORD) == b"+OK\r\n"
    assert (is_known(admin), is_known(other)) == (True, False)


def test_who_gave_a_password_keeps_access_when_it_changes() -> None:
    world = locked_world()
    client, other = world.client(), world.client()
    client.ask(b"AUTH", PASSWORD)

    client.ask(b"CONFIG", b"SET", b"requirepass", b"new")

    assert is_known(client)
    assert other.ask(b"AUTH", PASSWORD) == WRONG_PASSWORD
    assert other.ask(b"AUTH", b"new") == b"+OK\r\n"


def test_without_the_password_only_auth_and_quit_do_anything() -> None:
    world = locked_world()
    client = world.client()

    refused = []
    for command in COMMANDS:
        words = [b"x"] * (max(abs(command.arity), 1) - 1)
        if client.ask(command.name, *words) == NOAUTH:
            refused.append(command.name)

    assert refused == [command.name for command in COMMANDS if command.name != b"auth"]
    assert client.ask(b"HELLO", b"3") == NOAUTH
    client.send(b"QUIT")
    assert client.take() == [b"+OK\r\n"]
    assert client.is_closed
    assert world.asked == []


# --- HELLO n ----------------------------------------------------------------------------------


def expected_hello(client: Client, protocol: int) -> list[object]:
    return [
        *[b"server", b"disque", b"version", __version__.encode(), b"proto", protocol],
        *[b"id", client.id, b"mode", b"standalone", b"role", b"master", b"modules", []],
    ]


@pytest.mark.parametrize(("version", "header"), [(2, b"*14\r\n"), (3, b"%7\r\n")])
def test_the_handshake_is_answered_in_the_protocol_it_chooses(version: int, header: bytes) -> None:
    client = World().client()

    raw = client.ask(b"HELLO", b"%d" % version)

    assert raw.startswith(header)
    assert client.value(b"HELLO", b"%d" % version) == expected_hello(client, version)


def test_one_may_go_back_to_protocol_2() -> None:
    client = World().client()

    client.pipeline([b"HELLO", b"3"], [b"SHOW", b"x" * 40], [b"GETJOB", b"NOHANG", b"FROM", b"q"])
    client.take()
    client.ask(b"HELLO", b"2")

    assert client.ask(b"GETJOB", b"NOHANG", b"FROM", b"q") == b"*-1\r\n"


@pytest.mark.parametrize(
    "words",
    [
        [b"SHOW", b"D-aaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaa-05a1"],
        [b"QSTAT", b"nosuch"],
        [b"GETJOB", b"NOHANG", b"FROM", b"q"],
        [b"CLIENT", b"GETNAME"],
    ],
)
def test_what_is_absent_is_a_null_in_protocol_3(words: list[bytes]) -> None:
    client = World().client()
    client.ask(b"HELLO", b"3")

    assert client.ask(*words) == b"_\r\n"


@pytest.mark.parametrize(
    "words",
    [
        [b"QPEEK", b"q", b"1"],
        [b"GETJOB", b"WITHCOUNTERS", b"FROM", b"q"],
        [b"QSTAT", b"q"],
        [b"QSCAN"],
        [b"TIME"],
        [b"COMMAND"],
        [b"CLUSTER", b"INFO"],
        [b"SLOWLOG", b"GET"],
        [b"INFO"],
    ],
)
def test_everything_else_keeps_its_shape_in_protocol_3(words: list[bytes]) -> None:
    old, new = World().client(), World().client()
    new.ask(b"HELLO", b"3")
    old.add()
    new.add()

    assert shape(new.ask(*words)) == shape(old.ask(*words))


@pytest.mark.parametrize("version", [b"0", b"1", b"4", b"-3", b"9223372036854775807"])
def test_other_versions_are_refused_and_the_old_one_stays(version: bytes) -> None:
    client = World().client()
    client.ask(b"HELLO", b"3")

    assert client.ask(b"HELLO", version) == b"-NOPROTO unsupported protocol version\r\n"

    assert client.session.protocol == 3


@pytest.mark.parametrize("version", [b"three", b"", b"3.0", b"AUTH"])
def test_a_version_is_a_number(version: bytes) -> None:
    reply = World().client().ask(b"HELLO", version)

    assert reply == b"-ERR Protocol version is not an integer or out of range\r\n"


@pytest.mark.parametrize(
    ("options", "quoted"),
    [
        ([b"AUTH"], b"AUTH"),
        ([b"AUTH", b"default"], b"AUTH"),
        ([b"SETNAME"], b"SETNAME"),
        ([b"nosuch", b"x"], b"nosuch"),
        ([b"SETNAME", b"a", b"x\r\ny"], b"x  y"),
    ],
)
def test_a_bad_option_of_the_handshake_is_quoted_and_nothing_is_done(
    options: list[bytes], quoted: bytes
) -> None:
    client = World().client()

    reply = client.ask(b"HELLO", b"3", *options)

    assert reply == b"-ERR Syntax error in HELLO option '" + quoted + b"'\r\n"
    assert (client.session.protocol, client.session.name) == (2, b"")


def test_the_handshake_authenticates_and_names_in_any_order() -> None:
    world = locked_world()
    first, second = world.client(), world.client()

    first.ask(b"HELLO", b"3", b"auth", b"default", PASSWORD, b"setname", b"one")
    second.ask(b"HELLO", b"2", b"SETNAME", b"two", b"AUTH", b"default", PASSWORD)

    assert (first.value(b"CLIENT", b"GETNAME"), second.value(b"CLIENT", b"GETNAME")) == (
        b"one",
        b"two",
    )


def test_a_handshake_with_a_wrong_password_does_nothing_but_take_access_away() -> None:
    client = locked_world().client()
    client.ask(b"AUTH", PASSWORD)

    reply = client.ask(b"HELLO", b"3", b"AUTH", b"default", b"bad", b"SETNAME", b"x")

    assert reply == WRONG_USER
    assert (client.session.protocol, client.session.name) == (2, b"")
    assert not is_known(client)


def test_a_handshake_with_a_bad_name_does_nothing_at_all() -> None:
    client = locked_world().client()

    reply = client.ask(b"HELLO", b"3", b"AUTH", b"default", PASSWORD, b"SETNAME", b"a b")

    assert reply.startswith(b"-ERR Client names cannot contain")
    assert client.session.protocol == 2
    assert not is_known(client)


# --- PING, ECHO, SELECT, TIME, QUIT -----------------------------------------------------------


@pytest.mark.parametrize("word", [b"", b"\r\n", b"\0\xff", b"x" * 70_000])
def test_ping_and_echo_give_back_any_bytes(word: bytes) -> None:
    client = World().client()

    assert client.value(b"PING", word) == word
    assert client.value(b"ECHO", word) == word


def test_ping_takes_one_word_at_most() -> None:
    reply = World().client().ask(b"PING", b"a", b"b")

    assert reply == b"-ERR wrong number of arguments for 'ping' command\r\n"


@pytest.mark.parametrize("index", [b"0", b"+0", b"-0", b"000"])
def test_there_is_one_database(index: bytes) -> None:
    assert World().client().ask(b"SELECT", index) == b"+OK\r\n"


@pytest.mark.parametrize("index", [b"1", b"-1", b"16"])
def test_there_is_no_other_database(index: bytes) -> None:
    assert World().client().ask(b"SELECT", index) == b"-ERR DB index is out of range\r\n"


def test_a_database_is_a_number() -> None:
    reply = World().client().ask(b"SELECT", b"main")

    assert reply == b"-ERR value is not an integer or out of range\r\n"


@pytest.mark.parametrize(
    ("now_us", "told"),
    [(1_700_000_000_000_007, [b"1700000000", b"7"]), (1_999_999, [b"1", b"999999"])],
)
def test_time_is_what_the_wall_clock_says(now_us: int, told: list[bytes]) -> None:
    world = World()
    world.results[ReadWallClock] = WallClock(now_us)

    assert world.client().value(b"TIME") == told


@pytest.mark.parametrize("words", [[b"QUIT"], [b"quit", b"x", b"y"]])
def test_after_quit_nothing_is_run(words: list[bytes]) -> None:
    world = World()
    client = world.client()

    client.pipeline([b"PING"], words, [b"ADDJOB", b"q", b"b", b"0"], [b"PING"])

    assert client.take() == [b"+PONG\r\n", b"+OK\r\n"]
    assert client.is_closed
    assert world.node.jobs.count() == 0


# --- RESET ------------------------------------------------------------------------------------


def test_after_reset_a_connection_is_as_if_new() -> None:
    world = World()
    client, other = world.client(), world.client()
    client.ask(b"HELLO", b"3", b"SETNAME", b"me")
    client.ask(b"CLIENT", b"SETINFO", b"lib-name", b"x")
    client.ask(b"MONITOR")

    client.send(b"RESET")
    line, reply = client.take()

    assert line.endswith(b'"RESET"\r\n')
    assert reply == b"+RESET\r\n"
    session = client.session
    assert (session.protocol, session.name, session.library_name) == (2, b"", b"")
    other.ask(b"PING")
    assert client.take() == []


def test_reset_gives_up_access() -> None:
    client = locked_world().client()
    client.ask(b"AUTH", PASSWORD)

    assert client.ask(b"RESET") == b"+RESET\r\n"

    assert not is_known(client)


def test_reset_ends_the_silence() -> None:
    client = World().client()

    client.pipeline([b"CLIENT", b"REPLY", b"OFF"], [b"PING"], [b"RESET"], [b"PING"])

    assert client.take() == [b"+RESET\r\n", b"+PONG\r\n"]


def test_reset_keeps_the_id_and_the_jobs() -> None:
    world = World()
    client = world.client()
    client.add()

    client.ask(b"RESET")

    assert client.ask(b"CLIENT", b"ID") == b":1\r\n"
    assert world.node.jobs.count() == 1


# --- MONITOR ----------------------------------------------------------------------------------


def test_a_monitor_sees_commands_before_their_replies_its_own_included() -> None:
    client = World().client()

    client.pipeline([b"MONITOR"], [b"PING", b"x"])

    ok, line, reply = client.take()
    assert (ok, reply) == (b"+OK\r\n", b"$1\r\nx\r\n")
    assert line == b'+1700000000.000000 [127.0.0.1:50001] "PING" "x"\r\n'


def test_every_monitor_sees_the_same_in_the_same_order() -> None:
    world = World()
    monitors = [world.client() for _ in range(3)]
    for monitor in monitors:
        monitor.ask(b"MONITOR")
    for monitor in monitors:
        monitor.take()
    worker = world.client()

    worker.pipeline([b"PING", b"1"], [b"PING", b"2"])

    seen = [monitor.take() for monitor in monitors]
    assert [line[-10:-3] for line in seen[0]] == [b'ING" "1', b'ING" "2']
    assert seen[1:] == [seen[0]] * 2


def test_a_monitor_sees_nothing_of_what_was_not_executed() -> None:
    world = locked_world()
    monitor, client = world.client(), world.client()
    monitor.ask(b"AUTH", PASSWORD)
    monitor.ask(b"MONITOR")

    client.pipeline([b"NOSUCH"], [b"QLEN"], [b"PING"], [b"QUIT"])

    assert len(client.take()) == 4
    assert monitor.take() == []


def test_a_monitor_sees_what_failed_while_it_ran() -> None:
    world = World()
    monitor, client = world.client(), world.client()
    monitor.ask(b"MONITOR")

    client.ask(b"ADDJOB", b"q", b"b", b"x")

    (line,) = monitor.take()
    assert line.endswith(b'] "ADDJOB" "q" "b" "x"\r\n')


def test_a_monitor_sees_the_beginning_of_what_is_very_long() -> None:
    world = World()
    monitor, client = world.client(), world.client()
    monitor.ask(b"MONITOR")

    client.ask(b"ECHO", b"x" * 20_000)
    client.ask(b"DELJOB", *[b"D-" + b"x" * 8 + b"-" + b"x" * 24 + b"-05a1"] * 2_000)

    echo, deljob = monitor.take()
    assert echo.endswith(b'xx... (3616 more bytes)"\r\n')
    assert deljob.endswith(b'" "... (1002 more arguments)"\r\n')


def test_who_monitors_without_a_password_sees_no_more_once_there_is_one() -> None:
    world = World()
    stranger, friend, client = world.client(), world.client(), world.client()
    stranger.ask(b"MONITOR")
    client.ask(b"CONFIG", b"SET", b"requirepass", b"first")
    client.ask(b"AUTH", b"first")
    friend.ask(b"AUTH", b"first")
    friend.ask(b"MONITOR")
    client.ask(b"CONFIG", b"SET", b"requirepass", b"second")

    client.ask(b"ADDJOB", b"q", b"secret", b"0")

    assert stranger.is_closed
    assert not any(b"secret" in line for line in stranger.take())
    assert any(b"secret" in line for line in friend.take())
    world.check()


def test_a_monitor_that_left_is_not_missed() -> None:
    world = World()
    monitor, client = world.client(), world.client()
    monitor.ask(b"MONITOR")
    seen = [world.front.is_guarded]

    monitor.hang_up()

    assert client.ask(b"PING") == b"+PONG\r\n"
    seen.append(world.front.is_guarded)
    assert seen == [True, False]
    world.check()


@pytest.mark.parametrize(
    ("address", "is_unix", "shown"),
    [
        (b"10.0.0.1:5", False, b"10.0.0.1:5"),
        (b"[::1]:5", False, b"[::1]:5"),
        (b"/run/disque.sock:0", True, b"unix:/run/disque.sock"),
        (b"/run/a\r\nb:0", True, b"unix:/run/a  b"),
    ],
)
def test_a_line_tells_where_a_command_came_from(
    address: bytes, is_unix: bool, shown: bytes
) -> None:
    session = Session(1, address, is_unix, START_MS)

    line = monitor_line(session, [b"PING"], START_MS + 42)

    assert line == b"+1700000000.042000 [" + shown + b'] "PING"\r\n'


def test_any_argument_is_one_quoted_word_in_one_line() -> None:
    session = Session(1, b"1.1.1.1:1", False, START_MS)

    line = monitor_line(session, [b"ECHO", b'a "b"\\\n\r\t\a\b\0\xff '], START_MS)

    assert line.endswith(b'] "ECHO" "a \\"b\\"\\\\\\n\\r\\t\\a\\b\\x00\\xff "\r\n')
    assert line.count(b"\r\n") == 1


# --- COMMAND ----------------------------------------------------------------------------------


def test_count_list_and_table_agree() -> None:
    client = World().client()
    names = [command.name for command in COMMANDS]

    described = client.items(b"COMMAND")

    assert [entry[0] for entry in described if isinstance(entry, list)] == names
    assert client.items(b"COMMAND", b"LIST") == names
    assert client.value(b"COMMAND", b"count") == len(names)


def test_an_entry_tells_name_arity_flags_and_that_there_are_no_keys() -> None:
    raw = World().client().ask(b"COMMAND", b"INFO", b"AddJob")

    assert raw == (
        b"*1\r\n*6\r\n$6\r\naddjob\r\n:-4\r\n*3\r\n+write\r\n+denyoom\r\n+fast\r\n:0\r\n:0\r\n:0\r\n"
    )


def test_names_nobody_knows_keep_their_place_among_the_known() -> None:
    client = World().client()

    first, second, third = client.items(b"COMMAND", b"INFO", b"nosuch", b"ping", b"QUIT")

    assert (first, third) == (None, None)
    assert isinstance(second, list)
    assert second[0] == b"ping"


def test_a_renamed_command_is_found_by_its_new_name_and_shows_the_old_one() -> None:
    settings = Settings()
    settings.rename_command = [(b"qlen", b"QueueLength"), (b"debug", b"")]
    client = World(settings=settings).client()

    old, new, gone = client.items(b"COMMAND", b"INFO", b"qlen", b"QUEUELENGTH", b"debug")

    assert (old, gone) == (None, None)
    assert isinstance(new, list)
    assert new[0] == b"qlen"
    assert client.value(b"COMMAND", b"COUNT") == len(COMMANDS) - 1


def test_docs_are_flat_in_protocol_2_and_maps_in_protocol_3() -> None:
    client = World().client()

    flat = client.ask(b"COMMAND", b"DOCS", b"ping", b"nosuch")
    client.ask(b"HELLO", b"3")
    mapped = client.ask(b"COMMAND", b"DOCS", b"ping", b"nosuch")

    assert flat.startswith(b"*2\r\n$4\r\nping\r\n*8\r\n$7\r\nsummary\r\n")
    assert mapped.startswith(b"%1\r\n$4\r\nping\r\n%4\r\n$7\r\nsummary\r\n")


def test_docs_describe_a_command_once_however_often_it_is_named() -> None:
    client = World().client()

    twice = client.ask(b"COMMAND", b"DOCS", b"getjob", b"ping", b"GETJOB")

    assert twice == client.ask(b"COMMAND", b"DOCS", b"getjob", b"ping")


def test_docs_without_names_document_everything() -> None:
    client = World().client()

    docs = client.fields(b"COMMAND", b"DOCS")

    assert list(docs) == [command.name for command in COMMANDS]


@pytest.mark.parametrize("words", [[b"NOSUCH"], [b"COUNT", b"x"], [b"LIST", b"x"], [b"GETKEYS"]])
def test_other_forms_of_command_are_refused(words: list[bytes]) -> None:
    reply = World().client().ask(b"COMMAND", *words)

    assert reply == b"-ERR Unknown subcommand or wrong number of arguments.\r\n"


def test_hello_without_words_lists_nodes_whatever_the_protocol() -> None:
    client = World().client()
    client.ask(b"HELLO", b"3")

    assert client.items(b"HELLO")[:2] == [1, ME]
