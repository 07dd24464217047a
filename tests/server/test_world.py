"""What the core asks of the world is done, or the reason why not is told."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from disque.commands.session import Session
from disque.model.asks import (
    Apply,
    Ask,
    DescribeClients,
    DescribeServer,
    Done,
    Failed,
    ReadWallClock,
    Restart,
    RewriteConfig,
    SaveNodes,
    Shutdown,
    Sleep,
    WallClock,
)
from disque.model.facts import ClientFacts, ClientsFacts, ServerFacts
from disque.model.job import NodeId
from disque.model.peer import Peer
from disque.server.logs import Log
from disque.server.nodesfile import NodesFile
from disque.server.world import World
from tests.server.inside import Inside, Lines, new_settings, new_world
from tests.support.fixtures import Starter

CLIENT = 7
OLD_CONFIG = b"# mine\nhz 10\n"


class Someone:
    """A connection that only describes itself."""

    def __init__(self, id: int, input_bytes: int = 0, output_chunks: int = 0) -> None:
        self.session = Session(id, b"10.0.0.1:5000", False, 0)
        self._facts = ClientFacts(id, 9, input_bytes, 0, 0, output_chunks, 0, b"r")

    def facts(self) -> ClientFacts:
        """Describe socket and buffers."""
        return self._facts


class Crowd:
    """Whoever is connected."""

    def __init__(self, *connections: Someone) -> None:
        self.connections = {each.session.id: each for each in connections}


class Place:
    """A world with files in a directory, and a server that can be ended."""

    def __init__(self, directory: Path, *, config_file: str = "") -> None:
        self.settings = new_settings()
        self.settings.dir = str(directory)
        self.lines = Lines()
        self.log = Log([self.lines], level="debug")
        self.nodes_path = directory / "nodes.conf"
        self.ends: list[Restart | None] = []
        self.can_end = True
        self.world: World = new_world(
            self.settings,
            self.log,
            self._end,
            config_file=config_file,
            nodes_file=NodesFile(self.nodes_path),
        )

    def reason(self, ask: Ask) -> str:
        """Ask for what cannot be done; return why."""
        result = self.world.answer(ask, Crowd())
        assert isinstance(result, Failed)
        return result.reason

    def do(self, ask: Ask) -> None:
        """Ask for what can be done."""
        assert isinstance(self.world.answer(ask, Crowd()), Done)

    def _end(self, restart: Restart | None) -> bool:
        self.ends.append(restart)
        return self.can_end


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


@pytest.fixture
def config_path(tmp_path: Path) -> Path:
    path = tmp_path / "disque.conf"
    path.write_bytes(OLD_CONFIG)
    return path


@pytest.fixture
def same_limits() -> Iterator[None]:
    """Put back how many files this process may open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


# --- Facts ------------------------------------------------------------------------------------


def test_the_server_is_described_with_the_largest_buffers_of_its_clients(tmp_path: Path) -> None:
    place = Place(tmp_path, config_file="/etc/disque.conf")
    place.settings.port = 7712
    crowd = Crowd(Someone(1, 100, 1), Someone(2, 20_000), Someone(3, 0, 2))

    facts = place.world.answer(DescribeServer(CLIENT, b"all"), crowd)

    assert isinstance(facts, ServerFacts)
    assert (facts.biggest_input_buffer, facts.longest_output_list) == (20_000, 2)
    process = facts.process
    assert (process.pid, process.tcp_port) == (os.getpid(), 7712)
    assert process.config_file == b"/etc/disque.conf"
    assert process.uptime_s == 0


def test_a_server_without_clients_is_described_too(place: Place) -> None:
    facts = place.world.answer(DescribeServer(CLIENT, b"all"), Crowd())

    assert isinstance(facts, ServerFacts)
    assert (facts.biggest_input_buffer, facts.longest_output_list) == (0, 0)


def test_every_run_has_a_name_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        place = Place(tmp_path)
        for _ in range(2):
            facts = place.world.answer(DescribeServer(CLIENT, b"all"), Crowd())
            assert isinstance(facts, ServerFacts)
            names.append(facts.process.run_id)

    assert names[0] == names[1] != names[2] == names[3]
    assert all(len(bytes.fromhex(name.decode())) == 20 for name in names)


@pytest.mark.parametrize(("only", "expected"), [(0, {1, 2, 3}), (2, {2}), (9, set())])
def test_clients_are_described_all_or_the_one_asked_for(
    place: Place, only: int, expected: set[int]
) -> None:
    crowd = Crowd(Someone(1), Someone(2), Someone(3))

    facts = place.world.answer(DescribeClients(CLIENT, only), crowd)

    assert isinstance(facts, ClientsFacts)
    assert facts.clients.keys() == expected


def test_the_wall_clock_is_that_of_the_machine(place: Place) -> None:
    before_us = time.time_ns() // 1_000

    clock = place.world.answer(ReadWallClock(CLIENT), Crowd())

    assert isinstance(clock, WallClock)
    assert before_us <= clock.now_us <= time.time_ns() // 1_000


def test_sleeping_stops_everything(place: Place) -> None:
    started = time.monotonic()

    place.do(Sleep(CLIENT, 0.02))

    assert time.monotonic() - started >= 0.02


def test_debug_sleep_is_answered_when_it_is_over_and_others_are_served_then() -> None:
    with Inside() as server:
        client, other = server.client(), server.client()
        other.send_some(b"PING\r\n")

        assert client.ask("DEBUG", "SLEEP", "0.01") == b"+OK\r\n"

        assert other.received() == b"+PONG\r\n"


# --- CONFIG SET -------------------------------------------------------------------------------


def test_the_directory_is_changed(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()

    place.do(Apply(CLIENT, "dir", [os.fsencode(tmp_path / "elsewhere")]))

    assert Path.cwd() == tmp_path / "elsewhere"


def test_a_directory_that_is_none_is_refused_and_the_old_one_stays(
    place: Place, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    reasons = [
        place.reason(Apply(CLIENT, "dir", [os.fsencode(tmp_path / name)]))
        for name in ("nowhere", "file", "x" * 300)
    ]

    assert reasons == ["No such file or directory", "Not a directory", "File name too long"]
    assert Path.cwd() == tmp_path


def test_a_directory_with_any_name_is_found(place: Place, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff \n")
    path.mkdir()

    place.do(Apply(CLIENT, "dir", [os.fsencode(path)]))

    assert Path.cwd() == path


@pytest.mark.usefixtures("same_limits")
def test_more_clients_are_allowed_if_there_is_room(place: Place) -> None:
    place.do(Apply(CLIENT, "maxclients", [b"100"]))


@pytest.mark.usefixtures("same_limits")
def test_more_clients_than_the_system_allows_are_refused_with_how_many_it_does(
    place: Place,
) -> None:
    possible = int(place.reason(Apply(CLIENT, "maxclients", [b"2000000000"])))

    assert 0 < possible < 2_000_000_000
    place.do(Apply(CLIENT, "maxclients", [b"%d" % possible]))


def test_the_log_follows(place: Place) -> None:
    place.do(Apply(CLIENT, "loglevel", [b"warning"]))
    place.do(Apply(CLIENT, "log-format", [b"json"]))

    assert (place.log.level, place.log.style) == ("warning", "json")


# --- CONFIG REWRITE ---------------------------------------------------------------------------


def test_the_configuration_is_written_into_its_file(tmp_path: Path, config_path: Path) -> None:
    place = Place(tmp_path, config_file=str(config_path))
    place.settings.hz = 20

    place.do(RewriteConfig(CLIENT))

    assert config_path.read_bytes().startswith(b"# mine\nhz 20\n")
    assert place.lines.messages == [f"CONFIG REWRITE executed with success path={config_path}"]


def test_a_configuration_file_that_is_gone_is_written_anew(
    tmp_path: Path, config_path: Path
) -> None:
    config_path.unlink()
    place = Place(tmp_path, config_file=str(config_path))

    place.do(RewriteConfig(CLIENT))

    assert f'dir "{tmp_path}"'.encode() in config_path.read_bytes()


def test_without_a_file_there_is_nothing_to_write(place: Place) -> None:
    assert place.reason(RewriteConfig(CLIENT)) == ""


def test_why_the_configuration_cannot_be_written_is_told_and_logged(
    tmp_path: Path, config_path: Path
) -> None:
    (tmp_path / "directory").mkdir()
    paths = [tmp_path / "nowhere" / "x", tmp_path / "directory", config_path / "x"]
    places = [Place(tmp_path, config_file=str(path)) for path in paths]

    reasons = [place.reason(RewriteConfig(CLIENT)) for place in places]

    assert reasons == ["No such file or directory", "Is a directory", "Not a directory"]
    logged = [place.lines.messages for place in places]
    assert logged == [
        [f"CONFIG REWRITE failed path={path} reason={reason}"]
        for path, reason in zip(paths, reasons, strict=True)
    ]
    assert config_path.read_bytes() == OLD_CONFIG
    assert sorted(tmp_path.iterdir()) == [tmp_path / "directory", config_path]


def test_a_client_is_told_how_the_rewrite_went(tmp_path: Path, config_path: Path) -> None:
    replies = []
    for config_file in ("", str(tmp_path), str(config_path)):
        with Inside(config_file=config_file) as server:
            replies.append(server.client().ask("CONFIG", "REWRITE"))

    assert replies == [
        b"-ERR The server is running without a config file\r\n",
        b"-ERR Rewriting config file: Is a directory\r\n",
        b"+OK\r\n",
    ]


# --- nodes.conf -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_synced", [False, True])
def test_the_node_table_is_saved(place: Place, is_synced: bool) -> None:
    peer = Peer(NodeId(b"b" * 40), "10.0.0.2", 7712, 0)
    place.world.membership.nodes[peer.id] = peer

    place.do(SaveNodes(CLIENT, is_synced))

    lines = place.nodes_path.read_text(encoding="utf-8").splitlines()
    assert [line.split()[1:3] for line in lines] == [
        [":7711", "myself"],
        ["10.0.0.2:7712", "noflags"],
    ]


def test_why_the_node_table_cannot_be_saved_is_told_and_logged(place: Place) -> None:
    place.nodes_path.mkdir()

    reason = place.reason(SaveNodes(CLIENT, sync=True))

    assert reason == "Is a directory"
    assert place.lines.messages == [
        f"Can't save the cluster configuration file path={place.nodes_path} reason=Is a directory"
    ]


def test_a_client_is_told_how_saving_the_node_table_went(tmp_path: Path) -> None:
    replies = []
    for path in (tmp_path, tmp_path / "nodes.conf"):
        with Inside(nodes_file=NodesFile(path)) as server:
            replies.append(server.client().ask("CLUSTER", "SAVECONFIG"))

    assert replies == [b"-ERR error saving the cluster node config: Is a directory\r\n", b"+OK\r\n"]


# --- The end ----------------------------------------------------------------------------------


def test_shutdown_ends_the_server_and_is_not_answered(place: Place) -> None:
    assert place.world.answer(Shutdown(CLIENT), Crowd()) is None

    assert place.ends == [None]
    assert place.world.is_ending
    assert place.lines.messages == ["User requested shutdown..."]


@pytest.mark.parametrize("clean", [False, True])
def test_a_restart_is_not_answered(place: Place, clean: bool) -> None:
    restart = Restart(CLIENT, 100, clean)

    assert place.world.answer(restart, Crowd()) is None

    assert place.ends == [restart]
    assert place.world.is_ending


@pytest.mark.parametrize(("clean", "hz"), [(True, b"hz 20"), (False, b"hz 10")])
def test_the_configuration_is_written_before_a_restart_but_not_before_a_crash(
    tmp_path: Path, config_path: Path, clean: bool, hz: bytes
) -> None:
    place = Place(tmp_path, config_file=str(config_path))
    place.settings.hz = 20

    place.world.answer(Restart(CLIENT, 0, clean), Crowd())

    assert hz in config_path.read_bytes()


def test_a_server_that_cannot_write_its_configuration_does_not_restart(tmp_path: Path) -> None:
    place = Place(tmp_path, config_file=str(tmp_path))

    reason = place.reason(Restart(CLIENT, 0, clean=True))

    assert reason == "the configuration file cannot be written"
    assert place.ends == []
    assert not place.world.is_ending


def test_a_server_that_cannot_restart_goes_on(place: Place) -> None:
    place.can_end = False

    reason = place.reason(Restart(CLIENT, 0, clean=False))

    assert reason == "the server cannot be restarted"
    assert not place.world.is_ending


@pytest.fixture
def no_core_files() -> Iterator[None]:
    """Let a crash leave nothing behind."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.usefixtures("no_core_files")
@pytest.mark.parametrize(
    ("how", "number"),
    [("SEGFAULT", signal.SIGSEGV), ("ASSERT", signal.SIGABRT), ("OOM", signal.SIGKILL)],
)
def test_a_crash_on_purpose_is_a_real_one(
    start_server: Starter, how: str, number: signal.Signals
) -> None:
    server = start_server()
    wire = server.wire()

    wire.send("DEBUG", how)

    wire.read_eof()
    assert server.wait_exit() == -number
    assert f"Crashing on purpose: DEBUG {how}" in server.log
    assert "bye bye" not in server.log
