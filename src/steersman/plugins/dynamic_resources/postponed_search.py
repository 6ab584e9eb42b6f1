# SPDX-License-Identifier: Apache-2.0
"""Searches that went on while the cycle of a pod was postponed, and what they found out about nodes.

A search that is too long for a cycle goes on afterwards, on a copy of what was in use then. Its answer waits here for the
pod's next cycle. It holds there if nothing has happened to the devices of the node, as with the answers of
`filter_cache`. That a search ended in error holds for one cycle, in which the attempt ends, and on as long as nothing
has happened to any device: the same search would end the same way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from typing import Final

import msgspec

from steersman.api import ResourceClaim
from steersman.framework.postponement import SlicedWork
from steersman.framework.status import Status
from steersman.plugins.dynamic_resources.allocation import NodeDevices, Pace
from steersman.plugins.dynamic_resources.filter_cache import NodeAnswer, NodeAnswers

#: Pods of which something is kept.
MOST_PODS: Final = 256
#: What a search may take between two pauses after its cycle.
SLICE_SECONDS: Final = 0.01

Steps = Generator[None, None, NodeAnswer]
"""A search of one node: pauses, and what it comes to."""


class _Found(msgspec.Struct, frozen=True):
    node: NodeDevices
    answer: NodeAnswer
    #: The version of the devices in use that the search saw.
    usage: int


class PodSearches(msgspec.Struct):
    """The searches of one pod, kept as long as its claims and all classes stay as they are."""

    claims: tuple[ResourceClaim, ...]
    classes_version: int
    _found: dict[str, _Found] = msgspec.field(default_factory=dict)
    #: Where the pod's question is nobody else's: all answers, and the versions of what they depend on.
    _own: tuple[tuple[int, int], NodeAnswers] | None = None

    def put(self, node: NodeDevices, answer: NodeAnswer, usage: int) -> None:
        self._found[node.node.metadata.name] = _Found(node, answer, usage)

    def take(self, node: NodeDevices, usage: int, holds: Callable[[NodeAnswer, int], bool]) -> NodeAnswer | None:
        """The answer for the node, if there is one that holds: `holds` says so for one that is no error."""
        name = node.node.metadata.name
        found = self._found.get(name)
        if found is None or not found.node.is_same(node):
            return None
        is_error = isinstance(found.answer, Status) and not found.answer.is_rejected
        if not is_error or found.usage != usage:
            del self._found[name]
        return found.answer if is_error or holds(found.answer, found.usage) else None

    def own_answers(self, usage: int, slices: int) -> NodeAnswers:
        """The answers to a question that only this pod has, from one cycle to the next, as of these versions."""
        if self._own is None or self._own[0] != (usage, slices):
            self._own = (usage, slices), NodeAnswers()
        return self._own[1]

    def is_about(self, claims: Sequence[ResourceClaim], classes_version: int) -> bool:
        return (
            classes_version == self.classes_version
            and len(claims) == len(self.claims)
            and all(one is other for one, other in zip(claims, self.claims, strict=True))
        )


class PostponedSearches:
    """Postponed searches by pod; the oldest are dropped."""

    def __init__(self) -> None:
        self._by_pod: OrderedDict[str, PodSearches] = OrderedDict()

    def of(self, uid: str, claims: Sequence[ResourceClaim], classes_version: int) -> PodSearches | None:
        """The searches of the pod; None: nothing was postponed, or what is known is of no use any more."""
        known = self._by_pod.get(uid)
        if known is None:
            return None
        if known.is_about(claims, classes_version):
            return known
        del self._by_pod[uid]
        return None

    def begin(self, uid: str, claims: Sequence[ResourceClaim], classes_version: int) -> PodSearches:
        known = self.of(uid, claims, classes_version)
        if known is None:
            known = self._by_pod[uid] = PodSearches(tuple(claims), classes_version)
            if len(self._by_pod) > MOST_PODS:
                self._by_pod.popitem(last=False)
        return known

    def forget(self, uid: str) -> None:
        """The pod has its devices."""
        self._by_pod.pop(uid, None)


def in_slices(steps: Steps, pace: Pace, note: Callable[[NodeAnswer], None]) -> SlicedWork:
    """The rest of a search in slices; what it comes to is noted."""
    while True:
        pace.resume(SLICE_SECONDS)
        try:
            next(steps)
        except StopIteration as end:
            note(end.value)
            return
        yield
