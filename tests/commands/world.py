"""A whole server without sockets: command layer, clients and the world it asks, in virtual time.

`World` does what the shell does with effects, in the same order: replies reach the clients that
were blocked, asks are answered, notes are kept, and whoever may go on goes on. Nothing happens
between two calls; time passes only in `pass_time` and `stall`.

    world = World()
    client = world.client()
    client.ask(b"QLEN", b"jobs")          the raw reply
    client.send(b"GETJOB", b"FROM", b"q")  nothing yet: client.is_blocked
"""

from __future__ import annotations

import random
from typing import Final

from disque.commands import dispatch
from disque.commands.handlers import make_frontend
from disque.commands.session import FREE, ON_QUEUES, ON_REPLICATION, Session
from disque.core.check import check
from disque.core.node import Node
from disque.model.asks import (
    Ask,
    CloseClient,
    Crash,
    DescribeClients,
    DescribeServer,
    Done,
    PauseClients,
    ReadWallClock,
    Restart,
    Result,
    Shutdown,
    WallClock,
)
from disque.model.facts import (
    BuildFacts,
    ClientFacts,
    ClientsFacts,
    CpuFacts,
    ProcessFacts,
    ServerFacts,
)
from disque.model.job import NodeId
from disque.model.messages import Message
from disque.model.peer import Peer
from disque.model.settings import Settings
from tests.support.resp import Value, decode

__all__ = ["ME", "START_MS", "WALL_US", "Client", "World", "reply_end", "server_facts"]

START_MS: Final = 1_700_000_000_000
# The wall clock and the server's clock need not agree.
WALL_US: Final = 1_700_000_123_456_789
ME: Final = NodeId(b"a" * 40)
PORT: Final = 7711
# Commands a client may have waiting before a test must be mistaken.
TURNS_MAX: Final = 10_000


class Client:
    """One connection: send words, take replies."""

    def __init__(self, world: World, session: Session) -> None:
        self.world = world
        self.session = session
        self.is_closed = False
        self._taken: list[bytes] = []

    @property
    def id(self) -> int:
        """The number the server knows this client by."""
        return self.session.id

    @property
    def is_blocked(self) -> bool:
        """Whether the server owes this client a reply that depends on others."""
        return self.session.waits in (ON_QUEUES, ON_REPLICATION)

    def send(self, *words: bytes) -> None:
        """Send one request and let the server do what it can."""
        assert not self.is_closed, "the server closed this connection"
        self.session.backlog.append(list(words))
        self.world.settle()

    def pipeline(self, *requests: list[bytes]) -> None:
        """Send several requests at once."""
        assert not self.is_closed, "the server closed this connection"
        self.session.backlog.extend(requests)
        self.world.settle()

    def take(self) -> list[bytes]:
        """Take the replies that arrived since the last time, each of them complete."""
        self.flush()
        taken, self._taken = self._taken, []
        for reply in taken:
            assert reply_end(reply, 0) == len(reply), f"not exactly one reply: {reply!r}"
        return taken

    def ask(self, *words: bytes) -> bytes:
        """Send one request and return its reply, which must be there at once."""
        assert self.take() == [], "replies were left from before"
        self.send(*words)
        replies = self.take()
        assert len(replies) == 1, f"{words!r} was answered by {replies!r}"
        return replies[0]

    def value(self, *words: bytes) -> Value:
        """Send one request and return its reply as a value."""
        return decode(self.ask(*words))

    def items(self, *words: bytes) -> list[Value]:
        """Send one request whose reply must be an array."""
        value = self.value(*words)
        assert isinstance(value, list), value
        return value

    def fields(self, *words: bytes) -> dict[bytes, Value]:
        """Send one request whose reply is a flat array of names and values."""
        flat = self.items(*words)
        names = [name for name in flat[::2] if isinstance(name, bytes)]
        return dict(zip(names, flat[1::2], strict=True))

    def lines(self, *words: bytes) -> dict[bytes, bytes]:
        """Send one request whose reply is a text of lines `name:value`, such as INFO."""
        text = self.value(*words)
        assert isinstance(text, bytes), text
        pairs = [line.partition(b":") for line in text.split(b"\r\n") if b":" in line]
        return {name: value for name, _, value in pairs}

    def add(self, queue: bytes = b"q", body: bytes = b"body", *options: bytes) -> bytes:
        """ADDJOB, returning the id."""
        reply = self.ask(b"ADDJOB", queue, body, b"0", *options)
        assert reply.startswith(b"+D-"), reply
        return reply[1:-2]

    def get(self, queue: bytes = b"q") -> bytes:
        """GETJOB of a queue that has a job, returning its id."""
        (job,) = self.items(b"GETJOB", b"NOHANG", b"FROM", queue)
        assert isinstance(job, list)
        id = job[1]
        assert isinstance(id, bytes)
        return id

    def state_of(self, id: bytes) -> Value:
        """Return the state SHOW tells of a job, None if it is unknown."""
        shown = self.value(b"SHOW", id)
        return shown[5] if isinstance(shown, list) else None

    def hang_up(self) -> None:
        """Disconnect."""
        self.world.close(self)
        self.world.settle()

    def flush(self) -> None:
        """Receive what the server has for us."""
        self._taken += self.session.out
        self.session.taken_output()


class World:
    """A server, its clients, its clock, and everything it may ask about.

    Peers never answer by themselves; `receive` plays their part. An ask that ends the process is
    found in `asked`; anything else is answered well, unless `results` says otherwise.
    """

    def __init__(self, *peers: NodeId, settings: Settings | None = None, seed: int = 1) -> None:
        self.settings = settings if settings is not None else Settings()
        self.settings.dir = "/srv/disque"
        entropy, jitter = random.Random(seed), random.Random(seed + 1)
        self.node = Node(ME, PORT, self.settings, entropy, jitter)
        for peer in peers:
            self.node.membership.nodes[peer] = Peer(peer, "10.0.0.1", PORT, 0)
        self.now_ms = START_MS
        # What the stopwatch gains at each look at it.
        self.step_ns = 0
        self._stopwatch_ns = 0
        self.front = make_frontend(self.node, self.settings, self._read_stopwatch)
        self.clients: dict[int, Client] = {}
        self.asked: list[Ask] = []
        self.notes: list[str] = []
        self.sent: list[tuple[NodeId, Message]] = []
        self.results: dict[type[Ask], Result] = {}
        self._last_id = 0

    # --- Clients --------------------------------------------------------------------------------

    def client(self, address: bytes = b"", is_unix: bool = False) -> Client:
        """Connect a client."""
        self._last_id += 1
        place = address or b"127.0.0.1:%d" % (50_000 + self._last_id)
        client = Client(self, Session(self._last_id, place, is_unix, self.now_ms))
        self.clients[client.id] = client
        dispatch.connect(self.front, client.session)
        return client

    def close(self, client: Client) -> None:
        """End a connection; what was replied is still read."""
        if not client.is_closed:
            client.flush()
            client.is_closed = True
            del self.clients[client.id]
            dispatch.disconnect(self.front, client.session, self.now_ms)

    # --- Turns ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Run every request that can run, and carry out what follows from it."""
        self.carry_out()
        for _ in range(TURNS_MAX):
            ready = [client for client in self.clients.values() if self._can_run(client)]
            if not ready:
                return
            self.front.traffic.roll(self.now_ms)
            for client in ready:
                if not client.is_closed:
                    dispatch.run(self.front, client.session, self.now_ms)
                    self.carry_out()
        raise AssertionError("the server runs commands for ever")

    def carry_out(self) -> None:
        """Do what the effects say, in the order of the shell."""
        effects = self.node.effects
        assert effects.journal == [], "nobody keeps a journal"
        self.sent += effects.outbox
        effects.outbox.clear()
        while effects.replies or effects.asks:
            replies, effects.replies = effects.replies[:], []
            for reply in replies:
                assert dispatch.deliver(self.front, reply) is not None, "nobody waits for this"
            asks = effects.asks[:]
            effects.asks.clear()
            for ask in asks:
                self._carry_out(ask)
        for client in list(self.clients.values()):
            client.flush()
            if client.session.is_closing:
                self.close(client)
        self.notes += [note.text for note in effects.notes]
        effects.notes.clear()

    def check(self) -> None:
        """Fail unless the state of the server is sound and no command went wrong inside."""
        check(self.node)
        assert self.front.internal_errors == 0, "\n".join(self.notes)
        assert self.node.memory.clients == len(self.front.sessions) == len(self.clients)
        for id, session in self.front.sessions.items():
            is_waiting = id in self.node.waiters.by_client
            assert (session.waits == ON_QUEUES) == is_waiting, f"client {id} waits in vain"
            is_producing = bool(self.node.replication.jobs_of(id))
            assert (session.waits == ON_REPLICATION) == is_producing, f"client {id} waits in vain"

    def receive(self, sender: NodeId, message: Message) -> None:
        """Let a peer say something."""
        self.node.receive(sender, message, self.now_ms)
        self.settle()

    # --- Time -----------------------------------------------------------------------------------

    def pass_time(self, elapsed_ms: int) -> None:
        """Let time pass, with a tick exactly when the node asks for one."""
        end_ms = self.now_ms + elapsed_ms
        while True:
            moments = [self.node.next_ms(), self._end_of_pause_ms()]
            at_ms = min([moment for moment in moments if moment is not None], default=end_ms + 1)
            if at_ms > end_ms:
                break
            self.now_ms = max(at_ms, self.now_ms)
            self.node.tick(self.now_ms)
            self.settle()
        self.now_ms = end_ms

    def stall(self, elapsed_ms: int) -> None:
        """Let time pass unnoticed: no timer runs, however late it is by then."""
        self.now_ms += elapsed_ms

    # --- Helpers --------------------------------------------------------------------------------

    def _read_stopwatch(self) -> int:
        self._stopwatch_ns += self.step_ns
        return self._stopwatch_ns

    def _end_of_pause_ms(self) -> int | None:
        return self.front.paused_until_ms if self.front.paused_until_ms > self.now_ms else None

    def _can_run(self, client: Client) -> bool:
        session = client.session
        has_work = session.backlog or session.protocol_error is not None
        is_paused = self.now_ms < self.front.paused_until_ms
        return bool(has_work and session.waits == FREE and not is_paused)

    def _carry_out(self, ask: Ask) -> None:
        self.asked.append(ask)
        if isinstance(ask, CloseClient):
            if ask.target in self.clients:
                self.close(self.clients[ask.target])
            return
        if isinstance(ask, PauseClients):
            return
        result = self._result(ask)
        session = self.front.sessions.get(ask.client)
        if session is not None and result is not None:
            dispatch.finish(self.front, session, ask, result, self.now_ms)

    def _result(self, ask: Ask) -> Result | None:
        if type(ask) in self.results:
            return self.results[type(ask)]
        if isinstance(ask, Shutdown | Restart | Crash):
            return None
        if isinstance(ask, DescribeServer):
            return server_facts()
        if isinstance(ask, DescribeClients):
            return ClientsFacts({id: client_facts(id) for id in self.clients})
        if isinstance(ask, ReadWallClock):
            return WallClock(WALL_US)
        return Done()


def server_facts() -> ServerFacts:
    """Describe a process that does not exist."""
    build = BuildFacts(b"1.2.3", b"0123abcd", b"feed", b"3.11.0", b"virtual", b"interpreted")
    process = ProcessFacts(
        4_242, b"r" * 40, PORT, 90_061, b"/bin/disque", b"/etc/disque.conf", b"Virtual 1", 64
    )
    return ServerFacts(build, process, CpuFacts(1.5, 2.25, 0.0, 0.125), 3_000_000, 2, 77)


def client_facts(id: int) -> ClientFacts:
    """Describe the socket of a client that has none."""
    return ClientFacts(id, 100 + id, 5, 0, 6, 1, 7, b"r")


def reply_end(raw: bytes, start: int) -> int:
    """Return where the reply that begins at `start` ends; fail if it is not a reply at all."""
    position, pending = start, 1
    while pending:
        pending -= 1
        line_end = raw.find(b"\r\n", position)
        assert line_end > position, f"not a reply: {raw[position:]!r}"
        kind, rest = raw[position : position + 1], raw[position + 1 : line_end]
        position = line_end + 2
        assert b"\r" not in rest, f"a line breaks early: {raw!r}"
        assert b"\n" not in rest, f"a line breaks early: {raw!r}"
        if kind in b"+-":
            continue
        if kind == b"_":
            assert rest == b"", f"null has no content: {raw!r}"
            continue
        number = int(rest)
        assert b"%d" % number == rest, f"not a canonical number: {rest!r}"
        if kind == b"*":
            pending += max(number, 0)
        elif kind == b"%":
            pending += 2 * number
        elif kind == b"$":
            if number >= 0:
                position += number + 2
                assert raw[position - 2 : position] == b"\r\n", f"a bulk has no end: {raw!r}"
        else:
            assert kind == b":", f"not a reply: {raw!r}"
    return position
