"""CLIENT: connections seen, named, silenced, paused and closed by their users."""

from __future__ import annotations

import pytest

from disque.commands.client import NAME_BYTES_MAX, client as client_command, line
from disque.model.asks import CloseClient, DescribeClients, PauseClients
from disque.model.facts import ClientFacts, ClientsFacts
from disque.model.job import NodeId
from tests.commands.world import START_MS, Client, World

SYNTAX_ERROR = b"-ERR syntax error\r\n"
WRONG_FORM = (
    b"-ERR Syntax error, try CLIENT (LIST | KILL ip:port | GETNAME | SETNAME connection-name)\r\n"
)
BAD_NAME = b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
NOT_AN_INTEGER = b"-ERR value is not an integer or out of range\r\n"


def listed(client: Client, *words: bytes) -> list[dict[str, str]]:
    """Return the lines of CLIENT LIST (or INFO) as fields."""
    text = client.value(b"CLIENT", *(words or (b"LIST",)))
    assert isinstance(text, bytes)
    assert text.endswith(b"\n")
    pairs = [[word.partition("=") for word in row.split(" ")] for row in text.decode().splitlines()]
    return [{name: value for name, _, value in words} for words in pairs]


# --- Which form -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        *[[b"NOSUCH"], [b""], [b"LIST", b"x"], [b"ID", b"x"], [b"INFO", b"x"], [b"GETNAME", b"x"]],
        *[[b"SETNAME"], [b"SETNAME", b"a", b"b"], [b"PAUSE"], [b"PAUSE", b"1", b"ALL"]],
        *[[b"REPLY"], [b"REPLY", b"ON", b"x"], [b"SETINFO", b"lib-name"], [b"NO-EVICT"]],
        [b"MAINT_NOTIFICATIONS", b"ON"],
    ],
)
def test_a_form_nobody_knows_is_refused_with_the_ones_there_are(words: list[bytes]) -> None:
    assert World().client().ask(b"CLIENT", *words) == WRONG_FORM


# --- LIST and INFO ----------------------------------------------------------------------------


def test_a_line_of_the_list_has_fourteen_fields_in_order() -> None:
    world = World()
    client = world.client(b"10.1.2.3:4567")
    client.ask(b"CLIENT", b"SETNAME", b"worker-1")
    session = client.session
    session.last_active_ms = START_MS + 1_000

    described = line(session, ClientFacts(1, 9, 11, 12, 13, 14, 15, b"rw"), START_MS + 3_999)

    assert described == (
        b"id=1 addr=10.1.2.3:4567 fd=9 name=worker-1 age=3 idle=2 flags=N qbuf=11 qbuf-free=12 "
        b"obl=13 oll=14 omem=15 events=rw cmd=client"
    )


def test_a_clock_that_went_back_makes_nobody_younger_than_new() -> None:
    session = World().client().session

    described = line(session, ClientFacts(1, 9, 0, 0, 0, 0, 0, b"r"), START_MS - 5_000)

    assert b"age=0 idle=0 " in described


def test_a_client_that_said_nothing_yet_has_no_command() -> None:
    world = World()
    world.client()
    watcher = world.client()

    assert [fields["cmd"] for fields in listed(watcher)] == ["NULL", "client"]


def test_the_last_command_is_the_last_one_that_ran_by_its_original_name() -> None:
    world = World()
    client, watcher = world.client(), world.client()

    client.ask(b"QlEn", b"q")
    client.ask(b"NOSUCH")
    client.ask(b"QLEN")

    assert listed(watcher)[0]["cmd"] == "qlen"


def test_flags_tell_who_monitors_who_waits_and_who_came_by_a_unix_socket() -> None:
    world = World()
    plain, monitor, waiting = world.client(), world.client(), world.client()
    local = world.client(b"/run/disque.sock:0", is_unix=True)
    waiting.send(b"GETJOB", b"FROM", b"q")
    local.send(b"GETJOB", b"FROM", b"q")
    monitor.ask(b"MONITOR")

    rows = listed(plain)

    assert [set(row["flags"]) for row in rows] == [{"N"}, {"O"}, {"b"}, {"b", "U"}]
    assert rows[3]["addr"] == "/run/disque.sock:0"


def test_a_client_on_its_way_out_is_marked() -> None:
    session = World().client().session
    session.is_closing = True

    row = line(session, ClientFacts(1, 2, 0, 0, 0, 0, 0, b"r"), START_MS)

    assert b" flags=c " in row


def test_a_producer_that_waits_for_copies_counts_as_blocked() -> None:
    world = World(NodeId(b"b" * 40))
    producer, watcher = world.client(), world.client()

    producer.send(b"ADDJOB", b"q", b"b", b"0", b"REPLICATE", b"2")

    assert [row["flags"] for row in listed(watcher)] == ["b", "N"]


def test_info_describes_the_client_that_asks_and_nobody_else() -> None:
    world = World()
    world.client()
    client = world.client()

    (row,) = listed(client, b"INFO")

    assert row["id"] == "2"
    (ask,) = [ask for ask in world.asked if isinstance(ask, DescribeClients)]
    assert (ask.client, ask.only) == (2, 2)


def test_a_client_whose_socket_is_gone_is_not_listed() -> None:
    world = World()
    world.client()
    watcher = world.client()
    world.results[DescribeClients] = ClientsFacts(
        {2: ClientFacts(2, 9, 0, 0, 0, 0, 0, b"r"), 99: ClientFacts(99, 9, 0, 0, 0, 0, 0, b"r")}
    )

    assert [row["id"] for row in listed(watcher)] == ["2"]


def test_what_is_pipelined_behind_the_list_comes_behind_it() -> None:
    client = World().client()

    client.pipeline([b"CLIENT", b"LIST"], [b"PING"], [b"CLIENT", b"INFO"], [b"ECHO", b"x"])

    first, second, third, fourth = client.take()
    assert (first[:1], second, third[:1], fourth) == (b"$", b"+PONG\r\n", b"$", b"$1\r\nx\r\n")


# --- ID, names, what libraries tell -----------------------------------------------------------


def test_ids_count_up_and_are_never_given_again() -> None:
    world = World()
    first, second = world.client(), world.client()
    assert (first.ask(b"CLIENT", b"ID"), second.ask(b"CLIENT", b"ID")) == (b":1\r\n", b":2\r\n")

    second.hang_up()

    assert world.client().ask(b"CLIENT", b"ID") == b":3\r\n"


@pytest.mark.parametrize("name", [b"!", b"~", b"a=b", b"worker:1"])
def test_a_name_is_given_and_an_empty_one_takes_it_away(name: bytes) -> None:
    client = World().client()

    assert client.ask(b"CLIENT", b"SETNAME", name) == b"+OK\r\n"
    assert client.value(b"CLIENT", b"GETNAME") == name
    assert client.ask(b"CLIENT", b"SETNAME", b"") == b"+OK\r\n"
    assert client.ask(b"CLIENT", b"GETNAME") == b"$-1\r\n"


@pytest.mark.parametrize(
    "name", [b" ", b"a b", b"a\n", b"\0", b"\x7f", b"\xc3\xa9t\xc3\xa9", b"\xff"]
)
def test_a_name_that_would_break_the_list_is_refused_and_the_old_one_stays(name: bytes) -> None:
    client = World().client()
    client.ask(b"CLIENT", b"SETNAME", b"old")

    assert client.ask(b"CLIENT", b"SETNAME", name) == BAD_NAME

    assert client.value(b"CLIENT", b"GETNAME") == b"old"


def test_a_name_is_no_place_to_keep_data() -> None:
    client = World().client()
    long = b"x" * NAME_BYTES_MAX

    assert client.ask(b"CLIENT", b"SETNAME", long) == b"+OK\r\n"
    refusals = [
        client.ask(b"CLIENT", b"SETNAME", long + b"x"),
        client.ask(b"HELLO", b"2", b"SETNAME", long + b"x"),
        client.ask(b"CLIENT", b"SETINFO", b"lib-name", long + b"x"),
        client.ask(b"CLIENT", b"SETINFO", b"LIB-VER", long + b"x"),
    ]

    assert refusals == [
        b"-ERR Client names cannot be longer than 512 bytes.\r\n",
        b"-ERR Client names cannot be longer than 512 bytes.\r\n",
        b"-ERR lib-name cannot be longer than 512 bytes.\r\n",
        b"-ERR lib-ver cannot be longer than 512 bytes.\r\n",
    ]
    assert client.value(b"CLIENT", b"GETNAME") == long


def test_no_name_is_a_null_in_protocol_3() -> None:
    client = World().client()
    client.session.protocol = 3

    assert client.ask(b"CLIENT", b"GETNAME") == b"_\r\n"


def test_a_library_tells_its_name_and_version_to_whoever_reads_the_list() -> None:
    client = World().client()
    before = client.ask(b"CLIENT", b"INFO").rstrip()

    assert client.ask(b"CLIENT", b"SETINFO", b"LIB-NAME", b"redis-py(x_v1)") == b"+OK\r\n"
    assert client.ask(b"CLIENT", b"SETINFO", b"lib-ver", b"8.1.0") == b"+OK\r\n"

    after = client.ask(b"CLIENT", b"INFO").rstrip()
    line = before.partition(b"\r\n")[2]
    assert after.endswith(line + b" lib-name=redis-py(x_v1) lib-ver=8.1.0")


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ([b"nosuch", b"x"], b"-ERR Unrecognized option 'nosuch'\r\n"),
        (
            [b"LIB-NAME", b"a b"],
            b"-ERR lib-name cannot contain spaces, newlines or special characters.\r\n",
        ),
        (
            [b"lib-ver", b"1\n"],
            b"-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n",
        ),
    ],
)
def test_what_a_library_may_not_tell_is_refused(words: list[bytes], reply: bytes) -> None:
    client = World().client()

    assert client.ask(b"CLIENT", b"SETINFO", *words) == reply

    assert (client.session.library_name, client.session.library_version) == (b"", b"")


@pytest.mark.parametrize("option", [b"NO-EVICT", b"no-touch"])
def test_what_redis_clients_set_and_disque_ignores_is_still_checked(option: bytes) -> None:
    client = World().client()

    assert client.ask(b"CLIENT", option, b"ON") == b"+OK\r\n"
    assert client.ask(b"CLIENT", option, b"off") == b"+OK\r\n"
    assert client.ask(b"CLIENT", option, b"maybe") == SYNTAX_ERROR


# --- KILL -------------------------------------------------------------------------------------


def test_killing_by_address_closes_the_one_client_there() -> None:
    world = World()
    killer, victim, bystander = world.client(), world.client(), world.client()

    assert killer.ask(b"CLIENT", b"KILL", victim.session.address) == b"+OK\r\n"

    assert (killer.is_closed, victim.is_closed, bystander.is_closed) == (False, True, False)
    assert killer.ask(b"CLIENT", b"KILL", victim.session.address) == b"-ERR No such client\r\n"


def test_who_kills_itself_by_address_is_answered_first_and_runs_nothing_more() -> None:
    world = World()
    client = world.client()

    client.pipeline([b"CLIENT", b"KILL", client.session.address], [b"ADDJOB", b"q", b"b", b"0"])

    assert client.take() == [b"+OK\r\n"]
    assert client.is_closed
    assert world.node.jobs.count() == 0


def test_three_words_are_always_the_old_form() -> None:
    world = World()
    killer, victim = world.client(), world.client()

    assert killer.ask(b"CLIENT", b"KILL", b"ID") == b"-ERR No such client\r\n"
    assert killer.ask(b"CLIENT", b"KILL", b"%d" % victim.id) == b"-ERR No such client\r\n"

    assert not victim.is_closed


def test_every_condition_must_hold() -> None:
    world = World()
    killer, victim, other = world.client(), world.client(), world.client()
    id, address = b"%d" % victim.id, victim.session.address

    missed = killer.ask(b"CLIENT", b"KILL", b"ID", id, b"ADDR", other.session.address)
    hit = killer.ask(b"CLIENT", b"KILL", b"TYPE", b"NORMAL", b"id", id, b"addr", address)

    assert (missed, hit) == (b":0\r\n", b":1\r\n")
    assert (victim.is_closed, other.is_closed) == (True, False)


@pytest.mark.parametrize("skip", [[], [b"SKIPME", b"yes"]])
def test_the_killer_survives_unless_it_says_otherwise(skip: list[bytes]) -> None:
    world = World()
    killer = world.client()
    others = [world.client() for _ in range(3)]
    own_id = b"%d" % killer.id

    assert killer.ask(b"CLIENT", b"KILL", b"ID", own_id, *skip) == b":0\r\n"
    assert killer.ask(b"CLIENT", b"KILL", b"TYPE", b"normal", *skip) == b":3\r\n"

    assert not killer.is_closed
    assert all(other.is_closed for other in others)


def test_the_killer_may_count_itself_among_its_victims() -> None:
    world = World()
    killer, other = world.client(), world.client()

    killer.send(b"CLIENT", b"KILL", b"SKIPME", b"NO", b"TYPE", b"normal")

    assert killer.take() == [b":2\r\n"]
    assert (killer.is_closed, other.is_closed) == (True, True)
    closed = [ask.target for ask in world.asked if isinstance(ask, CloseClient)]
    assert closed == [other.id]


@pytest.mark.parametrize("id", [b"0", b"-1", b"99", b"9223372036854775807"])
def test_an_id_nobody_has_kills_nobody(id: bytes) -> None:
    world = World()
    killer, other = world.client(), world.client()

    assert killer.ask(b"CLIENT", b"KILL", b"ID", id, b"SKIPME", b"no") == b":0\r\n"

    assert (killer.is_closed, other.is_closed) == (False, False)


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ([], SYNTAX_ERROR),
        ([b"ID", b"2", b"ADDR"], SYNTAX_ERROR),
        ([b"NOSUCH", b"2"], SYNTAX_ERROR),
        ([b"ID", b"2", b"SKIPME", b"maybe"], SYNTAX_ERROR),
        ([b"ID", b"two"], NOT_AN_INTEGER),
        ([b"ID", b""], NOT_AN_INTEGER),
        ([b"ID", b"2", b"TYPE", b"pubsub"], b"-ERR Unknown client type 'pubsub'\r\n"),
    ],
)
def test_a_mistake_among_the_conditions_kills_nobody(words: list[bytes], reply: bytes) -> None:
    world = World()
    killer, victim = world.client(), world.client()

    assert killer.ask(b"CLIENT", b"KILL", *words) == reply

    assert not victim.is_closed


def test_a_killed_client_waits_no_longer_and_its_job_goes_to_the_next() -> None:
    world = World()
    victim, heir, killer = world.client(), world.client(), world.client()
    victim.send(b"GETJOB", b"FROM", b"q")
    heir.send(b"GETJOB", b"FROM", b"q")

    assert killer.ask(b"CLIENT", b"KILL", b"ID", b"%d" % victim.id) == b":1\r\n"
    id = killer.add()

    assert victim.take() == []
    (given,) = heir.take()
    assert id in given
    world.check()


def test_a_victim_is_killed_once_however_often_it_is_meant() -> None:
    world = World()
    killer, victim = world.client(), world.client()
    id = b"%d" % victim.id

    killer.pipeline([b"CLIENT", b"KILL", b"ID", id], [b"CLIENT", b"KILL", b"ID", id])

    assert killer.take() == [b":1\r\n", b":0\r\n"]


def test_clients_of_one_unix_socket_share_an_address_but_die_one_by_one() -> None:
    world = World()
    killer = world.client()
    pair = [world.client(b"/run/disque.sock:0", is_unix=True) for _ in range(2)]

    assert killer.ask(b"CLIENT", b"KILL", b"/run/disque.sock:0") == b"+OK\r\n"

    assert [client.is_closed for client in pair] == [True, False]


# --- PAUSE ------------------------------------------------------------------------------------


def test_nobody_is_served_before_a_pause_ends_and_everybody_right_after() -> None:
    world = World()
    pauser, other = world.client(), world.client()
    assert pauser.ask(b"CLIENT", b"PAUSE", b"400") == b"+OK\r\n"

    pauser.send(b"PING", b"1")
    other.send(b"PING", b"2")
    # The clock cuts off fractions: 400 ms may be 399.1 ms, and a pause is never too short.
    world.pass_time(400)
    assert (pauser.take(), other.take()) == ([], [])
    world.pass_time(1)

    assert (pauser.take(), other.take()) == ([b"$1\r\n1\r\n"], [b"$1\r\n2\r\n"])


def test_what_was_pipelined_behind_a_pause_waits_for_its_end() -> None:
    world = World()
    client = world.client()

    client.pipeline([b"CLIENT", b"PAUSE", b"100"], [b"PING"])

    assert client.take() == [b"+OK\r\n"]
    world.pass_time(101)
    assert client.take() == [b"+PONG\r\n"]


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    world = World()
    session = world.client().session

    for duration in (b"1000", b"10"):
        words = [b"CLIENT", b"PAUSE", duration]
        assert client_command(world.front, session, words, START_MS) == b"+OK\r\n"

    assert world.front.paused_until_ms == START_MS + 1_001
    assert len(world.node.effects.asks) == 1


@pytest.mark.parametrize("duration", [b"0", b"-0"])
def test_a_pause_of_no_time_is_none(duration: bytes) -> None:
    world = World()
    client = world.client()

    assert client.ask(b"CLIENT", b"PAUSE", duration) == b"+OK\r\n"

    assert client.ask(b"PING") == b"+PONG\r\n"
    assert not [ask for ask in world.asked if isinstance(ask, PauseClients)]


@pytest.mark.parametrize(
    ("duration", "sentence"),
    [
        (b"-1", b"timeout is negative"),
        (b"1.5", b"timeout is not an integer or out of range"),
        (b"", b"timeout is not an integer or out of range"),
    ],
)
def test_a_pause_that_is_no_time_is_refused(duration: bytes, sentence: bytes) -> None:
    world = World()

    assert world.client().ask(b"CLIENT", b"PAUSE", duration) == b"-ERR " + sentence + b"\r\n"

    assert world.front.paused_until_ms == 0


def test_who_waited_for_a_job_before_the_pause_still_times_out_during_it() -> None:
    world = World()
    waiting, pauser = world.client(), world.client()
    waiting.send(b"GETJOB", b"TIMEOUT", b"50", b"FROM", b"q")
    pauser.ask(b"CLIENT", b"PAUSE", b"1000")

    world.pass_time(100)

    assert waiting.take() == [b"*-1\r\n"]


# --- REPLY ------------------------------------------------------------------------------------


def test_a_silenced_client_has_its_commands_carried_out() -> None:
    world = World()
    client = world.client()

    client.pipeline(
        [b"CLIENT", b"REPLY", b"OFF"],
        [b"ADDJOB", b"q", b"b", b"0"],
        [b"NOSUCH"],
        [b"INFO"],
        [b"CLIENT", b"REPLY", b"on"],
        [b"QLEN", b"q"],
    )

    assert client.take() == [b"+OK\r\n", b":1\r\n"]


def test_skip_has_no_reply_itself_and_swallows_the_next_one_only() -> None:
    client = World().client()

    client.pipeline([b"CLIENT", b"REPLY", b"SKIP"], [b"PING", b"1"], [b"PING", b"2"])

    assert client.take() == [b"$1\r\n2\r\n"]


@pytest.mark.parametrize("request_", [[b"NOSUCH"], [b"QLEN"], [b"INFO"], [b"TIME"]])
def test_skip_swallows_errors_and_late_answers_too(request_: list[bytes]) -> None:
    client = World().client()

    client.pipeline([b"CLIENT", b"REPLY", b"SKIP"], request_, [b"PING"])

    assert client.take() == [b"+PONG\r\n"]


def test_skip_swallows_the_job_a_client_waited_for() -> None:
    world = World()
    client, producer = world.client(), world.client()
    client.send(b"CLIENT", b"REPLY", b"SKIP")
    client.pipeline([b"GETJOB", b"FROM", b"q"], [b"PING"])

    producer.add()

    assert client.take() == [b"+PONG\r\n"]


def test_two_skips_in_a_row_skip_one_reply() -> None:
    client = World().client()
    skip = [b"CLIENT", b"REPLY", b"SKIP"]

    client.pipeline(skip, skip, [b"PING", b"1"], [b"PING", b"2"])

    assert client.take() == [b"$1\r\n2\r\n"]


def test_skip_does_not_end_the_silence() -> None:
    client = World().client()

    client.pipeline(
        [b"CLIENT", b"REPLY", b"OFF"],
        [b"CLIENT", b"REPLY", b"SKIP"],
        [b"PING", b"1"],
        [b"PING", b"2"],
    )

    assert client.take() == []


def test_a_mode_nobody_knows_changes_nothing() -> None:
    client = World().client()

    assert client.ask(b"CLIENT", b"REPLY", b"loud") == SYNTAX_ERROR

    assert client.ask(b"PING") == b"+PONG\r\n"


def test_quit_ends_a_silenced_connection() -> None:
    client = World().client()

    client.pipeline([b"CLIENT", b"REPLY", b"OFF"], [b"QUIT"])

    assert client.take() == []
    assert client.is_closed
