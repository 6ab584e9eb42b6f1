# SPDX-License-Identifier: Apache-2.0
"""Reprieve of victims of a group's preemption: which of them can stay beside the placed members.

    members placed by the simulation ─► states of their plugins ─► one victim after the other is added back

The potential victims are removed from the cluster; the reprieve works on copies of nodes. A victim
stays if every member still passes the filters on its node, with the members before it added to
their nodes and reserved. A member whose fit depends on nothing but its node is checked only if the
victim has a pod there: the cost of a victim is that of the members on its nodes, unless members
have constraints across nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack

import msgspec

from steersman.framework import ClusterWhatIf, CycleAborted, CycleState, NodeInfo, PodInfo, ProposedAssignment
from steersman.scheduler.preemption.victims import Victim
from steersman.scheduler.state.plain_node import PlainNodeInfo


class Member(msgspec.Struct, frozen=True, eq=False):
    """A placed member of the group with the state of its plugins: the members before it are placed,
    the others and the victims are absent."""

    pod: PodInfo
    node_name: str
    state: CycleState
    is_local: bool


def members_of(what_if: ClusterWhatIf, assignments: Iterable[ProposedAssignment]) -> list[Member]:
    """Return the members of a finished simulation, with the plugin states from it. Raises
    CycleAborted for an internal error of a plugin."""
    members: list[Member] = []
    with ExitStack() as placed:
        for pod, node_name, state in assignments:
            what_if.complete(state, pod)
            members.append(Member(pod, node_name, state, what_if.is_local(state, pod)))
            placed.enter_context(what_if.placing(state, pod, node_name))
    return members


class Reprieve:
    """The placed members on copies of their nodes, to which victims are added back."""

    def __init__(
        self, what_if: ClusterWhatIf, members: Sequence[Member], node: Callable[[str], NodeInfo | None]
    ) -> None:
        """`node` returns a node of the cluster without the potential victims."""
        self._what_if = what_if
        self._members = members
        self._node = node
        self._copies: dict[str, PlainNodeInfo] = {}
        self._are_local = all(member.is_local for member in members)
        self._by_node: dict[str, list[Member]] = {}
        for member in members:
            self._by_node.setdefault(member.node_name, []).append(member)

    def take(self, victim: Victim) -> bool:
        """Add the victim back if all members still fit; return whether it stays. Raises
        CycleAborted for an internal error of AddPod or RemovePod."""
        touched = {node.name for node in victim.nodes}
        affected = self._affected(touched)
        if not affected:
            return True
        self._add(victim, affected)
        if self._fit(affected, touched):
            return True
        self._remove(victim, affected)
        return False

    def _affected(self, touched: Collection[str]) -> Sequence[Member]:
        """Return the members that pods on these nodes may affect, in order on each node."""
        if not self._are_local:
            return self._members
        return [member for name in touched for member in self._by_node.get(name, ())]

    def _fit(self, members: Sequence[Member], touched: Collection[str]) -> bool:
        with ExitStack() as placed:
            for member in members:
                copy = self._copy(member.node_name)
                if not member.is_local or member.node_name in touched:
                    try:
                        if self._what_if.filter(member.state, member.pod, copy) is not None:
                            return False
                    except CycleAborted:
                        # An internal error of a filter is a reason not to reprieve the victim.
                        return False
                copy.add_pod(member.pod)
                placed.callback(copy.remove_pod, member.pod)
                placed.enter_context(self._what_if.reserving(member.state, member.pod, member.node_name))
        return True

    def _add(self, victim: Victim, affected: Sequence[Member]) -> None:
        for pod, node in victim.placed():
            copy = self._copy(node.name)
            copy.add_pod(pod)
            for member in affected:
                self._what_if.add_pod(member.state, member.pod, pod, copy)

    def _remove(self, victim: Victim, affected: Sequence[Member]) -> None:
        for pod, node in victim.placed():
            copy = self._copy(node.name)
            copy.remove_pod(pod)
            for member in affected:
                self._what_if.remove_pod(member.state, member.pod, pod, copy)

    def _copy(self, name: str) -> PlainNodeInfo:
        copy = self._copies.get(name)
        if copy is None:
            node = self._node(name)
            assert node is not None, f"node {name} has vanished"
            copy = self._copies[name] = PlainNodeInfo.copy_of(node)
        return copy
