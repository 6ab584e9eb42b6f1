# SPDX-License-Identifier: Apache-2.0
"""Rejections of pods by the scheduler's filters on an empty node, independent of other nodes.

`plan nodes` adds one node of every kind to a fork and runs the due timers of controllers without
scheduling: the fork then has the waiting pods, and the daemon pods of a node of each kind. A
refusal by one of `LASTING_FILTERS` on an empty node is permanent, because more pods on a node never
add room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.framework import CycleState, NodeInfo, PodInfo, is_skip
from steersman.scheduler.plugins import (
    NodeAffinity,
    NodeName,
    NodePorts,
    NodeResourcesFit,
    NodeUnschedulable,
    TaintToleration,
)
from steersman.scheduler.runtime import Profile
from steersman.scheduler.state import PlainNodeInfo
from steersman.simulation.simulation import Simulation

LASTING_FILTERS: Final = frozenset(
    plugin.name for plugin in (NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit)
)
"""Filters whose rejection of a pod on an empty node is independent of other nodes and pods."""


class NodeProbe:
    """A fork of a simulation at its start, with one new node of every kind."""

    def __init__(self, simulation: Simulation, nodes: Sequence[api.Node]) -> None:
        self._trial = simulation.fork()
        self._trial.add(nodes)
        self._trial.settle(places=False)
        self._scheduler = self._trial.scheduler
        self._kinds = frozenset(node.metadata.name for node in nodes)
        #: Results of `info` by uid, with the version of the pod.
        self._infos: dict[str, tuple[api.Pod, PodInfo]] = {}
        pinned: dict[str, list[PodInfo]] = {}
        #: Pods without a node, except daemon pods of the added nodes.
        self.waiting: list[PodInfo] = []
        for info in self._unplaced():
            if info.pinned_to in self._kinds:
                pinned.setdefault(info.pinned_to, []).append(info)
            else:
                self.waiting.append(info)
        #: Added nodes by name, with the daemon pods that fit and the names of the others.
        self.empty_nodes: dict[str, PlainNodeInfo] = {}
        self.homeless_daemons: dict[str, list[str]] = {}
        for node in nodes:
            self._settle_daemons(node, pinned.get(node.metadata.name, []))

    def info(self, pod: api.Pod) -> PodInfo:
        """Return the pod as the scheduler of the probe would see it without a node."""
        known = self._infos.get(pod.metadata.uid)
        if known is not None and known[0] is pod:
            return known[1]
        without_node = pod
        if pod.spec.node_name:
            without_node = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
        info = self._scheduler.cache.shapes.info(without_node)
        self._infos[pod.metadata.uid] = pod, info
        return info

    def profile_of(self, pod: PodInfo) -> Profile | None:
        """Return the profile that schedules the pod, or None."""
        return self._scheduler.profiles.get(pod.scheduler_name)

    def existing_nodes(self) -> Iterator[NodeInfo]:
        """Return the nodes of the simulation before anything is scheduled."""
        table = self._scheduler.cache.nodes
        for row in table.live_rows():
            if table.names[row] not in self._kinds:
                yield table.info(row)

    def refusals(self, pod: PodInfo, node: NodeInfo, without: Iterable[str] = ()) -> tuple[str, ...]:
        """Return why the pod can never run on the node, independent of other nodes; empty if it
        may."""
        profile = self.profile_of(pod)
        if profile is None:
            return (f'no profile for scheduler name "{pod.scheduler_name}"',)
        filters = LASTING_FILTERS.difference(without)
        state, skipped = CycleState(), set[str]()
        for pre_filter in profile.pre_filter:
            _, status = pre_filter.run(state, pod, [node]) if pre_filter.name in filters else (None, None)
            if is_skip(status):
                skipped.add(pre_filter.name)
            elif status is not None:
                return status.reasons
        return tuple(
            reason
            for call in profile.filter
            if call.name in filters and call.name not in skipped
            if (status := call.run(state, pod, node)) is not None
            for reason in status.reasons
        )

    def checked_amounts(self, pod: PodInfo) -> Mapping[str, int]:
        """Return the pod's amount of each resource that the profile checks, including the resource
        `pods`; empty if the profile checks none."""
        profile = self.profile_of(pod)
        fit = profile.plugins.get(NodeResourcesFit.name) if profile is not None else None
        if profile is None or not isinstance(fit, NodeResourcesFit) or not filters_by(profile, NodeResourcesFit.name):
            return {}
        amounts = {"pods": 1}
        for resource, amount, by_devices in fit.checked_requests(pod):
            if not by_devices:
                amounts[resource] = min(amount, pod.requests(resource))
        return amounts

    def close(self) -> None:
        self._trial.close()

    def _unplaced(self) -> Iterator[PodInfo]:
        for pod in self._trial.cluster.objects(api.Pod).values():
            is_over = pod.status.phase in api.FINISHED_PHASES or pod.metadata.deletion_timestamp is not None
            if not pod.spec.node_name and not is_over:
                yield self.info(pod)

    def _settle_daemons(self, node: api.Node, daemons: Iterable[PodInfo]) -> None:
        name = node.metadata.name
        stored = self._trial.cluster.get(api.Node, name)
        empty = self.empty_nodes[name] = PlainNodeInfo(stored)
        for daemon in daemons:
            if self.refusals(daemon, empty):
                self.homeless_daemons.setdefault(name, []).append(_owner_name(daemon.pod))
            else:
                empty.add_pod(daemon)


def filters_by(profile: Profile, plugin: str) -> bool:
    """Return whether the plugin filters nodes in the profile."""
    return any(call.name == plugin for call in profile.filter)


def _owner_name(pod: api.Pod) -> str:
    owner = next((ref.name for ref in pod.metadata.owner_references if ref.controller), pod.metadata.name)
    return f"{pod.metadata.namespace}/{owner}"
