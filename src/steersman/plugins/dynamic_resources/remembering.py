"""What Filter found out about nodes, kept for pods that ask the same: replicas want the same devices of every node.

An answer holds until devices of one of the node's pools are taken or given back, or the node itself changes; all answers, when
slices or classes do. Placing a pod thus costs a search on one node or two, not on all of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

import msgspec

from steersman import api
from steersman.framework.handle import Objects
from steersman.framework.pod_info import PodInfo
from steersman.plugins.dynamic_resources.allocation import DevicesInUse, PublishedDevices
from steersman.plugins.dynamic_resources.answers import Answers
from steersman.plugins.dynamic_resources.cycle import CycleClaims

#: So many different questions are remembered.
MOST_QUESTIONS = 64

_encoder = msgspec.json.Encoder()


class KnownAnswers:
    """Answers by question."""

    def __init__(self, objects: Objects, published: PublishedDevices) -> None:
        self._objects = objects
        self._published = published
        self._by_question: OrderedDict[Hashable, Answers] = OrderedDict()
        self._as_of: tuple[int, int] | None = None
        self._usage_version = 0

    def of(self, cycle: CycleClaims, pod: PodInfo, in_use: DevicesInUse) -> Answers:
        """Those to the pod's question that still hold; new ones may be added. Pods whose claims are allocated in part have
        questions of their own."""
        if any(claim.status.allocation is not None for claim in cycle.claims):
            return Answers()
        self._forget_outdated(in_use)
        question = _question(cycle, pod)
        answers = self._by_question.get(question)
        if answers is None:
            answers = self._by_question[question] = Answers()
            if len(self._by_question) > MOST_QUESTIONS:
                self._by_question.popitem(last=False)
        else:
            self._by_question.move_to_end(question)
        return answers

    def _forget_outdated(self, in_use: DevicesInUse) -> None:
        as_of = self._objects.version(api.ResourceSlice), self._objects.version(api.DeviceClass)
        pools = in_use.pools_changed_since(self._usage_version)
        if as_of != self._as_of or pools is None:
            self._by_question.clear()
        else:
            for pool in pools:
                for node in self._published.nodes_using(pool):
                    for answers in self._by_question.values():
                        answers.drop(node)
        self._as_of, self._usage_version = as_of, in_use.version


def _question(cycle: CycleClaims, pod: PodInfo) -> Hashable:
    """Equal for pods that want the same. What extended resources come to is a matter of the pod's shape."""
    specs = tuple(_encoder.encode(claim.spec) for claim in cycle.own_claims)
    return specs, pod.shape if cycle.extended_claim is not None else None
