"""CLUSTER, and HELLO's list of nodes: the cluster as one node sees it."""

from __future__ import annotations

import pytest

from disque.model.asks import Failed, SaveNodes
from disque.model.job import NodeId
from disque.model.peer import FAIL, HANDSHAKE, LEAVING, SUSPECTED
from tests.commands.world import ME, PORT, World

BEE = NodeId(b"b" * 40)
CAT = NodeId(b"c" * 40)
WRONG_FORM = b"-ERR Wrong CLUSTER subcommand or number of arguments\r\n"
LEAVING_ERROR = b"-LEAVING This node is leaving the cluster, please connect to a different one\r\n"
REMOVED = b"-NOREPL job removed (expired?) before the requested replication level was achieved\r\n"


def saved(world: World) -> list[tuple[int, bool]]:
    """Return for whom nodes.conf was to be saved, and whether the disk was waited for."""
    return [(ask.client, ask.sync) for ask in world.asked if isinstance(ask, SaveNodes)]


# --- Which form -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        *[[b"NOSUCH"], [b""], [b"NODES", b"x"], [b"MYID", b"x"], [b"INFO", b"x"], [b"FORGET"]],
        *[[b"FORGET", ME, ME], [b"MEET", b"127.0.0.1"], [b"MEET", b"::1", b"1", b"2", b"3"]],
        *[[b"SAVECONFIG", b"x"], [b"LEAVING", b"yes", b"no"], [b"RESET", b"SOFT", b"HARD"]],
    ],
)
def test_a_form_nobody_knows_is_refused_and_changes_nothing(words: list[bytes]) -> None:
    world = World(BEE)

    assert world.client().ask(b"CLUSTER", *words) == WRONG_FORM

    assert list(world.node.membership.nodes) == [ME, BEE]
    assert not world.node.membership.is_leaving
    assert world.asked == []


def test_subcommands_and_their_words_are_read_in_any_case() -> None:
    client = World().client()

    assert client.value(b"cluster", b"MyId") == ME
    assert client.ask(b"CLUSTER", b"leaving", b"YeS") == b"+OK\r\n"
    assert client.ask(b"CLUSTER", b"Leaving") == b"+yes\r\n"
    assert client.ask(b"CLUSTER", b"reset", b"Soft") == b"+OK\r\n"


# --- NODES, INFO, HELLO -----------------------------------------------------------------------


def test_each_node_is_a_line_of_six_columns_that_ends_with_a_line_feed() -> None:
    world = World(BEE)
    bee = world.node.membership.nodes[BEE]
    bee.flags = SUSPECTED | LEAVING
    bee.ping_sent_ms, bee.pong_received_ms = 5, 7

    text = world.client().value(b"CLUSTER", b"NODES")

    assert isinstance(text, bytes)
    assert text.split(b"\n") == [
        ME + b" :7711 myself 0 0 connected",
        BEE + b" 10.0.0.1:7711 fail?,leaving 5 7 disconnected",
        b"",
    ]


def test_a_node_that_shakes_hands_is_known_but_not_a_member() -> None:
    world = World(BEE, CAT)
    world.node.membership.nodes[CAT].flags = HANDSHAKE
    client = world.client()

    facts = client.lines(b"CLUSTER", b"INFO")

    assert facts[b"cluster_known_nodes"] == b"3"
    assert facts[b"cluster_size"] == b"2"
    assert facts[b"cluster_reachable_nodes"] == b"1"


@pytest.mark.parametrize("flags", [SUSPECTED, FAIL, LEAVING, HANDSHAKE])
def test_a_node_in_trouble_is_not_reachable(flags: int) -> None:
    world = World(BEE)
    world.node.membership.nodes[BEE].flags = flags

    facts = world.client().lines(b"CLUSTER", b"INFO")

    assert facts[b"cluster_reachable_nodes"] == b"0"


def test_the_facts_of_a_cluster_are_told_in_their_order() -> None:
    assert list(World().client().lines(b"CLUSTER", b"INFO")) == [
        b"cluster_state",
        b"cluster_known_nodes",
        b"cluster_reachable_nodes",
        b"cluster_size",
        b"cluster_stats_messages_sent",
        b"cluster_stats_messages_received",
    ]


@pytest.mark.parametrize(
    ("flags", "is_connected", "priority"),
    [
        (0, True, b"1"),
        (0, False, b"5"),
        (SUSPECTED, True, b"10"),
        (SUSPECTED, False, b"10"),
        (FAIL, False, b"100"),
        (LEAVING, True, b"100"),
        (SUSPECTED | LEAVING, False, b"100"),
    ],
)
def test_hello_rates_a_node_by_its_worst_trouble(
    flags: int, is_connected: bool, priority: bytes
) -> None:
    world = World(BEE)
    bee = world.node.membership.nodes[BEE]
    bee.flags, bee.is_connected = flags, is_connected

    assert world.client().items(b"HELLO") == [
        1,
        ME,
        [ME, b"", b"7711", b"1"],
        [BEE, b"10.0.0.1", b"7711", priority],
    ]


def test_hello_leaves_out_who_still_shakes_hands() -> None:
    world = World(BEE)
    world.node.membership.nodes[BEE].flags = HANDSHAKE

    assert world.client().items(b"HELLO") == [1, ME, [ME, b"", b"%d" % PORT, b"1"]]


def test_hello_is_the_same_list_in_protocol_3() -> None:
    client = World(BEE).client()
    before = client.ask(b"HELLO")

    client.session.protocol = 3

    assert client.ask(b"HELLO") == before


# --- SAVECONFIG -------------------------------------------------------------------------------


def test_saving_waits_for_the_disk() -> None:
    world = World()

    assert world.client().ask(b"CLUSTER", b"SAVECONFIG") == b"+OK\r\n"

    assert saved(world) == [(1, True)]


def test_a_table_that_could_not_be_saved_is_told_with_the_reason() -> None:
    world = World()
    world.results[SaveNodes] = Failed("No space left on device")

    reply = world.client().ask(b"CLUSTER", b"SAVECONFIG")

    assert reply == b"-ERR error saving the cluster node config: No space left on device\r\n"


# --- LEAVING ----------------------------------------------------------------------------------


def test_whoever_waits_for_a_job_is_told_that_the_node_leaves() -> None:
    world = World()
    waiting, admin = world.client(), world.client()
    waiting.pipeline([b"GETJOB", b"FROM", b"q"], [b"PING"])

    assert admin.ask(b"CLUSTER", b"LEAVING", b"yes") == b"+OK\r\n"

    assert waiting.take() == [LEAVING_ERROR, b"+PONG\r\n"]
    assert saved(world) == [(0, False)]
    world.check()


def test_a_producer_that_waits_for_copies_is_not_sent_away() -> None:
    world = World(BEE)
    producer, admin = world.client(), world.client()
    producer.send(b"ADDJOB", b"q", b"b", b"0", b"REPLICATE", b"2")

    admin.ask(b"CLUSTER", b"LEAVING", b"yes")

    assert (producer.take(), producer.is_blocked) == ([], True)


def test_leaving_is_said_in_plain_words_or_not_at_all() -> None:
    client = World().client()

    reply = client.ask(b"CLUSTER", b"LEAVING", b"maybe")

    assert reply == b"-ERR Wrong argument for CLUSTER LEAVING. Use 'yes' or 'no'\r\n"
    assert client.ask(b"CLUSTER", b"LEAVING") == b"+no\r\n"


def test_a_node_that_stays_after_all_serves_again() -> None:
    world = World()
    client = world.client()
    client.ask(b"CLUSTER", b"LEAVING", b"yes")
    assert client.ask(b"GETJOB", b"FROM", b"q") == LEAVING_ERROR

    client.ask(b"CLUSTER", b"LEAVING", b"no")

    client.send(b"GETJOB", b"FROM", b"q")
    assert client.is_blocked


def test_a_leaving_node_makes_nothing_of_acknowledgements_of_unknown_jobs() -> None:
    world = World(BEE)
    client = world.client()
    client.ask(b"CLUSTER", b"LEAVING", b"yes")

    assert client.ask(b"ACKJOB", b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a1") == b":0\r\n"

    assert world.node.jobs.count() == 0


# --- RESET ------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], [b"SOFT"], [b"HARD"]])
def test_a_reset_forgets_peers_jobs_and_queues_and_answers_who_waits(words: list[bytes]) -> None:
    world = World(BEE)
    consumer, producer, admin = world.client(), world.client(), world.client()
    admin.add(b"other", b"b", b"REPLICATE", b"1")
    consumer.send(b"GETJOB", b"FROM", b"q")
    producer.send(b"ADDJOB", b"q", b"b", b"0", b"REPLICATE", b"2")

    assert admin.ask(b"CLUSTER", b"RESET", *words) == b"+OK\r\n"

    assert (consumer.take(), producer.take()) == ([b"*-1\r\n"], [REMOVED])
    assert (world.node.jobs.count(), world.node.queues.count()) == (0, 0)
    assert len(world.node.membership.nodes) == 1
    assert saved(world) == [(0, True)]
    world.check()


def test_only_a_hard_reset_takes_a_new_identity() -> None:
    world = World()
    client = world.client()

    client.ask(b"CLUSTER", b"RESET")
    soft = client.value(b"CLUSTER", b"MYID")
    client.ask(b"CLUSTER", b"RESET", b"HARD")
    hard = client.value(b"CLUSTER", b"MYID")

    assert soft == ME
    assert isinstance(hard, bytes)
    assert hard != ME
    assert (len(hard), set(hard) <= set(b"0123456789abcdef")) == (40, True)


def test_after_a_hard_reset_jobs_nodes_and_hello_carry_the_new_identity() -> None:
    world = World()
    client = world.client()
    client.ask(b"CLUSTER", b"RESET", b"HARD")
    me = client.value(b"CLUSTER", b"MYID")
    assert isinstance(me, bytes)

    id = client.add()

    assert id.startswith(b"D-" + me[:8] + b"-")
    assert client.fields(b"SHOW", id)[b"nodes-delivered"] == [me]
    assert client.items(b"HELLO")[1:] == [me, [me, b"", b"7711", b"1"]]
    assert client.ask(b"CLUSTER", b"FORGET", ME) == b"-ERR Unknown node " + ME + b"\r\n"
    world.check()


def test_a_reset_does_not_end_the_leaving() -> None:
    client = World().client()
    client.ask(b"CLUSTER", b"LEAVING", b"yes")

    client.ask(b"CLUSTER", b"RESET", b"HARD")

    assert client.ask(b"CLUSTER", b"LEAVING") == b"+yes\r\n"


def test_a_reset_that_is_neither_soft_nor_hard_keeps_everything() -> None:
    world = World(BEE)
    client = world.client()
    client.add(b"q", b"b", b"REPLICATE", b"1")

    assert client.ask(b"CLUSTER", b"RESET", b"medium") == b"-ERR syntax error\r\n"

    assert (world.node.jobs.count(), len(world.node.membership.nodes)) == (1, 2)


# --- MEET and FORGET --------------------------------------------------------------------------


@pytest.mark.parametrize("port", [b"abc", b"", b"1.5", b"99999999999999999999"])
def test_a_port_that_is_no_number_is_told_before_a_bad_address(port: bytes) -> None:
    reply = World().client().ask(b"CLUSTER", b"MEET", b"nohost", port)

    assert reply == b"-ERR Invalid TCP port specified: " + port + b"\r\n"


@pytest.mark.parametrize(
    ("ip", "port"),
    [
        (b"127.0.0.1", b"0"),
        (b"127.0.0.1", b"-1"),
        (b"127.0.0.1", b"55536"),
        (b"localhost", b"7711"),
        (b"", b"7711"),
        (b"1.2.3", b"7711"),
        (b"1.2.3.4.5", b"7711"),
        (b"fe80::1%eth0", b"7711"),
        (b"\xff\xfe", b"7711"),
    ],
)
def test_an_address_nobody_can_have_is_refused(ip: bytes, port: bytes) -> None:
    reply = World().client().ask(b"CLUSTER", b"MEET", ip, port)

    assert reply == b"-ERR Invalid node address specified: " + ip + b":" + port + b"\r\n"


@pytest.mark.parametrize("bus_port", [b"0", b"65536", b"x"])
def test_a_bus_port_nobody_can_have_is_refused(bus_port: bytes) -> None:
    reply = World().client().ask(b"CLUSTER", b"MEET", b"::1", b"7711", bus_port)

    assert reply == b"-ERR Invalid TCP port specified: " + bus_port + b"\r\n"


@pytest.mark.parametrize("id", [b"", b"b" * 39, b"b" * 41])
def test_what_is_no_node_id_cannot_be_forgotten(id: bytes) -> None:
    assert World().client().ask(b"CLUSTER", b"FORGET", id) == b"-ERR Invalid node identifier\r\n"


def test_an_unknown_node_is_named_in_one_line() -> None:
    id = b"\r\n" + b"x" * 38

    reply = World().client().ask(b"CLUSTER", b"FORGET", id)

    assert reply == b"-ERR Unknown node   " + b"x" * 38 + b"\r\n"


def test_a_node_does_not_forget_itself() -> None:
    reply = World().client().ask(b"CLUSTER", b"FORGET", ME)

    assert reply == b"-ERR I tried hard but I can't forget myself...\r\n"


@pytest.mark.parametrize(
    "words", [[b"127.0.0.1", b"7712"], [b"::1", b"1"], [b"10.0.0.1", b"55535", b"65535"]]
)
def test_meeting_a_good_address_is_refused_because_there_is_no_bus(words: list[bytes]) -> None:
    world = World()

    reply = world.client().ask(b"CLUSTER", b"MEET", *words)

    assert reply == b"-ERR CLUSTER MEET is not available in this version\r\n"
    assert list(world.node.membership.nodes) == [ME]


def test_forgetting_a_peer_is_refused_because_there_is_no_bus() -> None:
    world = World(BEE)

    reply = world.client().ask(b"CLUSTER", b"FORGET", BEE)

    assert reply == b"-ERR CLUSTER FORGET is not available in this version\r\n"
    assert list(world.node.membership.nodes) == [ME, BEE]
