# SPDX-License-Identifier: Apache-2.0
"""Answers of Filter about nodes, kept for pods that ask the same: replicas want the same devices of every node.

An answer holds until the devices that were found are taken, or others of the node's pools are given back, or the node itself
or the slices that reach it change. All answers are void when classes change, or slices that are not tied to a node. Placing a
pod thus costs a search on one node or two, not on all of them.

That a device is taken which was not among those found changes nothing: the search takes the first solution, and all that it
tried before fails without the device as well. Shares of devices, pools with counters and constraints on distinct attributes
(which forget, see `allocation.requests`) do not obey this.

Answers are kept by name for everybody, and once more by row for the columnar engine, which can then pass over most nodes at
once.

A search that is too long for a cycle goes on afterwards, on a copy of what was in use then. Its answer waits here for the
pod's next cycle, and holds there if nothing has happened to the devices of the node, as other answers do. That a search
ended in error holds for one cycle, in which the attempt ends, and on as long as nothing has happened to any device: the same
search would end the same way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman import api
from steersman.api import Node, ResourceClaim
from steersman.framework.handle import Objects
from steersman.framework.nodes_view import NodesView
from steersman.framework.postponement import SlicedWork
from steersman.framework.status import Status
from steersman.graph_copy import copied_attributes, no_value, shallow, shared_by_copies
from steersman.kept import Kept
from steersman.plugins.dynamic_resources.allocation import (
    DeviceId,
    DevicesInUse,
    FoundDevice,
    NodeDevices,
    Pace,
    PreparedClaim,
    PublishedDevices,
    UseChange,
)
from steersman.plugins.dynamic_resources.extended_resources import NodeClaim

RowIndex = NDArray[np.intp]

_UNKNOWN, _FITS, _REJECTED = 0, 1, 2


@shared_by_copies
class NodeAllocation(msgspec.Struct, frozen=True):
    """The devices that the pod would get on a node."""

    #: The claims that were not allocated before, in the order of the pod's claims.
    claims: tuple[PreparedClaim, ...]
    found: tuple[tuple[FoundDevice, ...], ...]
    #: The last of them, if extended resources are served by devices on this node.
    extended: NodeClaim | None = None


NOTHING_TO_ALLOCATE = NodeAllocation((), ())

NodeAnswer = NodeAllocation | Status


@copied_attributes(_by_name=shallow, _rows=no_value)
class NodeAnswers:
    """The answers to one question. An answer holds for the node as it was then."""

    def __init__(self, is_fickle: bool = False) -> None:
        #: An answer may change when any device of the node is taken, not only one of those found.
        self.is_fickle = is_fickle
        self._by_name: dict[str, tuple[Node, NodeAnswer]] = {}
        self._rows: _RowVerdicts | None = None

    def get(self, name: str, node: Node) -> NodeAnswer | None:
        known = self._by_name.get(name)
        return known[1] if known is not None and known[0] is node else None

    def latest(self, name: str) -> NodeAnswer | None:
        """The answer for the node by its name alone, for as long as nobody can have changed the node."""
        known = self._by_name.get(name)
        return None if known is None else known[1]

    def put(self, name: str, node: Node, answer: NodeAnswer) -> None:
        self._by_name[name] = node, answer
        if self._rows is not None:
            self._rows.put(name, node, answer)

    def depends_on(self, name: str, device: DeviceId) -> bool:
        """Whether the answer for the node may change when the device is taken."""
        return self.is_fickle or self._uses(name, device)

    def _uses(self, name: str, device: DeviceId) -> bool:
        """Whether the device is among those that were found on the node."""
        known = self._by_name.get(name)
        if known is None or isinstance(known[1], Status):
            return False
        return any(found.device.id == device for each in known[1].found for found in each)

    def drop(self, name: str) -> None:
        if self._by_name.pop(name, None) is not None and self._rows is not None:
            self._rows.drop(name)

    def sorted_rows(self, rows: RowIndex, view: NodesView) -> tuple[RowIndex, RowIndex]:
        """The rows that are rejected, and those of which nothing is known."""
        if self._rows is None or not self._rows.are_of(view):
            self._rows = _RowVerdicts(view)
            for name, (node, answer) in self._by_name.items():
                self._rows.put(name, node, answer)
        return self._rows.sorted(rows)


ROW_VERDICTS = Kept(
    name="answers about devices by row",
    attributes=("_RowVerdicts._column", "_RowVerdicts._position", "_RowVerdicts._generation"),
    holds="whether the row is known to fit or to be rejected",
    key="question; row",
    stamps="position in the log of changed nodes: those rows are unknown; the table's generation: made anew",
    bound="one for each question",
    twin="the answers by node name",
    held_equal="tests/plugins/dynamic_resources/test_filter_cache_rows.py",
    is_inline=True,
)


class _RowVerdicts:
    """The answers to one question by row: unknown, fits or rejected."""

    def __init__(self, view: NodesView) -> None:
        self._view = view
        self._generation = view.generation
        self._position = view.node_log.end
        self._column = np.zeros(view.capacity, np.int8)

    def are_of(self, view: NodesView) -> bool:
        return view is self._view and view.generation == self._generation and len(self._column) == view.capacity

    def put(self, name: str, node: Node, answer: NodeAnswer) -> None:
        row = self._view.row_of(name)
        if row is not None and self._view.node(row) is node:
            self._column[row] = _REJECTED if isinstance(answer, Status) else _FITS

    def drop(self, name: str) -> None:
        row = self._view.row_of(name)
        if row is not None:
            self._column[row] = _UNKNOWN

    def sorted(self, rows: RowIndex) -> tuple[RowIndex, RowIndex]:
        self._catch_up()
        verdicts = self._column[rows]
        return rows[verdicts == _REJECTED], rows[verdicts == _UNKNOWN]

    def _catch_up(self) -> None:
        """A row whose node changed, or that has another node now, is looked at again."""
        log = self._view.node_log
        if log.end != self._position:
            changed = log.since(self._position)
            self._position = log.end
            self._column[slice(None) if changed is None else list(changed)] = _UNKNOWN


#: So many different questions are remembered.
MOST_QUESTIONS = 64

_encoder = msgspec.json.Encoder()
_NO_NODE = api.Node()


FILTER_ANSWERS = Kept(
    name="answers about devices",
    attributes=("FilterCache._by_question", "FilterCache._classes_version", "FilterCache._usage_version"),
    holds="the devices that were found for claims on a node, or why there are none",
    key="claim specifications, shape; node",
    stamps=(
        "version of DeviceClass objects: all go; position in the log of devices in use, changed slices and Node objects: the "
        "answers that they concern go"
    ),
    bound="64 questions, the latest",
    twin="a search on the node",
    held_equal="tests/plugins/dynamic_resources/test_filter_cache.py",
    is_inline=True,
)


class FilterCache:
    """Answers by question: users' claims, and the shape of pods with extended resources that devices may stand behind."""

    def __init__(self, objects: Objects, published: PublishedDevices) -> None:
        self._objects = objects
        self._published = published
        self._by_question: OrderedDict[Hashable, NodeAnswers] = OrderedDict()
        self._classes_version: int | None = None
        self._usage_version = 0

    def answers_to(self, claims: Sequence[api.ResourceClaim], shape: Hashable, in_use: DevicesInUse) -> NodeAnswers:
        """The answers that still hold, to which new ones may be added, for claims that are not allocated. What extended
        resources come to is a matter of the pod's shape; None where there are none."""
        self._forget_outdated(in_use)
        question = (tuple(_encoder.encode(claim.spec) for claim in claims), shape)
        answers = self._by_question.get(question)
        if answers is None:
            answers = self._by_question[question] = NodeAnswers(has_distinct_attributes(claims))
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

    def still_holds(self, node: str, answer: NodeAnswer, is_fickle: bool, since: int, in_use: DevicesInUse) -> bool:
        """Whether an answer, found with the devices in use as of that version, would be found again."""
        changes = in_use.changes_since(since)
        if changes is None:
            return False
        single = NodeAnswers(is_fickle)
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


def has_distinct_attributes(claims: Iterable[api.ResourceClaim]) -> bool:
    return any(
        constraint.distinct_attribute is not None for claim in claims for constraint in claim.spec.devices.constraints
    )


# -- searches that go on while the cycle of a pod is postponed ---------------------------------------------------------

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
