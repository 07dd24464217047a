"""The node table survives being written, and a file that was damaged is refused with its line."""

import pytest
from hypothesis import given, strategies as st

from disque.model.errors import ProtocolError
from disque.model.job import NodeId
from disque.model.peer import FAIL, FLAG_NAMES, LEAVING, MYSELF, SUSPECTED, Peer
from disque.wire.nodesconf import line, parse

ME = "a" * 40
BEE = "b" * 40
MY_LINE = f"{ME} :7711 myself 0 0 connected"

FLAGS = sum(bit for bit, _ in FLAG_NAMES)
times = st.integers(0, 10**19 - 1)


@st.composite
def peers(draw: st.DrawFn) -> list[Peer]:
    ids = draw(st.lists(st.binary(min_size=20, max_size=20), min_size=1, max_size=6, unique=True))
    table = []
    for place, id in enumerate(ids):
        ip = draw(st.sampled_from(["", "10.0.0.1", "::1", "fe80::1%eth0"]))
        flags = draw(st.integers(0, FLAGS)) & ~MYSELF
        peer = Peer(NodeId(id.hex().encode()), ip, draw(st.integers(0, 65_535)), flags)
        peer.ping_sent_ms, peer.pong_received_ms = draw(times), draw(times)
        peer.is_connected = draw(st.booleans())
        if place == 0:
            peer.flags |= MYSELF
            peer.is_connected = True
        table.append(peer)
    return draw(st.permutations(table))


def values(peer: Peer) -> tuple[object, ...]:
    return (
        peer.id,
        peer.ip,
        peer.port,
        peer.flags,
        peer.ping_sent_ms,
        peer.pong_received_ms,
        peer.is_connected,
    )


def test_our_own_line_is_connected_whatever_our_peer_record_says() -> None:
    assert line(Peer(NodeId(ME.encode()), "", 7711, MYSELF)) == MY_LINE


def test_flags_are_listed_in_their_order_and_none_has_a_word_of_its_own() -> None:
    ill = Peer(NodeId(BEE.encode()), "10.0.0.2", 7712, LEAVING | FAIL | SUSPECTED)
    ill.ping_sent_ms, ill.pong_received_ms = 5, 6
    plain = Peer(NodeId(BEE.encode()), "::1", 7712, 0)
    plain.is_connected = True

    assert line(ill) == f"{BEE} 10.0.0.2:7712 fail?,fail,leaving 5 6 disconnected"
    assert line(plain) == f"{BEE} ::1:7712 noflags 0 0 connected"


@given(peers())
def test_table_reads_back_as_it_was_written(table: list[Peer]) -> None:
    read = parse("".join([line(peer) + "\n" for peer in table]))

    assert [values(peer) for peer in read] == [values(peer) for peer in table]


def test_blank_lines_variables_and_foreign_line_ends_mean_nothing() -> None:
    (peer,) = parse(f"\nvars currentEpoch 0 lastVoteEpoch 0\r\n  \n{MY_LINE}\r\n\n")

    assert (peer.id, peer.port, peer.flags) == (ME.encode(), 7711, MYSELF)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (f"{BEE} :7711 noflags 0 0", "5 columns instead of 6"),
        (f"{BEE} :7711 noflags 0 0 connected x", "7 columns instead of 6"),
        (f"{BEE}b :7711 noflags 0 0 connected", "a node id has 40 characters"),
        (f"{BEE[1:]}\u00e9 :7711 noflags 0 0 connected", "a node id has 40 characters"),
        (f"{BEE} 7711 noflags 0 0 connected", "the address is not of the form ip:port"),
        (f"{BEE} :x noflags 0 0 connected", "the address is not of the form ip:port"),
        (f"{BEE} : noflags 0 0 connected", "the address is not of the form ip:port"),
        (f"{BEE} :65536 noflags 0 0 connected", "the address is not of the form ip:port"),
        (f"{BEE} :\u00b2 noflags 0 0 connected", "the address is not of the form ip:port"),
        (f"{BEE} :7711 noflags -1 0 connected", "the times of ping and pong must be numbers"),
        (f"{BEE} :7711 noflags 0 {'9' * 20} connected", "the times of ping and pong must be"),
        (f"{BEE} :7711 noflags 0 0 maybe", "the link is neither connected nor disconnected"),
        (f"{BEE} :7711 master 0 0 connected", "unknown flag master"),
        (f"{BEE} :7711 fail,, 0 0 connected", "unknown flag "),
        (MY_LINE, "this node was listed before"),
    ],
)
def test_damaged_line_is_refused_with_its_number_and_its_reason(bad: str, sentence: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        parse(f"{MY_LINE}\n\n{bad}\n")

    assert str(refused.value).startswith(f"line 3: {sentence}")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (f"{BEE} :7711 noflags 0 0 connected", 0),
        (f"{MY_LINE}\n{BEE} :7711 myself 0 0 connected", 2),
    ],
)
def test_exactly_one_node_is_ourselves(text: str, count: int) -> None:
    with pytest.raises(ProtocolError, match=f"{count} lines are flagged myself"):
        parse(text)


@given(st.text(st.sampled_from(f"ab0:,.? \n\r\t{ME[0]}myselfnoflagsconnected\u00e9\u00b2")))
def test_any_text_is_a_table_or_refused(text: str) -> None:
    for damaged in (text, f"{MY_LINE}\n{text}", f"{BEE} {text}"):
        try:
            table = parse(damaged)
        except ProtocolError:
            continue
        assert len([peer for peer in table if peer.flags & MYSELF]) == 1
