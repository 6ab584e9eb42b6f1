# SPDX-License-Identifier: Apache-2.0
"""What Filter found out about nodes, kept for pods that ask the same: replicas want the same devices of every node.

An answer holds until the devices that were found are taken, or others of the node's pools are given back, or the node itself
or the slices that reach it change. All answers are void when classes change, or slices that are not tied to a node. Placing a
pod thus costs a search on one node or two, not on all of them.

That a device is taken which was not among those found changes nothing: the search takes the first solution, and all that it
tried before fails without the device as well. Shares of devices, pools with counters and constraints on distinct attributes
(which forget, see `allocation.requests`) do not obey this.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

import msgspec

from steersman import api
from steersman.framework.handle import Objects
from steersman.framework.pod_info import PodInfo
from steersman.plugins.dynamic_resources.allocation import DevicesInUse, PublishedDevices, UseChange
from steersman.plugins.dynamic_resources.answers import Answer, Answers
from steersman.plugins.dynamic_resources.cycle import CycleClaims

#: So many different questions are remembered.
MOST_QUESTIONS = 64

_encoder = msgspec.json.Encoder()
_NO_NODE = api.Node()


class KnownAnswers:
    """Answers by question."""

    def __init__(self, objects: Objects, published: PublishedDevices) -> None:
        self._objects = objects
        self._published = published
        self._by_question: OrderedDict[Hashable, Answers] = OrderedDict()
        self._classes_version: int | None = None
        self._usage_version = 0

    def of(self, cycle: CycleClaims, pod: PodInfo, in_use: DevicesInUse) -> Answers | None:
        """Those to the pod's question that still hold; new ones may be added. None: pods whose claims are allocated in part
        have questions of their own."""
        if any(claim.status.allocation is not None for claim in cycle.claims):
            return None
        self._forget_outdated(in_use)
        question = _question(cycle, pod)
        answers = self._by_question.get(question)
        if answers is None:
            answers = self._by_question[question] = Answers(has_distinct_attributes(cycle))
            if len(self._by_question) > MOST_QUESTIONS:
                self._by_question.popitem(last=False)
        else:
            self._by_question.move_to_end(question)
        return answers

    @property
    def slices_version(self) -> int:
        """Grows with every change of a slice."""
        return self._objects.version(api.ResourceSlice)

    @property
    def classes_version(self) -> int:
        """All answers depend on the classes."""
        return self._objects.version(api.DeviceClass)

    def still_holds(self, node: str, answer: Answer, is_fickle: bool, since: int, in_use: DevicesInUse) -> bool:
        """Whether an answer, found with the devices in use as of that version, would be found again."""
        changes = in_use.changes_since(since)
        if changes is None:
            return False
        single = Answers(is_fickle)
        single.put(node, _NO_NODE, answer)
        relevant = (change for change in changes if node in self._published.nodes_using(change.pool))
        return not any(self._matters_to_all(change) or single.depends_on(node, change.device) for change in relevant)

    def _forget_outdated(self, in_use: DevicesInUse) -> None:
        changes = in_use.changes_since(self._usage_version)
        changed_nodes = self._published.take_changed_nodes()
        if self.classes_version != self._classes_version or changes is None or changed_nodes is None:
            self._by_question.clear()
        else:
            for answers in self._by_question.values() if changed_nodes else ():
                for node in changed_nodes:
                    answers.drop(node)
            for change in changes:
                self._forget_after(change)
        self._classes_version, self._usage_version = self.classes_version, in_use.version

    def _forget_after(self, change: UseChange) -> None:
        matters_to_all = self._matters_to_all(change)
        for node in self._published.nodes_using(change.pool):
            for answers in self._by_question.values():
                if matters_to_all or answers.depends_on(node, change.device):
                    answers.drop(node)

    def _matters_to_all(self, change: UseChange) -> bool:
        """Unless a device was merely taken, any answer about the nodes that can use its pool may be another one now."""
        return not change.is_taken or change.is_share or self._published.has_counters(change.pool)


def _question(cycle: CycleClaims, pod: PodInfo) -> Hashable:
    """Equal for pods that want the same. What extended resources come to is a matter of the pod's shape."""
    specs = tuple(_encoder.encode(claim.spec) for claim in cycle.own_claims)
    return specs, pod.shape if cycle.extended_claim is not None else None


def has_distinct_attributes(cycle: CycleClaims) -> bool:
    return any(
        constraint.distinct_attribute is not None
        for claim in cycle.own_claims
        for constraint in claim.spec.devices.constraints
    )
