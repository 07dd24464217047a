"""QLEN, QPEEK, QSTAT, QSCAN and PAUSE: commands about queues."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from disque.core.queues import IDLE_MS_MAX, PAUSED_ALL, PAUSED_IN
from disque.model.job import NodeId
from disque.model.messages import Pause
from tests.commands.world import Client, World

BEE = NodeId(b"b" * 40)
CAT = NodeId(b"c" * 40)


def scanned(client: Client, *options: bytes) -> list[bytes]:
    """Return the names QSCAN finds at once, sorted."""
    cursor, names = client.items(b"QSCAN", *options)
    assert cursor == b"0"
    assert isinstance(names, list)
    return sorted(name for name in names if isinstance(name, bytes))


# --- QLEN and QPEEK ---------------------------------------------------------------------------


def test_qlen_counts_queued_jobs_only() -> None:
    client = World().client()
    client.add(b"q")
    client.add(b"q", b"body", b"DELAY", b"10")
    client.add(b"other")

    assert client.ask(b"QLEN", b"q") == b":1\r\n"
    assert client.ask(b"QLEN", b"unknown") == b":0\r\n"


def test_asking_about_a_queue_does_not_make_it() -> None:
    world = World()
    client = world.client()

    for request in ([b"QLEN", b"q"], [b"QPEEK", b"q", b"1"], [b"QSTAT", b"q"]):
        client.ask(*request)

    assert world.node.queues.count() == 0


@pytest.mark.parametrize(
    ("count", "bodies"),
    [
        (b"1", [b"1"]),
        (b"2", [b"1", b"2"]),
        (b"99", [b"1", b"2", b"3"]),
        (b"9223372036854775807", [b"1", b"2", b"3"]),
        (b"-1", [b"3"]),
        (b"-2", [b"3", b"2"]),
        (b"-99", [b"3", b"2", b"1"]),
        (b"-9223372036854775808", [b"3", b"2", b"1"]),
    ],
)
def test_qpeek_shows_the_oldest_or_the_newest_jobs_first(count: bytes, bodies: list[bytes]) -> None:
    client = World().client()
    ids = {body: client.add(b"q", body) for body in (b"1", b"2", b"3")}

    assert client.items(b"QPEEK", b"q", count) == [[b"q", ids[body], body] for body in bodies]


@pytest.mark.parametrize(("queue", "count"), [(b"q", b"0"), (b"empty", b"5"), (b"unknown", b"5")])
def test_qpeek_shows_nothing_where_nothing_is(queue: bytes, count: bytes) -> None:
    client = World().client()
    client.add(b"q")
    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"empty")

    assert client.ask(b"QPEEK", queue, count) == b"*0\r\n"


def test_qpeek_takes_nothing_and_does_not_care_about_pauses() -> None:
    client = World().client()
    id = client.add(b"q", b"body")
    client.ask(b"PAUSE", b"q", b"all")

    assert client.items(b"QPEEK", b"q", b"1") == [[b"q", id, b"body"]]

    stat = client.fields(b"QSTAT", b"q")
    assert (stat[b"len"], stat[b"jobs-out"]) == (1, 0)


@pytest.mark.parametrize("count", [b"", b"x", b"1.5", b" 1", b"9223372036854775808"])
def test_qpeek_wants_a_number(count: bytes) -> None:
    reply = World().client().ask(b"QPEEK", b"unknown", count)

    assert reply == b"-ERR value is not an integer or out of range\r\n"


# --- QSTAT ------------------------------------------------------------------------------------


def test_qstat_lists_ten_fields_in_their_order() -> None:
    world = World()
    client = world.client()
    client.add(b"q")
    client.add(b"q")
    client.get(b"q")
    world.stall(3_999)

    assert client.items(b"QSTAT", b"q") == [
        *[b"name", b"q", b"len", 1, b"age", 3, b"idle", 3, b"blocked", 0, b"import-from", []],
        *[b"import-rate", 0, b"jobs-in", 2, b"jobs-out", 1, b"pause", b"none"],
    ]


def test_qstat_of_an_unknown_queue_is_nil_in_the_protocol_of_the_client() -> None:
    client = World().client()

    assert client.ask(b"QSTAT", b"q") == b"*-1\r\n"
    client.ask(b"HELLO", b"3")
    assert client.ask(b"QSTAT", b"q") == b"_\r\n"


def test_a_queue_is_idle_since_the_last_job_came_or_was_fetched() -> None:
    world = World()
    client = world.client()
    client.add(b"q")
    world.stall(10_000)
    client.get(b"q")
    world.stall(2_000)
    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"q")

    stat = client.fields(b"QSTAT", b"q")

    assert (stat[b"age"], stat[b"idle"]) == (12, 2)


def test_qstat_counts_who_waits_each_once() -> None:
    world = World()
    client = world.client()
    for _ in range(3):
        world.client().send(b"GETJOB", b"FROM", b"q", b"q", b"other")

    assert client.fields(b"QSTAT", b"q")[b"blocked"] == 3


def test_every_queueing_and_every_fetch_is_counted() -> None:
    client = World().client()
    id = client.add(b"q")
    client.get(b"q")
    client.ask(b"NACK", id)
    client.get(b"q")

    stat = client.fields(b"QSTAT", b"q")

    assert (stat[b"jobs-in"], stat[b"jobs-out"]) == (2, 2)


def test_qstat_tells_where_jobs_were_imported_from_and_how_fast() -> None:
    world = World()
    client = world.client()
    client.add(b"q")
    queue = world.node.queues.by_name[b"q"]
    queue.sources[BEE] = world.now_ms
    for _ in range(5):
        queue.note_import(world.now_ms)
    world.stall(100)

    stat = client.fields(b"QSTAT", b"q")

    assert (stat[b"import-from"], stat[b"import-rate"]) == ([BEE], 50)
    world.stall(5_000)
    assert client.fields(b"QSTAT", b"q")[b"import-rate"] == 0


# --- How queues come and go -------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        [b"ADDJOB", b"q", b"body", b"0"],
        [b"GETJOB", b"NOHANG", b"FROM", b"q"],
        [b"PAUSE", b"q", b"in"],
    ],
)
def test_a_queue_appears_when_it_is_used(request_: list[bytes]) -> None:
    client = World().client()

    client.ask(*request_)

    assert client.items(b"QSCAN") == [b"0", [b"q"]]


@pytest.mark.parametrize("word", [b"none", b"state", b"bcast"])
def test_a_pause_that_pauses_nothing_makes_no_queue(word: bytes) -> None:
    client = World().client()

    assert client.ask(b"PAUSE", b"q", word) == b"+none\r\n"

    assert client.ask(b"QSTAT", b"q") == b"*-1\r\n"


def test_an_idle_empty_queue_is_forgotten_five_minutes_after_its_last_job() -> None:
    world = World()
    client = world.client()
    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"never")
    world.pass_time(100_000)
    id = client.add(b"used")
    client.get(b"used")
    client.ask(b"ACKJOB", id)

    world.pass_time(199_000)
    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"used", b"never")
    assert scanned(client) == [b"never", b"used"]
    world.pass_time(2_000)
    assert scanned(client) == [b"used"]
    world.pass_time(98_000)
    assert scanned(client) == [b"used"]
    world.pass_time(2_000)
    assert scanned(client) == []


def test_a_queue_somebody_needs_is_not_forgotten() -> None:
    world = World()
    client, waiting = world.client(), world.client()
    client.add(b"full", b"body", b"RETRY", b"0")
    client.ask(b"PAUSE", b"paused", b"out")
    waiting.send(b"GETJOB", b"FROM", b"awaited")
    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"empty")

    world.pass_time(700_000)

    assert scanned(client) == [b"awaited", b"full", b"paused"]


# --- QSCAN ------------------------------------------------------------------------------------


def queue_lengths(client: Client, *lengths: int) -> None:
    """Make queues named after how many jobs are in them."""
    for length in lengths:
        name = b"%d" % length
        client.ask(b"GETJOB", b"NOHANG", b"FROM", name)
        for _ in range(length):
            client.add(name)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], [b"0", b"1", b"2", b"3"]),
        ([b"MINLEN", b"2"], [b"2", b"3"]),
        ([b"maxlen", b"1"], [b"0", b"1"]),
        ([b"MINLEN", b"1", b"MAXLEN", b"2"], [b"1", b"2"]),
        ([b"MINLEN", b"3", b"MAXLEN", b"2"], []),
        ([b"MINLEN", b"-5"], [b"0", b"1", b"2", b"3"]),
        ([b"MAXLEN", b"-1"], []),
        ([b"IMPORTRATE", b"0"], [b"0", b"1", b"2", b"3"]),
        ([b"IMPORTRATE", b"1"], []),
    ],
)
def test_qscan_finds_queues_by_their_length(options: list[bytes], names: list[bytes]) -> None:
    client = World().client()
    queue_lengths(client, 0, 1, 2, 3)

    assert scanned(client, *options) == names


def test_qscan_finds_queues_by_their_import_rate() -> None:
    world = World()
    client = world.client()
    queue_lengths(client, 1, 2)
    for _ in range(10):
        world.node.queues.by_name[b"2"].note_import(world.now_ms)
    world.stall(1_000)

    assert scanned(client, b"IMPORTRATE", b"10") == [b"2"]
    assert scanned(client, b"IMPORTRATE", b"11") == []


@pytest.mark.parametrize("options", [[b"BUSYLOOP"], [b"COUNT", b"-1"], [b"COUNT", b"1000"]])
def test_qscan_can_return_everything_at_once(options: list[bytes]) -> None:
    client = World().client()
    names = [b"queue%03d" % number for number in range(250)]
    for name in names:
        client.add(name)

    assert scanned(client, *options) == names


def test_a_page_of_qscan_has_a_hundred_queues_unless_told_otherwise() -> None:
    client = World().client()
    for number in range(250):
        client.add(b"%d" % number)

    cursor, names = client.items(b"QSCAN")

    assert cursor != b"0"
    assert isinstance(names, list)
    assert len(names) == 100


@given(
    queues=st.integers(0, 60),
    count=st.integers(0, 20),
    forgotten=st.sets(st.integers(0, 59), max_size=20),
    pages=st.integers(0, 5),
)
def test_qscan_returns_every_queue_that_stays_however_small_the_pages(
    queues: int, count: int, forgotten: set[int], pages: int
) -> None:
    world = World()
    client = world.client()
    for number in range(queues):
        client.add(b"%d" % number)
    going = {b"%d" % number for number in forgotten if number < queues}

    found: set[bytes] = set()
    cursor = b"0"
    for page in range(1_000):
        if page == pages:
            for name in sorted(going):
                world.node.queues.by_name[name].jobs.pop_first()
                world.node.queues.forget(world.node.queues.by_name[name])
        after, names = client.items(b"QSCAN", cursor, b"COUNT", b"%d" % count)
        assert isinstance(names, list)
        found |= {name for name in names if isinstance(name, bytes)}
        assert isinstance(after, bytes)
        cursor = after
        if cursor == b"0":
            break

    assert cursor == b"0"
    assert {b"%d" % number for number in range(queues)} - going <= found


@pytest.mark.parametrize("option", [b"MINLEN", b"MAXLEN", b"IMPORTRATE", b"COUNT"])
def test_bounds_of_qscan_must_be_numbers(option: bytes) -> None:
    client = World().client()

    assert client.ask(b"QSCAN", option, b"x") == b"-ERR value is not an integer or out of range\r\n"
    assert client.ask(b"QSCAN", option) == b"-ERR invalid cursor or option name\r\n"
    assert client.ask(b"QSCAN", b"0", option) == b"-ERR syntax error\r\n"


def test_options_of_jscan_are_none_of_qscan() -> None:
    client = World().client()

    for option in (b"STATE", b"QUEUE", b"REPLY"):
        reply = client.ask(b"QSCAN", option, b"queued")
        assert reply == b"-ERR invalid cursor or option name\r\n"


# --- PAUSE ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ([b"in"], b"in"),
        ([b"OUT"], b"out"),
        ([b"All"], b"all"),
        ([b"in", b"out"], b"all"),
        ([b"in", b"in"], b"in"),
        ([b"in", b"none"], b"none"),
        ([b"none", b"out"], b"out"),
        ([b"all", b"none", b"in", b"state"], b"in"),
    ],
)
def test_words_of_pause_add_up_and_replace_the_whole_state(
    words: list[bytes], state: bytes
) -> None:
    client = World().client()
    client.ask(b"PAUSE", b"q", b"out")

    assert client.ask(b"PAUSE", b"q", *words) == b"+%b\r\n" % state

    assert client.fields(b"QSTAT", b"q")[b"pause"] == state
    assert client.ask(b"PAUSE", b"q", b"state") == b"+%b\r\n" % state


def test_an_unknown_word_of_pause_changes_nothing() -> None:
    world = World(BEE)
    client = world.client()
    client.ask(b"PAUSE", b"q", b"in")

    assert client.ask(b"PAUSE", b"q", b"bcast", b"out", b"nosuch") == b"-ERR syntax error\r\n"

    assert client.ask(b"PAUSE", b"q", b"state") == b"+in\r\n"
    assert world.sent == []


def test_a_queue_paused_out_gives_nothing_until_it_goes_on() -> None:
    world = World()
    client, waiting = world.client(), world.client()
    first, second = client.add(b"q"), client.add(b"other")
    client.ask(b"PAUSE", b"q", b"out")
    assert client.ask(b"GETJOB", b"NOHANG", b"FROM", b"q") == b"*-1\r\n"
    assert client.items(b"GETJOB", b"COUNT", b"5", b"FROM", b"q", b"other") == [
        [b"other", second, b"body"]
    ]
    waiting.send(b"GETJOB", b"FROM", b"q")
    assert waiting.is_blocked

    client.ask(b"PAUSE", b"q", b"in")

    assert waiting.take() == [
        b"*1\r\n*3\r\n$1\r\nq\r\n$40\r\n%b\r\n$4\r\nbody\r\n" % first,
    ]
    world.check()


def test_a_job_that_comes_into_a_queue_paused_out_waits_there() -> None:
    world = World()
    client, waiting = world.client(), world.client()
    client.ask(b"PAUSE", b"q", b"out")
    waiting.send(b"GETJOB", b"FROM", b"q")

    client.add(b"q")

    assert waiting.is_blocked
    assert client.ask(b"QLEN", b"q") == b":1\r\n"


def test_a_retry_is_postponed_by_a_whole_period_while_the_queue_takes_nothing() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"RETRY", b"10")
    client.get(b"q")
    client.ask(b"PAUSE", b"q", b"in")
    world.pass_time(11_000)
    assert client.state_of(id) == b"active"

    client.ask(b"PAUSE", b"q", b"none")

    world.pass_time(8_000)
    assert client.state_of(id) == b"active"
    world.pass_time(2_000)
    assert client.state_of(id) == b"queued"


@pytest.mark.parametrize(
    ("words", "flags"), [([b"all", b"bcast"], PAUSED_ALL), ([b"bcast"], PAUSED_IN)]
)
def test_bcast_tells_every_peer_the_resulting_state(words: list[bytes], flags: int) -> None:
    world = World(BEE, CAT)
    client = world.client()
    client.ask(b"PAUSE", b"q", b"in")
    assert world.sent == []

    client.ask(b"PAUSE", b"q", *words)

    told = [
        (peer, message.queue, message.flags)
        for peer, message in world.sent
        if isinstance(message, Pause)
    ]
    assert told == [(BEE, b"q", flags), (CAT, b"q", flags)]


def test_pauses_do_not_survive_a_flush() -> None:
    client = World().client()
    client.ask(b"PAUSE", b"q", b"all")

    client.ask(b"DEBUG", b"FLUSHALL")

    assert client.ask(b"PAUSE", b"q", b"state") == b"+none\r\n"
    client.add(b"q")


def test_idle_queues_go_sooner_however_memory_became_short() -> None:
    world = World()
    client = world.client()
    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"q")
    client.ask(b"CONFIG", b"SET", b"maxmemory", b"1")

    world.pass_time(IDLE_MS_MAX[2] + 200)

    assert client.ask(b"QSTAT", b"q") == b"*-1\r\n"


def test_a_full_server_opens_no_queue_to_pause_it_but_lets_known_ones_be_paused() -> None:
    world = World()
    client = world.client()
    client.add(b"known")
    client.ask(b"CONFIG", b"SET", b"maxmemory", b"1")

    refused = client.ask(b"PAUSE", b"unknown", b"in")

    assert refused == b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    assert client.ask(b"PAUSE", b"known", b"in") == b"+in\r\n"
    assert client.ask(b"PAUSE", b"unknown", b"none") == b"+none\r\n"
    world.check()
