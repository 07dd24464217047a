"""Whatever clients say, in whatever state jobs are, every request gets exactly one reply.

Random requests run in a server without sockets, between the passing of time, the coming and going
of clients and what peers say. After every step the whole state must be sound, no command may have
gone wrong inside, and nobody may have got a reply too many or too few. A client may only be left
waiting where it is blocked, which the state must agree about.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain, product
from typing import Final, TypeVar

import pytest
from hypothesis import example, given, settings as profile, strategies as st

from disque.commands.session import ON_ANSWER, REPLY_OFF, REPLY_ON, REPLY_SKIP
from disque.commands.table import COMMANDS, FORMS
from disque.model.asks import Crash, Failed, Restart, Shutdown
from disque.model.directive_table import READABLE
from disque.model.job import JobId, NodeId
from disque.model.messages import DelJob, GotAck, GotJob, Message, SetAck
from tests.commands.world import Client, World

BEE: Final = NodeId(b"b" * 40)
CAT: Final = NodeId(b"c" * 40)
CLIENTS: Final = 4
STEPS: Final = 40

MONITOR_LINE: Final = re.compile(rb"\+\d+\.\d{6} \[")
UNKNOWN_ID: Final = b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a1"

# Stands for a word of 70 000 bytes, which failures would rather not print.
LONG: Final = b"%LONG"
# A word of the form %ID<n>, with n from 0 to 9, stands for the id of a job that exists by then.
IDS: Final = [b"%%ID%d" % number for number in range(10)]

NAMES: Final = [command.name for command in COMMANDS]
SYNTAXES: Final = [
    *[command.syntax for command in COMMANDS],
    *[f"{form.name} {form.syntax}" for form in FORMS],
]
OPTIONS: Final = sorted(
    {word.encode() for syntax in SYNTAXES for word in re.findall(r"[A-Za-z][A-Za-z-]+", syntax)}
)
NUMBERS: Final = [
    *[b"0", b"1", b"2", b"3", b"-1", b"+5", b"007", b"10", b"100", b"65535", b"65536"],
    *[b"4294967295", b"4294967296", b"9223372036854775807", b"-9223372036854775808"],
    *[b"9223372036854775808", b"18446744073709551615", b"1" * 30, b"1e3", b"0x10", b"", b"1_0"],
]
ODD: Final = [b"\0", b"\xff\xfe", b"\r\n", b"+OK\r\n", b" ", b"*", b"[", b"%s%n", LONG]

queue = st.sampled_from([b"q", b"q", b"other", b""])
id_word = st.sampled_from([*IDS, UNKNOWN_ID])
number = st.sampled_from(NUMBERS) | st.integers(-(2**64), 2**64).map(lambda n: b"%d" % n)
small = st.integers(0, 5).map(lambda n: b"%d" % n)
anything = st.one_of(
    queue, id_word, number, st.sampled_from(OPTIONS), st.sampled_from(ODD), st.binary(max_size=50)
)


Drawn = TypeVar("Drawn")


def weighted(*choices: tuple[int, st.SearchStrategy[Drawn]]) -> st.SearchStrategy[Drawn]:
    """Choose one of several, some more often than others."""
    drawn = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.sampled_from(drawn).flatmap(lambda strategy: strategy)


def said(name: str, *arguments: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[bytes]]:
    """Say a command with these arguments."""
    return st.tuples(st.just(name.encode()), *arguments).map(list)


def with_options(
    head: st.SearchStrategy[list[bytes]], *options: st.SearchStrategy[list[bytes]]
) -> st.SearchStrategy[list[bytes]]:
    """Append any of the options, in any order."""
    many = st.lists(st.one_of(*options), max_size=4)
    return st.tuples(head, many).map(lambda parts: [*parts[0], *chain(*parts[1])])


def option(name: str, value: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[bytes]]:
    return st.tuples(st.just(name.encode()), value).map(list)


def flag(name: str) -> st.SearchStrategy[list[bytes]]:
    return st.just([name.encode()])


addjob = with_options(
    said(
        "ADDJOB",
        queue,
        st.binary(max_size=20),
        st.sampled_from([b"0", b"50", b"1000"]),
        st.just(b"REPLICATE"),
        st.just(b"1"),
    ),
    option("REPLICATE", st.sampled_from([b"2", b"3", b"4"])),
    option("RETRY", small),
    option("DELAY", small),
    option("TTL", st.sampled_from([b"1", b"2", b"10", b"100", b"86400"])),
    option("MAXLEN", small),
    flag("ASYNC"),
)
getjob = st.builds(
    lambda head, names: [*head, b"FROM", *names],
    with_options(
        said("GETJOB"),
        flag("NOHANG"),
        flag("WITHCOUNTERS"),
        option("COUNT", small),
        option("TIMEOUT", st.sampled_from([b"0", b"1", b"700"])),
    ),
    st.lists(queue, min_size=1, max_size=3),
)
about_jobs = st.builds(
    lambda name, ids: [name, *ids],
    st.sampled_from([b"ACKJOB", b"FASTACK", b"DELJOB", b"ENQUEUE", b"NACK", b"DEQUEUE"]),
    st.lists(id_word, max_size=3),
)
about_one_job = said("WORKING", id_word) | said("SHOW", id_word)
about_queues = st.one_of(
    said("PAUSE", queue, st.sampled_from([b"in", b"out", b"all", b"none", b"state", b"bcast"])),
    said("QPEEK", queue, number),
    said("QSTAT", queue),
    with_options(said("QSCAN"), option("COUNT", small), option("MINLEN", small), flag("BUSYLOOP")),
    with_options(
        said("JSCAN"),
        option("STATE", st.sampled_from([b"queued", b"active", b"acked", b"wait-repl"])),
        option("REPLY", st.sampled_from([b"all", b"id"])),
        option("COUNT", small),
    ),
)
about_the_server = st.one_of(
    said("CONFIG", st.just(b"SET"), st.just(b"maxmemory"), st.sampled_from([b"1mb", b"1gb"])),
    said("CONFIG", st.just(b"SET"), st.just(b"retry-from"), st.just(b"delivered")),
    said("CONFIG", st.just(b"SET"), st.just(b"slowlog-log-slower-than"), small),
    said("CONFIG", st.just(b"GET"), anything),
    said("CLIENT", st.just(b"REPLY"), st.sampled_from([b"on", b"off", b"skip"])),
    said("CLIENT", st.just(b"KILL"), st.just(b"ID"), small),
    said("CLIENT", st.just(b"PAUSE"), small),
    said("INFO", st.sampled_from([b"all", b"stats"])),
    said("MONITOR"),
    said("HELLO", st.sampled_from([b"2", b"3"])),
    said("RESET"),
)
# What ends most of what happened before.
drastic = st.one_of(
    said("CLUSTER", st.just(b"LEAVING"), st.sampled_from([b"yes", b"no"])),
    said("CLUSTER", st.just(b"RESET"), st.sampled_from([b"soft", b"hard"])),
    said("DEBUG", st.just(b"FLUSHALL")),
)
nonsense = st.tuples(
    st.sampled_from(NAMES) | st.sampled_from([b"QUIT", b"nosuch", b"", b"POST"]) | st.binary(),
    st.lists(anything, max_size=5),
).map(lambda parts: [parts[0], *parts[1]])
setting = said(
    "CONFIG",
    st.just(b"SET"),
    st.sampled_from([directive.name.encode() for directive in READABLE]),
    st.sampled_from([b"yes", b"no", b"normal 1 2 3", b"/tmp"]) | anything,
)
# A subcommand that exists, with arguments that need not.
subcommand = st.tuples(
    st.sampled_from([form.name.encode().split() for form in FORMS]),
    st.lists(anything, max_size=3),
).map(lambda parts: [*parts[0], *parts[1]])
request = weighted(
    (30, addjob),
    (20, getjob),
    (20, about_jobs),
    (10, about_one_job),
    (10, about_queues),
    (8, about_the_server),
    (5, nonsense),
    (5, subcommand),
    (3, setting),
    (1, drastic),
)

# What happens: a client says something, time passes, a client is replaced, a peer speaks.
Step = tuple[str, int, list[bytes]]
nothing: st.SearchStrategy[list[bytes]] = st.just([])
step: st.SearchStrategy[Step] = weighted(
    (30, st.tuples(st.just("say"), st.integers(0, CLIENTS - 1), request)),
    (5, st.tuples(st.just("wait"), st.integers(1, 3_000), nothing)),
    (1, st.tuples(st.just("wait"), st.integers(1, 400_000), nothing)),
    (2, st.tuples(st.just("stall"), st.integers(1, 10_000), nothing)),
    (1, st.tuples(st.just("leave"), st.integers(0, CLIENTS - 1), nothing)),
    (3, st.tuples(st.just("peer"), st.integers(0, 7), st.lists(id_word, min_size=1, max_size=1))),
)
# Long enough for jobs to go through several states.
plan = st.lists(step, min_size=STEPS, max_size=STEPS)


class Fuzzed:
    """A world in which every reply is counted."""

    def __init__(self, *peers: NodeId) -> None:
        self.world = World(*peers)
        # Commands that end the process fail, so that the run goes on.
        self.world.results[Shutdown] = self.world.results[Restart] = Failed("not now")
        self.clients = [self.world.client() for _ in range(CLIENTS)]
        # Who waited before this step, and whose reply is then to be dropped.
        self.was_blocked: set[int] = set()
        self.was_skipping: set[int] = set()

    def take(self, step: Step) -> None:
        """Let one thing happen, and check everything."""
        kind, value, words = step
        if kind == "say":
            self.say(value, [self.meant(word) for word in words])
        elif kind == "wait":
            self.world.pass_time(value)
        elif kind == "stall":
            self.world.stall(value)
        elif kind == "leave":
            self.clients[value].hang_up()
        else:
            self.hear(value, JobId(self.meant(words[0])))
        self.settle_accounts()
        self.world.check()

    def meant(self, word: bytes) -> bytes:
        """Replace a placeholder by the id of a job."""
        ids = sorted(self.world.node.jobs.ids())
        if word in IDS:
            return ids[int(word[3:]) % len(ids)] if ids else UNKNOWN_ID
        return b"x" * 70_000 if word == LONG else word

    def say(self, place: int, words: list[bytes]) -> None:
        """Let a client that is not blocked say something; it must get what it deserves."""
        client = self.clients[place]
        if client.is_blocked:
            return
        mode_before = client.session.reply_mode
        client.send(*words)
        answers = [reply for reply in client.take() if not MONITOR_LINE.match(reply)]
        # A pause may last a century; it is unit tests that show it holds.
        self.world.front.paused_until_ms = 0
        if client.session.waits == ON_ANSWER:
            # Only who crashes the server is left without a word; the server lives on for our sake.
            assert isinstance(self.world.asked[-1], Crash), words
            assert answers == [], words
            client.hang_up()
            return
        expected = answers_due(mode_before, client)
        assert len(answers) in expected, f"{words!r} was answered by {answers!r}"

    def hear(self, choice: int, id: JobId) -> None:
        """Let a peer tell something about a job, which it may have made up."""
        messages: list[Message] = [GotJob(id), SetAck(id), GotAck(id, choice % 4 == 2), DelJob(id)]
        if len(self.world.node.membership.nodes) > 1:
            self.world.receive((BEE, CAT)[choice // 4], messages[choice % 4])

    def settle_accounts(self) -> None:
        """Replace clients that were closed; nobody who said nothing may have got a second reply."""
        for place, client in enumerate(self.clients):
            answers = [reply for reply in client.take() if not MONITOR_LINE.match(reply)]
            owed = 1 if place in self.was_blocked and not client.is_blocked else 0
            assert len(answers) <= owed, answers
            if owed and client.session.reply_mode == REPLY_ON and not client.is_closed:
                assert len(answers) == 1 or place in self.was_skipping
            if client.is_closed:
                self.clients[place] = self.world.client()
        blocked = [place for place, client in enumerate(self.clients) if client.is_blocked]
        self.was_blocked = set(blocked)
        self.was_skipping = {
            place for place in blocked if self.clients[place].session.reply_mode == REPLY_SKIP
        }


def answers_due(mode_before: int, client: Client) -> set[int]:
    """Tell how many replies a request deserves, now that it ran."""
    mode = client.session.reply_mode
    if client.is_blocked or mode in (REPLY_OFF, REPLY_SKIP):
        return {0}
    if mode_before == REPLY_SKIP:
        # Skipped, unless the command was CLIENT REPLY ON or RESET.
        return {0, 1}
    return {1}


def run(steps: list[Step], *peers: NodeId) -> None:
    fuzzed = Fuzzed(*peers)
    for each in steps:
        fuzzed.take(each)


EXAMPLES: Final = max(150, profile().max_examples)


@pytest.mark.slow
@profile(max_examples=EXAMPLES)
@given(plan)
def test_a_node_alone_answers_every_request_once_and_stays_sound(steps: list[Step]) -> None:
    run(steps)


@pytest.mark.slow
@profile(max_examples=EXAMPLES)
@given(plan)
def test_a_node_with_peers_answers_every_request_once_and_stays_sound(steps: list[Step]) -> None:
    run(steps, BEE, CAT)


@given(st.lists(nonsense | subcommand | setting, max_size=10))
@example([[b"DEBUG", b"ERROR", b""]])
@example([[b"CLUSTER", b"MEET", b"\xff", b"\r\n"]])
def test_nonsense_is_answered(requests: list[list[bytes]]) -> None:
    run([("say", 0, words) for words in requests])


# --- Every command in every state -------------------------------------------------------------


def unknown(_world: World, _client: Client) -> bytes:
    return UNKNOWN_ID


def queued(_world: World, client: Client) -> bytes:
    return client.add(b"q", b"body", b"REPLICATE", b"1")


def delayed(_world: World, client: Client) -> bytes:
    return client.add(b"q", b"body", b"DELAY", b"10")


def delivered(world: World, client: Client) -> bytes:
    queued(world, client)
    return client.get()


def delivered_at_most_once(_world: World, client: Client) -> bytes:
    client.add(b"q", b"body", b"RETRY", b"0")
    return client.get()


def dequeued(world: World, client: Client) -> bytes:
    id = queued(world, client)
    assert client.ask(b"DEQUEUE", id) == b":1\r\n"
    return id


def expired_but_not_noticed(world: World, client: Client) -> bytes:
    id = client.add(b"q", b"body", b"TTL", b"1")
    world.stall(5_000)
    return id


def in_a_paused_queue(world: World, client: Client) -> bytes:
    id = queued(world, client)
    client.ask(b"PAUSE", b"q", b"all")
    return id


def waiting_for_copies(world: World, _client: Client) -> bytes:
    world.client().send(b"ADDJOB", b"q", b"body", b"0", b"REPLICATE", b"3")
    (id,) = world.node.jobs.ids()
    return id


def acknowledged(world: World, client: Client) -> bytes:
    id = client.add(b"q", b"body", b"REPLICATE", b"2", b"ASYNC")
    assert client.ask(b"ACKJOB", id) == b":1\r\n"
    assert client.state_of(id) == b"acked"
    return id


def dummy(_world: World, client: Client) -> bytes:
    assert client.ask(b"ACKJOB", UNKNOWN_ID) == b":0\r\n"
    assert client.state_of(UNKNOWN_ID) == b"acked"
    return UNKNOWN_ID


ALONE: Final = [
    unknown,
    queued,
    delayed,
    delivered,
    delivered_at_most_once,
    dequeued,
    expired_but_not_noticed,
    in_a_paused_queue,
]
AMONG_PEERS: Final = [waiting_for_copies, acknowledged, dummy]
STATES: Final = [(state, ()) for state in ALONE] + [
    (state, (BEE, CAT)) for state in [unknown, queued, delivered, *AMONG_PEERS]
]


@pytest.mark.parametrize(
    ("state", "peers"), STATES, ids=[f"{state.__name__}-{len(peers)}" for state, peers in STATES]
)
def test_every_command_is_answered_in_every_state_of_a_job(
    state: Callable[[World, Client], bytes], peers: tuple[NodeId, ...]
) -> None:
    for name, shape in product(NAMES, range(5)):
        world = World(*peers)
        world.results[Shutdown] = Failed("not now")
        client = world.client()
        id = state(world, client)
        shapes = [[], [id], [id, id], [b"q", id], [b"q", id, b"0"]]

        client.send(name, *shapes[shape])

        answers = client.take()
        assert len(answers) == (0 if client.is_blocked else 1), (name, answers)
        world.check()
        world.pass_time(400_000)
        world.check()
