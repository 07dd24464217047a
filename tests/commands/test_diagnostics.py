"""SLOWLOG, LATENCY and DEBUG: look into the server, and break it on purpose."""

from __future__ import annotations

import pytest

from disque.model.asks import ABORT, OUT_OF_MEMORY, SEGFAULT, Crash, Done, Failed, Restart, Sleep
from disque.model.job import NodeId
from disque.model.limits import TIMEOUT_MS_MAX
from disque.model.settings import Settings
from tests.commands.world import START_MS, World

BEE = NodeId(b"b" * 40)
START_S = START_MS // 1_000
SYNTAX_ERROR = b"-ERR syntax error\r\n"
NOT_AN_INTEGER = b"-ERR value is not an integer or out of range\r\n"
REMOVED = b"-NOREPL job removed (expired?) before the requested replication level was achieved\r\n"


def slow_world(slower_than_us: int = 0, threshold_ms: int = 0) -> World:
    settings = Settings()
    settings.slowlog_log_slower_than = slower_than_us
    settings.latency_monitor_threshold = threshold_ms
    return World(settings=settings)


# --- SLOWLOG ----------------------------------------------------------------------------------


def test_a_slow_command_is_kept_with_number_time_duration_and_words() -> None:
    world = slow_world(2_000)
    client = world.client()
    world.step_ns = 2_000_000
    client.ask(b"PING", b"x")
    world.step_ns = 0

    (entry,) = client.items(b"SLOWLOG", b"GET")

    assert entry == [0, START_S, 2_000, [b"PING", b"x"]]


def test_a_command_just_below_the_threshold_is_not_slow() -> None:
    world = slow_world(2_000)
    client = world.client()
    world.step_ns = 1_999_999
    client.ask(b"PING")
    world.step_ns = 0

    assert client.value(b"SLOWLOG", b"LEN") == 0


def test_zero_keeps_everything_that_ran_and_nothing_that_did_not() -> None:
    client = slow_world(0).client()
    client.ask(b"PING")
    client.ask(b"NOSUCH")
    client.ask(b"QLEN")
    client.ask(b"ADDJOB", b"q", b"b", b"x")

    entries = client.items(b"SLOWLOG", b"GET", b"-1")

    words = [entry[3] for entry in entries if isinstance(entry, list)]
    assert words == [[b"ADDJOB", b"q", b"b", b"x"], [b"PING"]]


def test_the_time_spent_waiting_for_a_job_is_not_slow() -> None:
    world = slow_world(1_000)
    consumer, producer = world.client(), world.client()
    consumer.send(b"GETJOB", b"FROM", b"q")
    world.pass_time(60_000)
    producer.add()

    assert len(consumer.take()) == 1
    assert producer.value(b"SLOWLOG", b"LEN") == 0


def test_ten_entries_are_shown_unless_more_or_fewer_are_wanted() -> None:
    client = slow_world(0).client()
    client.pipeline(*[[b"PING"]] * 20)
    client.take()

    shown = [len(client.items(b"SLOWLOG", b"GET", *count)) for count in ([], [b"3"], [b"0"])]

    assert shown == [10, 3, 0]
    assert len(client.items(b"SLOWLOG", b"GET", b"-1")) == 23


def test_numbers_go_on_after_a_reset() -> None:
    client = slow_world(0).client()
    client.ask(b"PING")

    assert client.ask(b"slowlog", b"Reset") == b"+OK\r\n"

    (entry,) = client.items(b"SLOWLOG", b"GET")
    assert isinstance(entry, list)
    assert entry[0] == 1


@pytest.mark.parametrize("words", [[b"NOSUCH"], [b"LEN", b"x"], [b"RESET", b"x"], [b"GET"] * 3])
def test_other_forms_of_slowlog_are_refused(words: list[bytes]) -> None:
    reply = World().client().ask(b"SLOWLOG", *words)

    expected = b"Unknown SLOWLOG subcommand or wrong # of args. Try GET, RESET, LEN."
    assert reply == b"-ERR " + expected + b"\r\n"


def test_a_count_of_entries_is_a_number() -> None:
    assert World().client().ask(b"SLOWLOG", b"GET", b"all") == NOT_AN_INTEGER


# --- LATENCY ----------------------------------------------------------------------------------


def test_fast_and_other_commands_are_two_events() -> None:
    world = slow_world(-1, threshold_ms=20)
    client = world.client()
    world.step_ns = 30_000_000
    client.ask(b"PING")
    client.ask(b"QPEEK", b"q", b"1")
    world.step_ns = 0

    latest = client.items(b"LATENCY", b"LATEST")

    assert sorted(str(event) for event in latest) == sorted(
        [str([b"fast-command", START_S, 30, 30]), str([b"command", START_S, 30, 30])]
    )
    assert client.value(b"SLOWLOG", b"LEN") == 0


def test_without_a_threshold_nothing_is_sampled() -> None:
    world = slow_world(-1, threshold_ms=0)
    client = world.client()
    world.step_ns = 10**12
    client.ask(b"PING")
    world.step_ns = 0

    assert client.ask(b"LATENCY", b"LATEST") == b"*0\r\n"


def test_history_wants_the_exact_name_and_reset_any_spelling() -> None:
    world = slow_world(-1, threshold_ms=1)
    client = world.client()
    world.step_ns = 5_000_000
    client.ask(b"PING")
    world.step_ns = 0

    assert client.items(b"LATENCY", b"HISTORY", b"fast-command") == [[START_S, 5]]
    assert client.items(b"LATENCY", b"HISTORY", b"FAST-COMMAND") == []
    assert client.value(b"LATENCY", b"RESET", b"FAST-COMMAND", b"nosuch") == 1
    assert client.items(b"LATENCY", b"LATEST") == []


def test_a_graph_of_nothing_is_an_error_that_quotes_the_event() -> None:
    reply = World().client().ask(b"LATENCY", b"GRAPH", b"a\r\nb")

    assert reply == b"-ERR No samples available for event 'a  b'\r\n"


def test_a_graph_shows_what_was_sampled() -> None:
    world = slow_world(-1, threshold_ms=1)
    client = world.client()
    world.step_ns = 5_000_000
    client.ask(b"PING")
    world.step_ns = 0

    graph = client.value(b"LATENCY", b"GRAPH", b"fast-command")

    assert isinstance(graph, bytes)
    assert graph.startswith(b"fast-command - high 5 ms, low 5 ms (all time high 5 ms)\n")


def test_the_doctor_always_has_something_to_say() -> None:
    text = World().client().value(b"LATENCY", b"DOCTOR")

    assert isinstance(text, bytes)
    assert text


@pytest.mark.parametrize(
    "words",
    [[b"NOSUCH"], [b"LATEST", b"x"], [b"HISTORY"], [b"GRAPH"], [b"DOCTOR", b"x"], [b"HISTORY"] * 3],
)
def test_other_forms_of_latency_are_refused(words: list[bytes]) -> None:
    assert World().client().ask(b"LATENCY", *words) == SYNTAX_ERROR


# --- DEBUG ------------------------------------------------------------------------------------


def test_flushall_deletes_everything_and_answers_who_waits() -> None:
    world = World(BEE)
    consumer, producer, admin = world.client(), world.client(), world.client()
    for number in range(20):
        admin.add(b"q%d" % number, b"b", b"REPLICATE", b"1")
    consumer.pipeline([b"GETJOB", b"FROM", b"empty"], [b"PING"])
    producer.pipeline([b"ADDJOB", b"q", b"b", b"0", b"REPLICATE", b"2"], [b"PING"])

    assert admin.ask(b"DEBUG", b"FLUSHALL") == b"+OK\r\n"

    assert consumer.take() == [b"*-1\r\n", b"+PONG\r\n"]
    assert producer.take() == [REMOVED, b"+PONG\r\n"]
    assert (world.node.jobs.count(), world.node.queues.count()) == (0, 0)
    world.check()


def test_a_flushed_server_takes_jobs_as_before() -> None:
    world = World()
    client = world.client()
    client.add()
    client.ask(b"DEBUG", b"flushall")

    id = client.add()

    assert client.get() == id
    world.check()


def test_flushall_lifts_every_pause() -> None:
    client = World().client()
    client.ask(b"PAUSE", b"q", b"in")

    client.ask(b"DEBUG", b"FLUSHALL")

    assert client.ask(b"PAUSE", b"q", b"state") == b"+none\r\n"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"0.25", 0.25),
        (b"2", 2.0),
        (b"1e-3", 0.001),
        (b"abc", 0.0),
        (b"", 0.0),
        (b"-5", 0.0),
        (b"inf", 0.0),
        (b"nan", 0.0),
        (b"1e300", 86_400.0),
    ],
)
def test_a_sleep_is_never_negative_and_never_endless(text: bytes, seconds: float) -> None:
    world = World()

    assert world.client().ask(b"DEBUG", b"SLEEP", text) == b"+OK\r\n"

    assert [ask.seconds for ask in world.asked if isinstance(ask, Sleep)] == [seconds]


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (b"MYCODE some text", b"-MYCODE some text\r\n"),
        (b"a\r\nb\nc", b"-a  b c\r\n"),
        (b"\xff\0", b"-\xff\0\r\n"),
    ],
)
def test_an_error_on_demand_is_verbatim_but_one_line(text: bytes, reply: bytes) -> None:
    assert World().client().ask(b"DEBUG", b"ERROR", text) == reply


@pytest.mark.parametrize(
    ("words", "delay_ms", "is_clean"),
    [
        ([b"RESTART"], 0, True),
        ([b"restart", b"250"], 250, True),
        ([b"CRASH-AND-RECOVER"], 0, False),
        ([b"CRASH-AND-RECOVER", b"7"], 7, False),
        ([b"RESTART", b"-5"], 0, True),
        ([b"RESTART", b"9223372036854775807"], TIMEOUT_MS_MAX, True),
    ],
)
def test_a_restart_is_asked_of_the_world_and_not_answered(
    words: list[bytes], delay_ms: int, is_clean: bool
) -> None:
    world = World()
    client = world.client()

    client.send(b"DEBUG", *words)

    (ask,) = world.asked
    assert isinstance(ask, Restart)
    assert (ask.client, ask.delay_ms, ask.clean) == (1, delay_ms, is_clean)
    assert client.take() == []


def test_a_restart_that_failed_is_told() -> None:
    world = World()
    world.results[Restart] = Failed("Permission denied")

    reply = world.client().ask(b"DEBUG", b"RESTART")

    assert reply == b"-ERR failed to restart the server. Check server logs.\r\n"


def test_a_restart_that_worked_is_not_worth_a_reply() -> None:
    world = World()
    world.results[Restart] = Done()
    client = world.client()

    client.pipeline([b"DEBUG", b"RESTART"], [b"PING"])

    assert client.take() == [b"+PONG\r\n"]


def test_a_delay_that_is_no_number_restarts_nothing() -> None:
    world = World()

    assert world.client().ask(b"DEBUG", b"RESTART", b"soon") == NOT_AN_INTEGER

    assert world.asked == []


@pytest.mark.parametrize(
    ("word", "how"), [(b"SEGFAULT", SEGFAULT), (b"assert", ABORT), (b"Oom", OUT_OF_MEMORY)]
)
def test_a_crash_is_left_to_the_world(word: bytes, how: str) -> None:
    world = World()

    world.client().send(b"DEBUG", word)

    (ask,) = world.asked
    assert isinstance(ask, Crash)
    assert ask.how == how


def test_reading_the_journal_again_is_refused_with_a_reason() -> None:
    reply = World().client().ask(b"DEBUG", b"LOADAOF")

    assert reply == b"-ERR DEBUG LOADAOF is not available in this version\r\n"


def test_sizes_are_positive_numbers() -> None:
    text = World().client().value(b"DEBUG", b"STRUCTSIZE")

    assert isinstance(text, bytes)
    sizes = dict(pair.split(b":") for pair in text.split(b" "))
    assert list(sizes) == [b"bits", b"job", b"queue", b"client", b"node"]
    assert all(int(size) > 0 for size in sizes.values())


@pytest.mark.parametrize(
    "words",
    [
        *[[b"NOSUCH"], [b"FLUSHALL", b"x"], [b"SLEEP"], [b"ERROR"], [b"ERROR", b"a", b"b"]],
        *[[b"SEGFAULT", b"x"], [b"RESTART", b"1", b"2"], [b"STRUCTSIZE", b"x"], [b"LOADAOF"] * 2],
    ],
)
def test_other_forms_of_debug_are_refused_and_break_nothing(words: list[bytes]) -> None:
    world = World()
    client = world.client()
    client.add()

    reply = client.ask(b"DEBUG", *words)

    sentence = b"Unknown DEBUG subcommand or wrong number of arguments for '" + words[0] + b"'"
    assert reply == b"-ERR " + sentence + b"\r\n"
    assert world.asked == []
    assert world.node.jobs.count() == 1
