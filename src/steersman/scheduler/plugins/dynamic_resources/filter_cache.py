# SPDX-License-Identifier: Apache-2.0
"""Cached results of Filter per node, shared by pods with equal requests, such as replicas.

A result is valid until a device that it uses is taken, any device of the node's pools is released,
or the node or its slices change. All results are dropped when classes, or slices that are not tied
to a node, change. Placing a replica thus needs a search on one or two nodes only.

Taking other devices changes nothing: the search takes the first solution, and its earlier attempts
fail without the device as well. This does not hold for device shares, pools with counters and
constraints on distinct attributes (see `allocation.requests`).

Results are cached by node name, and also by row, so that the columnar engine can reject most rows
at once.

A search that is too long for a cycle continues afterwards on a copy of the devices in use. Its
result is stored here for the pod's next cycle, and is valid if the node's devices have not changed,
like other results. An error ends the attempt of the next cycle. It stays valid while the devices in
use are unchanged, since the same search would fail again.
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
from steersman.base import CacheSpec
from steersman.base.graph_copy import copied_attributes, no_value, shallow, shared_by_copies
from steersman.framework import NodesView, Objects, SlicedWork, Status
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    DeviceId,
    DevicesInUse,
    FoundDevice,
    NodeDevices,
    Pace,
    PreparedClaim,
    PublishedDevices,
    UseChange,
)
from steersman.scheduler.plugins.dynamic_resources.extended_resources import NodeClaim

RowIndex = NDArray[np.intp]

_UNKNOWN, _FITS, _REJECTED = 0, 1, 2


@shared_by_copies
class NodeAllocation(msgspec.Struct, frozen=True):
    """The devices that the pod would get on a node."""

    #: The claims that were not allocated before, in the order of the pod's claims.
    claims: tuple[PreparedClaim, ...]
    found: tuple[tuple[FoundDevice, ...], ...]
    #: The claim for extended resources, the last of `claims`, if devices serve them on this node.
    extended: NodeClaim | None = None


NOTHING_TO_ALLOCATE = NodeAllocation((), ())

NodeAnswer = NodeAllocation | Status


@copied_attributes(_by_name=shallow, _rows=no_value)
class NodeAnswers:
    """The results for one set of requests, each for one version of its node."""

    def __init__(self, is_fickle: bool = False) -> None:
        #: A result may change when any device of the node is taken, not only one of its own.
        self.is_fickle = is_fickle
        self._by_name: dict[str, tuple[Node, NodeAnswer]] = {}
        self._rows: _RowVerdicts | None = None

    def get(self, name: str, node: Node) -> NodeAnswer | None:
        known = self._by_name.get(name)
        return known[1] if known is not None and known[0] is node else None

    def latest(self, name: str) -> NodeAnswer | None:
        """Return the result by node name alone. The caller ensures that the node is unchanged."""
        known = self._by_name.get(name)
        return None if known is None else known[1]

    def put(self, name: str, node: Node, answer: NodeAnswer) -> None:
        self._by_name[name] = node, answer
        if self._rows is not None:
            self._rows.put(name, node, answer)

    def depends_on(self, name: str, device: DeviceId) -> bool:
        """Return whether the result for the node may change when the device is taken."""
        return self.is_fickle or self._uses(name, device)

    def _uses(self, name: str, device: DeviceId) -> bool:
        """Return whether the device is part of the result for the node."""
        known = self._by_name.get(name)
        if known is None or isinstance(known[1], Status):
            return False
        return any(found.device.id == device for each in known[1].found for found in each)

    def drop(self, name: str) -> None:
        if self._by_name.pop(name, None) is not None and self._rows is not None:
            self._rows.drop(name)

    def sorted_rows(self, rows: RowIndex, view: NodesView) -> tuple[RowIndex, RowIndex]:
        """Return the rejected rows and the unknown rows."""
        if self._rows is None or not self._rows.are_of(view):
            self._rows = _RowVerdicts(view)
            for name, (node, answer) in self._by_name.items():
                self._rows.put(name, node, answer)
        return self._rows.sorted(rows)


ROW_VERDICTS = CacheSpec(
    name="answers about devices by row",
    attributes=("_RowVerdicts._column", "_RowVerdicts._position", "_RowVerdicts._generation"),
    contents="whether the row is known to fit or to be rejected",
    key="question; row",
    invalidation="position in the log of changed nodes: those rows are unknown; the table's generation: rebuilt",
    limit="one for each question",
    reference="the answers by node name",
    checked_by="tests/plugins/dynamic_resources/test_filter_cache_rows.py",
    is_inline=True,
)


class _RowVerdicts:
    """The results for one set of requests by row: unknown, fits or rejected."""

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
        """Reset the rows with a changed or different node to unknown."""
        log = self._view.node_log
        if log.end != self._position:
            changed = log.since(self._position)
            self._position = log.end
            self._column[slice(None) if changed is None else list(changed)] = _UNKNOWN


#: The maximum number of cached questions.
MAX_QUESTIONS = 64

_encoder = msgspec.json.Encoder()
_NO_NODE = api.Node()


FILTER_ANSWERS = CacheSpec(
    name="answers about devices",
    attributes=("FilterCache._by_question", "FilterCache._classes_version", "FilterCache._usage_version"),
    contents="the devices that were found for claims on a node, or why none fit",
    key="claim specifications, shape; node",
    invalidation=(
        "version of DeviceClass objects: all are removed; position in the log of devices in use, changed "
        "slices and Node objects: the affected answers are removed"
    ),
    limit="64 most recently used questions",
    reference="a search on the node",
    checked_by="tests/plugins/dynamic_resources/test_filter_cache.py",
    is_inline=True,
)


class FilterCache:
    """Results by question: claim specs, and the pod shape if devices may back its resources."""

    def __init__(self, objects: Objects, published: PublishedDevices) -> None:
        self._objects = objects
        self._published = published
        self._by_question: OrderedDict[Hashable, NodeAnswers] = OrderedDict()
        self._classes_version: int | None = None
        self._usage_version = 0

    def answers_to(self, claims: Sequence[api.ResourceClaim], shape: Hashable, in_use: DevicesInUse) -> NodeAnswers:
        """Return the valid results for unallocated claims, to which the caller adds new ones.
        `shape` decides about extended resources; None without any."""
        self._forget_outdated(in_use)
        question = (tuple(_encoder.encode(claim.spec) for claim in claims), shape)
        answers = self._by_question.get(question)
        if answers is None:
            answers = self._by_question[question] = NodeAnswers(has_distinct_attributes(claims))
            if len(self._by_question) > MAX_QUESTIONS:
                self._by_question.popitem(last=False)
        else:
            self._by_question.move_to_end(question)
        return answers

    @property
    def slices_version(self) -> int:
        """The version of the published devices: slices, and rules that taint them."""
        return self._objects.version(api.ResourceSlice) + self._objects.version(api.DeviceTaintRule)

    @property
    def classes_version(self) -> int:
        """The version of the device classes, on which all results depend."""
        return self._objects.version(api.DeviceClass)

    def still_holds(self, node: str, answer: NodeAnswer, is_fickle: bool, since: int, in_use: DevicesInUse) -> bool:
        """Return whether a result, found with the devices in use at `since`, is still valid."""
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
        """Return whether the change may affect any result for nodes that use the pool."""
        return not change.is_taken or change.is_share or self._published.has_counters(change.pool)


def has_distinct_attributes(claims: Iterable[api.ResourceClaim]) -> bool:
    return any(
        constraint.distinct_attribute is not None for claim in claims for constraint in claim.spec.devices.constraints
    )


# -- searches of postponed pods ----------------------------------------------------------------------------------------

#: The maximum number of pods with stored searches.
MAX_STORED_PODS: Final = 256
#: The length of one time slice of a search after its cycle.
SLICE_SECONDS: Final = 0.01

Steps = Generator[None, None, NodeAnswer]
"""A search on one node: yields to pause, and returns the result."""


class _Found(msgspec.Struct, frozen=True):
    node: NodeDevices
    answer: NodeAnswer
    #: The version of the devices in use that the search saw.
    usage: int


class PodSearches(msgspec.Struct):
    """The searches of one pod, valid as long as its claims and all classes are unchanged."""

    claims: tuple[ResourceClaim, ...]
    classes_version: int
    _found: dict[str, _Found] = msgspec.field(default_factory=dict)
    #: Results for requests that only this pod has, and the versions that they depend on.
    _own: tuple[tuple[int, int], NodeAnswers] | None = None

    def put(self, node: NodeDevices, answer: NodeAnswer, usage: int) -> None:
        self._found[node.node.metadata.name] = _Found(node, answer, usage)

    def take(self, node: NodeDevices, usage: int, holds: Callable[[NodeAnswer, int], bool]) -> NodeAnswer | None:
        """Return the result for the node if still valid; `holds` decides about results that are not
        errors."""
        name = node.node.metadata.name
        found = self._found.get(name)
        if found is None or not found.node.is_same(node):
            return None
        is_error = isinstance(found.answer, Status) and not found.answer.is_rejected
        if not is_error or found.usage != usage:
            del self._found[name]
        return found.answer if is_error or holds(found.answer, found.usage) else None

    def own_answers(self, usage: int, slices: int) -> NodeAnswers:
        """Return the results for requests of this pod alone, valid for these versions."""
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

    def searches_of(self, uid: str, claims: Sequence[ResourceClaim], classes_version: int) -> PodSearches | None:
        """Return the searches of the pod, or None if there are none or they are outdated."""
        known = self._by_pod.get(uid)
        if known is None:
            return None
        if known.is_about(claims, classes_version):
            return known
        del self._by_pod[uid]
        return None

    def begin(self, uid: str, claims: Sequence[ResourceClaim], classes_version: int) -> PodSearches:
        known = self.searches_of(uid, claims, classes_version)
        if known is None:
            known = self._by_pod[uid] = PodSearches(tuple(claims), classes_version)
            if len(self._by_pod) > MAX_STORED_PODS:
                self._by_pod.popitem(last=False)
        return known

    def forget(self, uid: str) -> None:
        """Drop the searches of a pod that has its devices."""
        self._by_pod.pop(uid, None)


def in_slices(steps: Steps, pace: Pace, note: Callable[[NodeAnswer], None]) -> SlicedWork:
    """Run the rest of a search in time slices, and pass the result to `note`."""
    while True:
        pace.resume(SLICE_SECONDS)
        try:
            next(steps)
        except StopIteration as end:
            note(end.value)
            return
        yield
