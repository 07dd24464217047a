"""A connection: who is closed when, and what still arrives."""

from __future__ import annotations

from tests.server.inside import Inside
from tests.support.resp import encode

MIB = 1 << 20


def test_a_last_reply_may_be_read_slowly_but_not_never() -> None:
    with Inside() as server:
        reader, sleeper = server.client(), server.client()
        wire = encode("ECHO", b"x" * (8 * MIB)) + b"*x\r\n"
        for client in (reader, sleeper):
            sent = 0
            while sent < len(wire):
                sent += client.send_some(wire[sent : sent + MIB])
                server.pass_time(0)

        received = 0
        while chunk := reader.socket.recv(MIB // 2):
            received += len(chunk)
            server.pass_time(2_000)

        assert received > 8 * MIB
        assert sleeper.is_cut_off()
