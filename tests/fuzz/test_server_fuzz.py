"""Random requests and random bytes against a real process: it always answers and never dies.

What a request does is tested elsewhere; here only that there is exactly one reply for each, that
the connection stays in step, and that nothing ends up in the log as a mistake of ours.
"""

from __future__ import annotations

import random
import socket
import time

import pytest

from disque.commands.table import COMMANDS
from tests.support.resp import Desync, Wire, encode
from tests.support.server import ServerProcess, resident_bytes

pytestmark = [pytest.mark.process, pytest.mark.slow]

DURATION_S = 2.0
MEMORY_BYTES_MAX = 300 << 20
# These end the process, stop the loop on purpose, or change how replies are counted.
LEFT_OUT = (b"shutdown", b"monitor", b"debug")
LEFT_OUT_WORDS = (b"reply", b"pause", b"kill")
WORDS = [
    *[b"q", b"r", b"", b"\x00", b"\xff\xfe", b"\r\n", b"*", b"[a-", b"x" * 70_000],
    *[b"0", b"1", b"-1", b"3", b"65536", b"9223372036854775807", b"9223372036854775808", b"1.5"],
    *[b"FROM", b"COUNT", b"TIMEOUT", b"NOHANG", b"WITHCOUNTERS", b"BUSYLOOP", b"REPLY", b"all"],
    *[b"REPLICATE", b"DELAY", b"RETRY", b"TTL", b"MAXLEN", b"ASYNC", b"QUEUE", b"STATE"],
    *[b"GET", b"SET", b"RESETSTAT", b"REWRITE", b"maxmemory-samples", b"timeout", b"hz"],
    *[b"LIST", b"ID", b"INFO", b"SETNAME", b"GETNAME", b"SETINFO", b"LIB-NAME", b"DOCS"],
    *[b"NODES", b"MYID", b"MEET", b"FORGET", b"LEAVING", b"RESET", b"in", b"out", b"none"],
    *[b"LEN", b"LATEST", b"HISTORY", b"DOCTOR", b"GRAPH", b"AUTH", b"default", b"2", b"3"],
]
NAMES = [command.name for command in COMMANDS if command.name not in LEFT_OUT]


class Requests:
    """Makes up requests; ids it was told of come back as arguments."""

    def __init__(self, entropy: random.Random) -> None:
        self._entropy = entropy
        self._ids = [b"D-aaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaa-05a1"]

    def next(self) -> list[bytes]:
        """Return a name and some arguments, often ones that make sense."""
        entropy = self._entropy
        if entropy.random() < 0.2:
            return [b"ADDJOB", b"q", entropy.randbytes(entropy.randrange(50)), b"0"]
        words = [entropy.choice(NAMES)]
        for _ in range(entropy.choice([0, 1, 1, 2, 3, 4, 6])):
            is_id = entropy.random() < 0.3
            words.append(entropy.choice(self._ids if is_id else WORDS))
        return [b"PING"] if is_left_out(words) else words

    def note(self, reply: bytes) -> None:
        """Remember the ids of jobs."""
        if reply.startswith(b"+D-"):
            self._ids = [*self._ids[-20:], reply[1:-2]]


def is_left_out(words: list[bytes]) -> bool:
    """Tell whether a request is not to be answered, or only after a while."""
    name, first = words[0], words[1].lower() if len(words) > 1 else b""
    if name == b"getjob":
        return b"NOHANG" not in words[1 : words.index(b"FROM") if b"FROM" in words else None]
    if name == b"config":
        return first in (b"set", b"rewrite")
    return name == b"client" and first in LEFT_OUT_WORDS


@pytest.mark.parametrize("seed", range(2))
def test_every_random_request_has_one_reply(server: ServerProcess, seed: int) -> None:
    requests = Requests(random.Random(seed))
    wire = server.wire()
    deadline = time.monotonic() + DURATION_S
    count = 0

    while time.monotonic() < deadline:
        batch = [requests.next() for _ in range(50)]
        for words in batch:
            wire.send_raw(encode(*words))
            requests.note(wire.read_reply())
        # Out of step, this would be answered with the reply to something else.
        assert wire.ask("ECHO", "in step") == b"$7\r\nin step\r\n", batch
        count += len(batch)

    assert count > 500
    server.assert_healthy()
    assert resident_bytes(server.pid) < MEMORY_BYTES_MAX


def test_random_requests_in_one_write_are_answered_in_order(server: ServerProcess) -> None:
    requests = Requests(random.Random(7))
    wire = server.wire()
    deadline = time.monotonic() + DURATION_S

    while time.monotonic() < deadline:
        batch = [requests.next() for _ in range(50)]
        marked = [encode(*words) + encode("ECHO", number) for number, words in enumerate(batch)]
        wire.send_raw(b"".join(marked))
        for number, words in enumerate(batch):
            requests.note(wire.read_reply())
            text = b"%d" % number
            assert wire.read_reply() == b"$%d\r\n%b\r\n" % (len(text), text), words

    server.assert_healthy()


def mangled(entropy: random.Random, requests: Requests) -> bytes:
    """Return bytes that are requests, nearly requests, or nothing of the kind."""
    if entropy.random() < 0.2:
        return entropy.randbytes(entropy.randrange(1, 3_000))
    raw = bytearray(b"".join(encode(*requests.next()) for _ in range(entropy.randrange(1, 6))))
    for _ in range(entropy.choice([0, 1, 1, 3])):
        place = entropy.randrange(len(raw))
        raw[place : place + entropy.randrange(3)] = entropy.choice(
            [b"", b"\r\n", b"$", b"*", b"-1", b"\x00", b"9" * 30, b'"', entropy.randbytes(2)]
        )
    return bytes(raw)


def end_of(wire: Wire) -> bool:
    """Tell whether the server ends the connection after we have sent everything."""
    try:
        wire.socket.shutdown(socket.SHUT_WR)
        wire.drain_until_eof(5.0)
    except Desync:
        return False
    except OSError:
        # It was quicker to hang up than we.
        pass
    return True


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes_are_answered_or_end_the_connection(server: ServerProcess, seed: int) -> None:
    entropy = random.Random(seed)
    requests = Requests(entropy)
    bystander = server.wire()
    deadline = time.monotonic() + DURATION_S
    count = 0

    while time.monotonic() < deadline:
        raw = mangled(entropy, requests)
        with Wire(server.port) as wire:
            wire.send_raw(raw)
            assert end_of(wire), raw
        assert bystander.ask("PING") == b"+PONG\r\n", raw
        count += 1

    assert count > 100
    server.assert_healthy()
    assert resident_bytes(server.pid) < MEMORY_BYTES_MAX
