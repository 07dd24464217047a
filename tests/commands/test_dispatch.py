"""From a request to its reply: which error wins, who waits, and that replies stay in order."""

from __future__ import annotations

from itertools import pairwise

import pytest

from disque.commands import dispatch
from disque.commands.frontend import Frontend
from disque.commands.session import Session
from disque.commands.table import COMMANDS
from disque.model.asks import DescribeServer, Done, ReadWallClock, Restart, SaveNodes
from disque.model.job import NodeId
from disque.model.limits import COMMANDS_PER_TURN_MAX, TURN_NS_MAX, UNSENT_BYTES_MAX
from disque.model.messages import GotJob
from disque.model.replies import NothingReply
from disque.model.settings import Settings
from tests.commands.world import START_MS, Client, World

BEE = NodeId(b"b" * 40)

ARITY = b"-ERR wrong number of arguments for 'addjob' command\r\n"
NOAUTH = b"-NOAUTH Authentication required.\r\n"
OOM = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
MISCONF = b"-MISCONF Errors writing to the AOF file: Disk full\r\n"
LOADING = b"-LOADING Disque is loading the dataset in memory\r\n"
INTERNAL = b"-ERR internal error, see the log of the server\r\n"


def barred_world() -> World:
    """Return a server on which every gate is closed."""
    settings = Settings()
    settings.requirepass = b"sekret"
    settings.maxmemory = 1
    world = World(settings=settings)
    world.front.write_error = "Disk full"
    world.front.is_loading = True
    world.front.gates_changed()
    return world


def words_for(arity: int) -> list[bytes]:
    return [b"x"] * (max(abs(arity), 1) - 1)


# --- Which error wins -------------------------------------------------------------------------


def test_gates_refuse_in_their_order() -> None:
    world = barred_world()
    client = world.client()
    request = [b"ADDJOB", b"q", b"b", b"0"]

    seen = [client.ask(b"ADDJO", b"q"), client.ask(b"ADDJOB", b"q"), client.ask(*request)]
    client.ask(b"AUTH", b"sekret")
    seen.append(client.ask(*request))
    world.settings.maxmemory = 1 << 30
    world.front.settings_changed()
    seen.append(client.ask(*request))
    world.front.write_error = ""
    world.front.gates_changed()
    seen.append(client.ask(*request))
    world.front.is_loading = False
    world.front.gates_changed()

    assert seen == [b"-ERR unknown command 'ADDJO'\r\n", ARITY, NOAUTH, OOM, MISCONF, LOADING]
    assert client.ask(*request).startswith(b"+D-")


def test_quit_passes_every_gate() -> None:
    client = barred_world().client()

    client.send(b"QUIT", b"whatever")

    assert client.take() == [b"+OK\r\n"]
    assert client.is_closed


def test_without_a_journal_to_write_only_writing_and_ping_are_refused() -> None:
    world = World()
    world.front.write_error = "Disk full"
    world.front.gates_changed()
    client = world.client()

    refused = [
        command.name
        for command in COMMANDS
        if command.name not in (b"monitor", b"shutdown", b"getjob")
        and client.ask(command.name, *words_for(command.arity)) == MISCONF
    ]

    writers = [command.name for command in COMMANDS if command.is_write]
    assert [b"ping", *[name for name in writers if name != b"getjob"]] == refused
    assert client.ask(b"GETJOB", b"FROM", b"q") == MISCONF


def test_while_loading_only_the_commands_that_say_so_run() -> None:
    world = World()
    world.front.is_loading = True
    world.front.gates_changed()
    client = world.client()

    served = [
        command.name
        for command in COMMANDS
        if command.name != b"shutdown"
        and client.ask(command.name, *words_for(command.arity)) != LOADING
    ]

    assert served == [b"auth", b"info", b"command", b"latency", b"select", b"reset"]


@pytest.mark.parametrize("command", [b"ADDJOB q b 0", b"ENQUEUE", b"NACK"])
def test_a_full_server_refuses_what_needs_memory(command: bytes) -> None:
    settings = Settings()
    settings.maxmemory = 1
    client = World(settings=settings).client()

    assert client.ask(*command.split()) == OOM


@pytest.mark.parametrize("command", [b"ACKJOB", b"GETJOB NOHANG FROM q", b"DEQUEUE", b"PING"])
def test_a_full_server_still_gives_and_forgets_jobs(command: bytes) -> None:
    settings = Settings()
    settings.maxmemory = 1
    client = World(settings=settings).client()

    assert not client.ask(*command.split()).startswith(b"-OOM")


def test_the_name_in_an_arity_error_is_the_one_of_the_table() -> None:
    reply = World().client().ask(b"aDDjOB", b"q")

    assert reply == ARITY


@pytest.mark.parametrize("words", [[b"qlen"], [b"QLEN", b"a", b"b"], [b"monitor", b"x"]])
def test_too_few_and_too_many_words_are_the_same_error(words: list[bytes]) -> None:
    reply = World().client().ask(*words)

    expected = b"-ERR wrong number of arguments for '%b' command\r\n" % words[0].lower()
    assert reply == expected


def test_an_unknown_name_is_quoted_as_it_was_sent_but_in_one_line() -> None:
    client = World().client()

    assert client.ask(b"NoSuch", b"x") == b"-ERR unknown command 'NoSuch'\r\n"
    assert client.ask(b"a\r\nb") == b"-ERR unknown command 'a  b'\r\n"
    assert client.ask(b"\xff\0") == b"-ERR unknown command '\xff\0'\r\n"


def test_of_an_endless_name_only_the_beginning_is_quoted() -> None:
    reply = World().client().ask(b"x" * 100_000)

    assert reply == b"-ERR unknown command '" + b"x" * 128 + b"'\r\n"


@pytest.mark.parametrize("word", [b"POST", b"Host:", b"host:"])
def test_a_browser_is_sent_away_before_its_body_is_run(word: bytes) -> None:
    world = World()
    client = world.client()

    client.pipeline([word, b"/", b"HTTP/1.1"], [b"ADDJOB", b"q", b"b", b"0"])

    assert client.take() == [b"-ERR unknown command '" + word + b"'\r\n"]
    assert client.is_closed
    assert world.node.jobs.count() == 0
    assert world.notes == ["HTTP request from 127.0.0.1:50001: connection closed"]


def test_the_log_tells_of_browsers_once_a_minute() -> None:
    world = World()
    for _ in range(100):
        world.client().send(b"POST", b"/", b"HTTP/1.1")
    told = len(world.notes)
    world.pass_time(60_000)
    world.client().send(b"POST", b"/", b"HTTP/1.1")

    assert (told, len(world.notes)) == (1, 2)


def test_what_is_refused_is_neither_counted_nor_the_last_command() -> None:
    world = barred_world()
    client = world.client()

    client.ask(b"ADDJOB", b"q", b"b", b"0")
    client.ask(b"NOSUCH")

    assert world.front.traffic.commands == 0
    assert client.session.last_command == b"NULL"
    assert all(entry.calls == 0 for entry in world.front.table)


# --- Order of replies -------------------------------------------------------------------------


def test_pipelined_requests_are_answered_in_order_whoever_answers_them() -> None:
    client = World().client()

    client.pipeline(
        [b"PING", b"1"],
        [b"INFO", b"jobs"],
        [b"NOSUCH"],
        [b"QLEN"],
        [b"TIME"],
        [b"CONFIG", b"SET", b"loglevel", b"debug"],
        [b"CLUSTER", b"LEAVING", b"no"],
        [b"PING", b"2"],
    )

    kinds = [reply[:2] for reply in client.take()]
    assert kinds == [b"$1", b"$2", b"-E", b"-E", b"*2", b"+O", b"+O", b"$1"]


def test_more_requests_than_a_turn_runs_are_all_answered_in_order() -> None:
    client = World().client()
    count = COMMANDS_PER_TURN_MAX * 2 + 7

    client.pipeline(*[[b"ECHO", b"%d" % number] for number in range(count)])

    assert client.take() == [b"$%d\r\n%d\r\n" % (len(str(n)), n) for n in range(count)]


def test_one_turn_runs_no_more_than_its_share() -> None:
    world = World()
    session = world.client().session
    session.backlog.extend([[b"PING"]] * (COMMANDS_PER_TURN_MAX + 1))

    dispatch.run(world.front, session, START_MS)

    assert (len(session.out), len(session.backlog)) == (COMMANDS_PER_TURN_MAX, 1)


def test_a_client_whose_replies_pile_up_is_not_served_further() -> None:
    world = World()
    session = world.client().session
    word = b"x" * (UNSENT_BYTES_MAX // 4)
    session.backlog.extend([[b"ECHO", word]] * 20)

    dispatch.run(world.front, session, START_MS)

    assert UNSENT_BYTES_MAX < session.out_bytes <= UNSENT_BYTES_MAX + len(word) + 20
    assert len(session.backlog) > 10


def test_what_follows_a_blocked_command_waits_and_keeps_its_place() -> None:
    world = World()
    consumer, producer = world.client(), world.client()
    consumer.pipeline(
        [b"PING", b"1"],
        [b"GETJOB", b"FROM", b"a"],
        [b"PING", b"2"],
        [b"GETJOB", b"FROM", b"b"],
        [b"PING", b"3"],
    )

    assert consumer.take() == [b"$1\r\n1\r\n"]
    first = producer.add(b"a")
    got, after = consumer.take()
    assert first in got
    assert after == b"$1\r\n2\r\n"
    second = producer.add(b"b")
    got, after = consumer.take()
    assert second in got
    assert after == b"$1\r\n3\r\n"


def test_a_producer_gets_its_ids_in_the_order_of_its_requests() -> None:
    world = World(BEE)
    producer = world.client()
    bodies = [b"1", b"2", b"3"]
    producer.pipeline(
        *[[b"ADDJOB", b"q", body, b"0", b"REPLICATE", b"2"] for body in bodies], [b"PING"]
    )

    replies: list[bytes] = []
    for _ in range(10):
        for id in world.node.jobs.ids():
            world.receive(BEE, GotJob(id))
        replies += producer.take()

    *ids, pong = replies
    assert pong == b"+PONG\r\n"
    shown = [world.client().fields(b"SHOW", id[1:-2])[b"body"] for id in ids]
    assert shown == bodies
    world.check()


def test_a_command_that_serves_another_client_is_answered_itself() -> None:
    world = World()
    consumer, producer = world.client(), world.client()
    consumer.send(b"GETJOB", b"FROM", b"q")

    producer.pipeline([b"ADDJOB", b"q", b"b", b"0"], [b"QLEN", b"q"])

    added, length = producer.take()
    assert length == b":0\r\n"
    assert added[1:-2] in consumer.take()[0]


def test_waiters_are_served_in_the_order_they_came() -> None:
    world = World()
    consumers = [world.client() for _ in range(5)]
    producer = world.client()
    for consumer in consumers:
        consumer.send(b"GETJOB", b"FROM", b"q")

    ids = [producer.add() for _ in consumers]

    for consumer, id in zip(consumers, ids, strict=True):
        (given,) = consumer.take()
        assert id in given


def test_a_silenced_client_runs_its_commands_and_is_owed_nothing() -> None:
    world = World()
    client = world.client()

    client.pipeline([b"CLIENT", b"REPLY", b"OFF"], [b"ADDJOB", b"q", b"b", b"0"], [b"PING"])

    assert client.take() == []
    assert client.session.out_bytes == 0
    assert world.node.jobs.count() == 1


# --- Monitors ---------------------------------------------------------------------------------


def test_a_monitor_is_told_of_what_passes_the_gates_and_of_nothing_else() -> None:
    world = World()
    monitor, client = world.client(), world.client()
    monitor.ask(b"MONITOR")

    client.pipeline([b"QLEN", b"q"], [b"QLEN"], [b"NOSUCH"], [b"QPEEK", b"q", b"x"])

    told = [line.rpartition(b"] ")[2] for line in monitor.take()]
    assert told == [b'"QLEN" "q"\r\n', b'"QPEEK" "q" "x"\r\n']


def test_gates_open_again_when_the_last_monitor_has_left() -> None:
    world = World()
    monitors = [world.client() for _ in range(2)]
    for monitor in monitors:
        monitor.ask(b"MONITOR")

    guarded: list[bool] = []
    for monitor in monitors:
        guarded.append(world.front.is_guarded)
        monitor.hang_up()

    assert guarded == [True, True]
    assert not world.front.is_guarded


# --- Clients that come and go -----------------------------------------------------------------


def test_who_hangs_up_while_waiting_is_forgotten() -> None:
    world = World(BEE)
    consumer, producer, asker = world.client(), world.client(), world.client()
    consumer.send(b"GETJOB", b"FROM", b"q")
    producer.send(b"ADDJOB", b"q", b"b", b"0", b"REPLICATE", b"2")

    consumer.hang_up()
    producer.hang_up()

    assert asker.lines(b"INFO", b"clients")[b"connected_clients"] == b"1"
    assert world.node.jobs.count() == 0
    world.check()


def test_a_client_is_forgotten_once_however_often_it_leaves() -> None:
    world = World()
    session = world.client().session

    dispatch.disconnect(world.front, session, START_MS)
    dispatch.disconnect(world.front, session, START_MS)

    assert world.front.node.memory.clients == 0


def test_a_reply_for_a_client_that_left_reaches_nobody() -> None:
    world = World()

    assert dispatch.deliver(world.front, NothingReply(99)) is None


def test_a_client_that_left_runs_nothing_of_what_it_had_sent() -> None:
    world = World()
    client = world.client()
    client.session.backlog.append([b"ADDJOB", b"q", b"b", b"0"])
    dispatch.disconnect(world.front, client.session, START_MS)

    dispatch.run(world.front, client.session, START_MS)

    assert world.node.jobs.count() == 0


# --- Protocol errors --------------------------------------------------------------------------


def break_protocol(client: Client, *before: list[bytes]) -> None:
    client.session.protocol_error = b"Protocol error: invalid bulk length"
    client.pipeline(*before)


def test_a_protocol_error_comes_after_what_was_sent_before_it_and_is_the_end() -> None:
    client = World().client()

    break_protocol(client, [b"PING"], [b"INFO", b"jobs"])

    pong, info, error = client.take()
    assert (pong, info[:1]) == (b"+PONG\r\n", b"$")
    assert error == b"-ERR Protocol error: invalid bulk length\r\n"
    assert client.is_closed


def test_a_protocol_error_waits_for_the_job_asked_for_before_it() -> None:
    world = World()
    client, producer = world.client(), world.client()
    break_protocol(client, [b"GETJOB", b"FROM", b"q"])
    assert (client.take(), client.is_closed) == ([], False)

    id = producer.add()

    given, error = client.take()
    assert id in given
    assert error.startswith(b"-ERR Protocol error")
    assert client.is_closed


def test_after_quit_a_protocol_error_is_not_worth_telling() -> None:
    client = World().client()

    break_protocol(client, [b"QUIT"])

    assert client.take() == [b"+OK\r\n"]
    assert client.is_closed


def test_a_protocol_error_ends_a_silenced_connection() -> None:
    client = World().client()

    break_protocol(client, [b"CLIENT", b"REPLY", b"OFF"])

    assert client.is_closed


# --- Asks -------------------------------------------------------------------------------------


def test_an_ask_is_answered_before_the_clients_next_command_runs() -> None:
    world = World()
    session = world.client().session
    session.backlog.extend([[b"INFO"], [b"ADDJOB", b"q", b"b", b"0"]])

    dispatch.run(world.front, session, START_MS)
    dispatch.run(world.front, session, START_MS)

    assert [type(ask) for ask in world.node.effects.asks] == [DescribeServer]
    assert world.node.jobs.count() == 0
    world.settle()
    assert world.node.jobs.count() == 1


def test_an_ask_nobody_waits_for_is_carried_out_before_the_next_command_too() -> None:
    world = World()
    session = world.client().session
    session.backlog.extend([[b"CLUSTER", b"LEAVING", b"yes"], [b"PING"]])

    dispatch.run(world.front, session, START_MS)

    assert [type(ask) for ask in world.node.effects.asks] == [SaveNodes]
    assert (session.out, len(session.backlog)) == ([b"+OK\r\n"], 1)


def test_others_are_served_while_one_waits_for_an_answer() -> None:
    world = World()
    waiting, other = world.client(), world.client()
    waiting.send(b"DEBUG", b"RESTART")

    waiting.send(b"PING")

    assert other.ask(b"PING") == b"+PONG\r\n"
    assert waiting.take() == []


def test_the_time_of_a_command_that_asks_counts_until_its_answer() -> None:
    world = World()
    client = world.client()
    client.ask(b"CONFIG", b"SET", b"slowlog-log-slower-than", b"1000")
    world.step_ns = 600_000
    client.ask(b"TIME")
    world.step_ns = 0

    (entry,) = client.items(b"SLOWLOG", b"GET")

    assert isinstance(entry, list)
    assert entry[2] == 1_200
    assert entry[3] == [b"TIME"]


def test_above_95_percent_every_command_makes_room() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"body", b"RETRY", b"0")
    client.get(b"q")
    client.ask(b"CONFIG", b"SET", b"maxmemory", b"1")

    assert client.ask(b"PING") == b"+PONG\r\n"

    assert client.ask(b"SHOW", id) == b"$-1\r\n"


def test_a_slow_eviction_is_recorded() -> None:
    world = World()
    client = world.client()
    client.add(b"q", b"body", b"RETRY", b"0")
    client.get(b"q")
    client.ask(b"CONFIG", b"SET", b"latency-monitor-threshold", b"1")
    client.ask(b"CONFIG", b"SET", b"maxmemory", b"1")
    world.step_ns = 2_000_000

    client.ask(b"ADDJOB", b"q", b"body", b"0")

    assert b"eviction-cycle" in [event for event, _ in world.front.latency.latest()]


def test_a_turn_ends_when_its_time_is_used_up() -> None:
    world = World()
    client = world.client()
    world.step_ns = TURN_NS_MAX // 3
    client.session.backlog.extend([[b"PING"] for _ in range(100)])

    dispatch.run(world.front, client.session, world.now_ms)

    assert 1 < len(client.session.out) <= 4
    assert len(client.session.backlog) == 100 - len(client.session.out)


def test_a_command_that_needs_no_answer_after_all_lets_the_client_go_on() -> None:
    world = World()
    world.results[Restart] = Done()
    client = world.client()

    client.pipeline([b"DEBUG", b"RESTART"], [b"PING"])

    assert client.take() == [b"+PONG\r\n"]


# --- Mistakes of ours -------------------------------------------------------------------------


def broken(_front: Frontend, _session: Session, _argv: list[bytes], _now_ms: int) -> bytes:
    raise KeyError("nobody expected this")


def test_a_mistake_of_ours_is_answered_counted_and_told_in_the_log() -> None:
    world = World()
    world.front.entries[b"PING"].handler = broken
    client, other = world.client(), world.client()

    client.pipeline([b"PING"], [b"ECHO", b"x"])

    assert client.take() == [INTERNAL, b"$1\r\nx\r\n"]
    assert other.ask(b"QLEN", b"q") == b":0\r\n"
    assert client.lines(b"INFO", b"stats")[b"internal_errors"] == b"1"
    assert world.notes[0] == "internal error in ping: KeyError('nobody expected this')"
    assert any("Traceback" in note for note in world.notes)


def test_a_mistake_in_an_answer_is_a_mistake_of_ours_too() -> None:
    world = World()
    # TIME cannot make sense of this.
    world.results[ReadWallClock] = Done()
    client = world.client()

    client.pipeline([b"TIME"], [b"PING"])

    assert client.take() == [INTERNAL, b"+PONG\r\n"]
    assert world.front.internal_errors == 1


def test_a_mistake_of_ours_does_not_tell_clients_what_went_wrong() -> None:
    world = World()
    world.front.entries[b"PING"].handler = broken

    assert b"nobody expected" not in world.client().ask(b"PING")


# --- Time -------------------------------------------------------------------------------------


def test_each_command_is_timed_by_itself() -> None:
    world = World()
    client = world.client()
    world.step_ns = 1_000

    client.pipeline([b"PING"], [b"ECHO", b"x"], [b"PING"])
    world.step_ns = 0
    client.take()

    stats = client.lines(b"INFO", b"commandstats")
    assert stats[b"cmdstat_ping"].startswith(b"calls=2,usec=2,")
    assert stats[b"cmdstat_echo"].startswith(b"calls=1,usec=1,")


def test_commands_added_by_any_client_never_share_a_place_in_time() -> None:
    world = World()
    client = world.client()
    ids = [client.add() for _ in range(50)]

    ctimes = [client.fields(b"SHOW", id)[b"ctime"] for id in ids]

    numbers = [ctime for ctime in ctimes if isinstance(ctime, int)]
    assert len(numbers) == 50
    assert all(earlier < later for earlier, later in pairwise(numbers))


@pytest.mark.parametrize(
    ("slower_than_us", "threshold_ms", "is_slow", "is_spike"),
    [
        (-1, 0, False, False),
        (0, 0, True, False),
        (20_000, 0, True, False),
        (20_001, 0, False, False),
        (-1, 20, False, True),
        (-1, 21, False, False),
        (20_000, 20, True, True),
        (20_001, 20, False, True),
        (20_000, 21, True, False),
    ],
)
def test_what_took_long_is_remembered_where_its_threshold_says_so(
    slower_than_us: int, threshold_ms: int, is_slow: bool, is_spike: bool
) -> None:
    settings = Settings()
    settings.slowlog_log_slower_than = slower_than_us
    settings.latency_monitor_threshold = threshold_ms
    world = World(settings=settings)
    client = world.client()
    world.step_ns = 20_000_000

    client.ask(b"PING")

    assert bool(len(world.front.slowlog)) == is_slow
    assert bool(world.front.latency.latest()) == is_spike
