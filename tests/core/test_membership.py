"""The node table: who counts, who can take copies, and who we are."""

import pytest
from hypothesis import given, strategies as st

from disque.core.membership import Membership
from disque.model.job import NodeId
from disque.model.peer import (
    FAIL,
    FLAG_NAMES,
    HANDSHAKE,
    LEAVING,
    MYSELF,
    NO_ADDRESS,
    SUSPECTED,
    Peer,
)
from tests.core.helpers import BEE, CAT, ME, PORT

TROUBLES = [SUSPECTED, FAIL, HANDSHAKE, NO_ADDRESS, LEAVING]
# Any mixture of what can be true of another node.
flags = st.sets(st.sampled_from(TROUBLES)).map(sum)


def peer_id(number: int) -> NodeId:
    """Return the name of a peer."""
    return NodeId(b"%040x" % number)


def new_membership(*peer_flags: int) -> Membership:
    """Make a table with a peer for each of these flags, in their order."""
    membership = Membership(ME, PORT)
    for number, flags in enumerate(peer_flags):
        id = peer_id(number)
        membership.nodes[id] = Peer(id, "10.0.0.1", PORT, flags)
    return membership


def test_node_begins_alone_and_connected_to_itself() -> None:
    membership = Membership(ME, PORT)

    assert membership.nodes == {ME: membership.me}
    assert (membership.me.id, membership.me.ip, membership.me.port) == (ME, "", PORT)
    assert membership.me.flags == MYSELF
    assert membership.me.is_connected
    assert membership.known_ids() == {ME}
    assert membership.size() == 1
    assert membership.reachable() == []
    assert (membership.messages_sent, membership.messages_received) == (0, 0)


@given(st.lists(flags, max_size=8))
def test_everybody_counts_who_finished_the_handshake(peer_flags: list[int]) -> None:
    members = [peer_id(n) for n, flags in enumerate(peer_flags) if not flags & HANDSHAKE]

    membership = new_membership(*peer_flags)

    assert membership.known_ids() == {ME, *members}
    assert membership.size() == len(members) + 1


@given(st.lists(flags, max_size=8), st.booleans())
def test_copies_go_to_peers_without_any_trouble_and_to_nobody_else(
    peer_flags: list[int], is_leaving: bool
) -> None:
    membership = new_membership(*peer_flags)
    membership.set_leaving(is_leaving)

    found = [peer.id for peer in membership.reachable()]

    # In the order of the table: whoever draws among them must be able to repeat it.
    assert found == [peer_id(n) for n, flags in enumerate(peer_flags) if flags == 0]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_trouble_is_enough_to_be_passed_over(trouble: int) -> None:
    membership = new_membership(0, trouble)

    found = membership.reachable()

    assert [peer.flags for peer in found] == [0]


def test_no_flag_is_left_unjudged() -> None:
    # Whoever adds one says here whether such a peer takes copies.
    assert {bit for bit, _ in FLAG_NAMES} == {MYSELF, *TROUBLES}


def test_node_can_change_its_mind_about_leaving() -> None:
    membership = Membership(ME, PORT)

    said: list[tuple[bool, int]] = []
    for is_leaving in (True, True, False, False, True):
        membership.set_leaving(is_leaving)
        said.append((membership.is_leaving, membership.me.flags))

    going, staying = (True, MYSELF | LEAVING), (False, MYSELF)
    assert said == [going, going, staying, staying, going]


def test_leaving_is_no_other_flag() -> None:
    membership = Membership(ME, PORT)
    membership.me.flags |= SUSPECTED
    assert not membership.is_leaving

    membership.set_leaving(True)
    membership.set_leaving(False)

    assert membership.me.flags == MYSELF | SUSPECTED


def test_leaving_node_still_counts() -> None:
    membership = new_membership(0)

    membership.set_leaving(True)

    assert membership.size() == 2
    assert ME in membership.known_ids()


def test_node_that_forgot_its_peers_is_who_it_was() -> None:
    membership = new_membership(0, FAIL, HANDSHAKE)
    membership.set_leaving(True)
    me = membership.me

    membership.forget_peers()

    assert membership.nodes == {ME: me}
    assert membership.me is me
    assert membership.is_leaving
    assert membership.size() == 1


def test_renamed_node_is_known_by_its_new_name_only() -> None:
    membership = new_membership(0, 0)
    me, others = membership.me, membership.known_ids() - {ME}

    membership.rename(BEE)

    assert membership.known_ids() == others | {BEE}
    assert membership.nodes[BEE] is membership.me is me
    assert (me.id, me.port, me.flags) == (BEE, PORT, MYSELF)


def test_node_can_be_renamed_again_and_to_the_same_name() -> None:
    membership = Membership(ME, PORT)

    for id in (BEE, BEE, CAT, ME):
        membership.rename(id)

    assert membership.nodes == {ME: membership.me}
