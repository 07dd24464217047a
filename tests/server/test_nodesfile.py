"""nodes.conf keeps who we are, for one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from disque.model.job import NodeId
from disque.model.peer import HANDSHAKE, LEAVING, MYSELF, Peer
from disque.server.nodesfile import NodesFile, new_node_id
from disque.server.problems import StartError

OURS = NodeId(b"a" * 40)
OTHER = NodeId(b"b" * 40)
NOW_MS = 1_700_000_000_000


@pytest.fixture
def nodes_file(tmp_path: Path) -> Iterator[NodesFile]:
    file = NodesFile(tmp_path / "nodes.conf")
    yield file
    file.unlock()


def test_the_first_start_makes_an_identity_and_saves_it(nodes_file: NodesFile) -> None:
    (me,) = nodes_file.load_or_create(7711, NOW_MS)

    assert len(me.id) == 40
    assert (me.port, me.flags) == (7711, MYSELF)
    assert nodes_file.path.read_text().startswith(f"{me.id.decode()} :7711 myself 0 0 connected\n")


def test_the_second_start_has_the_same_identity(nodes_file: NodesFile) -> None:
    (first,) = nodes_file.load_or_create(7711, NOW_MS)

    (second,) = NodesFile(nodes_file.path).load_or_create(7712, NOW_MS)

    assert second.id == first.id


def test_what_is_saved_is_loaded(nodes_file: NodesFile) -> None:
    me = Peer(OURS, "10.0.0.1", 7711, MYSELF | LEAVING)
    other = Peer(OTHER, "2001:db8::1", 7712, 0)
    nodes_file.save([me, other], is_synced=False)

    loaded = nodes_file.load(NOW_MS)

    assert loaded is not None
    assert [(peer.id, peer.ip, peer.port, peer.flags) for peer in loaded] == [
        (OURS, "10.0.0.1", 7711, MYSELF | LEAVING),
        (OTHER, "2001:db8::1", 7712, 0),
    ]


def test_who_has_not_answered_yet_is_not_saved(nodes_file: NodesFile) -> None:
    stranger = Peer(OTHER, "10.0.0.2", 7711, HANDSHAKE)
    nodes_file.save([Peer(OURS, "", 7711, MYSELF), stranger], is_synced=False)

    loaded = nodes_file.load(NOW_MS)

    assert loaded is not None
    assert [peer.id for peer in loaded] == [OURS]


def test_waiting_for_a_pong_begins_anew_and_nobody_is_connected(nodes_file: NodesFile) -> None:
    nodes_file.path.write_text(
        f"{OURS.decode()} :7711 myself 0 0 connected\n"
        f"{OTHER.decode()} 10.0.0.2:7711 noflags 1000 2000 connected\n"
    )

    loaded = nodes_file.load(NOW_MS)

    assert loaded is not None
    other = loaded[1]
    assert (other.ping_sent_ms, other.pong_received_ms) == (NOW_MS, NOW_MS)
    assert not other.is_connected


@pytest.mark.parametrize("content", [None, b""])
def test_no_file_and_an_empty_file_mean_a_new_node(
    nodes_file: NodesFile, content: bytes | None
) -> None:
    if content is not None:
        nodes_file.path.write_bytes(content)

    assert nodes_file.load(NOW_MS) is None


@pytest.mark.parametrize(
    "content",
    [
        b"nonsense\n",
        b"\xff\xfe binary \x00\n",
        b"a" * 40 + b" :7711 noflags 0 0 connected\n",
        b"a" * 40 + b" :7711 myself 0 0 connected",
        b"\n",
    ],
    ids=["words", "not-text", "nobody-is-myself", "no-end-is-fine", "blank"],
)
def test_a_damaged_file_is_refused_or_read_but_never_overwritten(
    nodes_file: NodesFile, content: bytes
) -> None:
    nodes_file.path.write_bytes(content)

    if b"myself" in content:
        assert len(nodes_file.load_or_create(7711, NOW_MS)) == 1
    else:
        with pytest.raises(StartError, match="corrupted cluster config file") as caught:
            nodes_file.load_or_create(7711, NOW_MS)
        assert str(nodes_file.path) in caught.value.sentence
    assert nodes_file.path.read_bytes() == content


def test_a_file_that_cannot_be_read_is_named(nodes_file: NodesFile) -> None:
    nodes_file.path.mkdir()

    with pytest.raises(StartError, match=r"Can't read .*nodes\.conf: Is a directory"):
        nodes_file.load(NOW_MS)


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    file = NodesFile(tmp_path / "nosuch" / "nodes.conf")

    with pytest.raises(StartError, match=r"nosuch/nodes\.conf\.lock: No such file or directory"):
        file.lock()
    with pytest.raises(StartError, match=r"Can't write .*nodes\.conf: No such file or directory"):
        file.load_or_create(7711, NOW_MS)


def test_a_second_process_is_told_that_the_file_is_used(nodes_file: NodesFile) -> None:
    nodes_file.lock()

    with pytest.raises(StartError, match="already used by a different Disque node"):
        NodesFile(nodes_file.path).lock()


def test_saving_does_not_give_the_lock_away(nodes_file: NodesFile) -> None:
    nodes_file.lock()
    nodes_file.save([Peer(OURS, "", 7711, MYSELF)], is_synced=True)

    with pytest.raises(StartError):
        NodesFile(nodes_file.path).lock()


def test_an_unlocked_file_can_be_locked_by_the_next(nodes_file: NodesFile) -> None:
    nodes_file.lock()
    nodes_file.unlock()
    nodes_file.unlock()

    successor = NodesFile(nodes_file.path)
    successor.lock()
    with pytest.raises(StartError):
        nodes_file.lock()
    successor.unlock()


def test_saving_leaves_no_temporary_file_and_raises_when_it_fails(nodes_file: NodesFile) -> None:
    peers = [Peer(OURS, "", 7711, MYSELF)]
    nodes_file.save(peers, is_synced=True)
    assert list(nodes_file.path.parent.iterdir()) == [nodes_file.path]
    nodes_file.path.unlink()
    nodes_file.path.mkdir()

    with pytest.raises(IsADirectoryError):
        nodes_file.save(peers, is_synced=True)

    assert list(nodes_file.path.parent.iterdir()) == [nodes_file.path]


def test_no_two_nodes_have_the_same_name() -> None:
    names = {new_node_id() for _ in range(1_000)}

    assert len(names) == 1_000
    assert all(len(bytes.fromhex(name.decode())) == 20 for name in names)
