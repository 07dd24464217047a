"""Messages, asks, answers and replies give back what they were made of, and are small."""

import pytest

from disque.model.asks import (
    Apply,
    Ask,
    CloseClient,
    Crash,
    DescribeClients,
    DescribeServer,
    Done,
    Failed,
    PauseClients,
    ReadWallClock,
    Restart,
    Result,
    RewriteConfig,
    SaveNodes,
    Shutdown,
    Sleep,
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
from disque.model.job import Job, JobId, NodeId
from disque.model.messages import (
    DelJob,
    GotAck,
    GotJob,
    Message,
    Pause,
    Queued,
    ReplJob,
    SetAck,
    WillQueue,
    Working,
)
from disque.model.order import FetchOrder
from disque.model.peer import HANDSHAKE, Peer
from disque.model.records import Deleted, Delivered, Record, Stored
from disque.model.replies import Delivery, ErrorReply, IdReply, JobsReply, NothingReply, Reply
from disque.model.timed import Timed

ID = JobId(b"D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1")
JOB = Job(ID, b"queue", b"body", 1, 2, 3, 4, 5, frozenset())
COPY = Stored(JOB)
DELIVERIES = [Delivery(JOB)]
CPU = CpuFacts(system_s=1.0, user_s=2.0, children_system_s=3.0, children_user_s=4.0)
BUILD = BuildFacts(b"version", b"sha", b"id", b"python", b"loop", b"core")
PROCESS = ProcessFacts(1, b"run", 2, 3, b"executable", b"file", b"os", 64)
SERVER = ServerFacts(BUILD, PROCESS, CPU, 5, 6, 7)
CLIENT = ClientFacts(1, 2, 3, 4, 5, 6, 7, b"rw")

MADE: list[tuple[object, dict[str, object]]] = [
    # Messages.
    (ReplJob(COPY, wants_reply=True), {"job": COPY, "wants_reply": True}),
    (GotJob(ID), {"job_id": ID}),
    (WillQueue(ID), {"job_id": ID}),
    (Queued(ID, True, False), {"job_id": ID, "is_nack": True, "is_delivery": False}),
    (Working(ID), {"job_id": ID}),
    (SetAck(ID), {"job_id": ID}),
    (GotAck(ID, True), {"job_id": ID, "known": True}),
    (DelJob(ID), {"job_id": ID}),
    (Pause(b"queue", 2), {"queue": b"queue", "flags": 2}),
    # Asks.
    (DescribeServer(1, b"all"), {"client": 1, "section": b"all"}),
    (DescribeClients(1, 2), {"client": 1, "only": 2}),
    (ReadWallClock(1), {"client": 1}),
    (Apply(1, "hz", [b"20"]), {"client": 1, "name": "hz", "values": [b"20"]}),
    (RewriteConfig(1), {"client": 1}),
    (SaveNodes(1, sync=True), {"client": 1, "sync": True}),
    (Sleep(1, 0.5), {"client": 1, "seconds": 0.5}),
    (Shutdown(1), {"client": 1}),
    (Restart(1, 2, clean=True), {"client": 1, "delay_ms": 2, "clean": True}),
    (Crash(1, "oom"), {"client": 1, "how": "oom"}),
    # Nobody waits for these two.
    (CloseClient(2), {"client": 0, "target": 2}),
    (PauseClients(3), {"client": 0, "until_ms": 3}),
    # Answers.
    (Done(), {}),
    (Failed("No such file"), {"reason": "No such file"}),
    (WallClock(1), {"now_us": 1}),
    (CPU, {"system_s": 1.0, "user_s": 2.0, "children_system_s": 3.0, "children_user_s": 4.0}),
    (
        BUILD,
        {
            "version": b"version",
            "git_sha1": b"sha",
            "build_id": b"id",
            "python": b"python",
            "event_loop": b"loop",
            "core_build": b"core",
        },
    ),
    (
        PROCESS,
        {
            "pid": 1,
            "run_id": b"run",
            "tcp_port": 2,
            "uptime_s": 3,
            "executable": b"executable",
            "config_file": b"file",
            "os": b"os",
            "arch_bits": 64,
        },
    ),
    (
        SERVER,
        {
            "build": BUILD,
            "process": PROCESS,
            "cpu": CPU,
            "rss_bytes": 5,
            "longest_output_list": 6,
            "biggest_input_buffer": 7,
        },
    ),
    (
        CLIENT,
        {
            "id": 1,
            "fd": 2,
            "input_bytes": 3,
            "input_free_bytes": 4,
            "output_bytes": 5,
            "output_chunks": 6,
            "output_memory_bytes": 7,
            "events": b"rw",
        },
    ),
    (ClientsFacts({1: CLIENT}), {"clients": {1: CLIENT}}),
    # Replies.
    (
        JobsReply(1, DELIVERIES, with_counters=True),
        {"client": 1, "deliveries": DELIVERIES, "with_counters": True},
    ),
    (NothingReply(1), {"client": 1}),
    (IdReply(1, ID), {"client": 1, "id": ID}),
    (ErrorReply(1, "NOREPL", "no"), {"client": 1, "code": "NOREPL", "sentence": "no"}),
    # The node table and the timers.
    (
        Peer(NodeId(b"a" * 40), "10.0.0.1", 7711, HANDSHAKE),
        {
            "id": b"a" * 40,
            "ip": "10.0.0.1",
            "port": 7711,
            "flags": HANDSHAKE,
            "ping_sent_ms": 0,
            "pong_received_ms": 0,
            "is_connected": False,
        },
    ),
    (Timed(), {"awake_ms": 0, "awake_slot": 0}),
]


@pytest.mark.parametrize(("made", "expected"), MADE, ids=[type(made).__name__ for made, _ in MADE])
def test_plain_data_gives_back_what_it_was_made_of(
    made: object, expected: dict[str, object]
) -> None:
    assert {name: getattr(made, name) for name in expected} == expected


@pytest.mark.parametrize(
    "made",
    [made for made, _ in MADE] + [JOB, COPY, Deleted(ID), Delivered(ID), *DELIVERIES, FetchOrder()],
    ids=lambda made: type(made).__name__,
)
def test_plain_data_has_its_slots_and_no_dictionary(made: object) -> None:
    assert not hasattr(made, "__dict__")
    with pytest.raises(AttributeError):
        made.misspelled = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("made", "base"),
    [
        (DelJob(ID), Message),
        (Shutdown(1), Ask),
        (SERVER, Result),
        (COPY, Record),
        (IdReply(1, ID), Reply),
        (JOB, Timed),
    ],
    ids=lambda made: type(made).__name__,
)
def test_every_kind_has_a_base_its_readers_know(made: object, base: type) -> None:
    assert isinstance(made, base)
