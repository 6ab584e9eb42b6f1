# SPDX-License-Identifier: Apache-2.0
"""The node columns as kernels read them: one row per node, and tables that count pods.

`state` implements `NodesView` and keeps it up to date; plugins only read. `columns` defines the
kernels.

Columns and tables keyed by user input (requirements, topology keys, resources, matchers) are
updated as long as they are referenced, and freed afterwards. A kernel must therefore keep a
reference to the object and not only to an array inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.api import Node, Requirement, Selector, Taint
from steersman.base import ChangeLog
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import AffinityTerm

#: Row indices, or a slice for all rows.
Rows = NDArray[np.intp] | slice
BoolColumn = NDArray[np.bool_]
IntColumn = NDArray[np.int64]
ReasonColumn = NDArray[np.int32]
#: Integer column of 32 or 64 bits.
AnyIntColumn = NDArray[np.signedinteger[Any]]

ALL_ROWS = slice(None)

ScalarT = TypeVar("ScalarT", bound=np.generic)


class Column:
    """An int64 column with a memoryview of the same data: numpy for many cells, the view for single
    cells, where it is ten times faster."""

    __slots__ = ("__weakref__", "cell", "values")

    def __init__(self, values: IntColumn) -> None:
        self.values = values
        self.cell = values.data


class Topology(Protocol):
    """Domains of one topology key: rows with equal label values share a domain id."""

    @property
    def key(self) -> str: ...
    @property
    def domain(self) -> NDArray[np.intp]:
        """Domain id by row; 0 if the node lacks the label or there is no node."""

    @property
    def cell(self) -> memoryview:
        """Memoryview of `domain`."""

    @property
    def size(self) -> int:
        """Length of a per-domain table: greater than every domain id."""

    @property
    def one_row_per_domain(self) -> bool:
        """Whether every node has the label and all values differ, as hostnames do."""

    @property
    def empty_value(self) -> int:
        """Domain of nodes whose label value is empty; 0 if there was no such node."""

    def gather(self, table: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Return the per-row column of a per-domain table. It may be a view of the table: do not
        modify it."""


class DomainCounts(Protocol):
    """Numbers of matching pods on eligible rows, by domain."""

    @property
    def topology(self) -> Topology: ...
    @property
    def counts(self) -> IntColumn:
        """Count by domain id; slot 0 has the eligible rows without the label."""

    @property
    def eligible_rows(self) -> IntColumn:
        """Number of eligible rows by domain id."""

    @property
    def counted_rows(self) -> BoolColumn:
        """Mask of the rows that are eligible and have the label."""

    @property
    def total(self) -> int:
        """Number of matching pods on eligible rows that have the label: the sum of `counts` without
        slot 0."""

    @property
    def cell(self) -> memoryview:
        """Memoryview of `counts`."""

    def pods_in(self, domain: int) -> int:
        """Return the count of one domain."""

    def mark_inhabited(self, domains: BoolColumn | None) -> BoolColumn:
        """Set the domains with matching pods to true in the given column or a new one, and return
        it. Slot 0 is unspecified."""

    def add_weighted(self, sums: IntColumn | None, weight: int) -> IntColumn:
        """Add the counts times the weight to the given column or a new one, and return it. Slot 0
        is unspecified."""


class Eligibility(Protocol):
    """Defines which rows count; re-evaluated for a row when its node changes. Hashable: equal
    instances share tables."""

    def rows(self) -> BoolColumn: ...

    def row(self, row: int) -> bool: ...

    def __hash__(self) -> int: ...


class LabelledPod(Protocol):
    """The properties of a pod that a matcher may read, equal for all pods of a label class."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def is_terminating(self) -> bool: ...


class PodMatcher(Protocol):
    """Defines which pods count. Hashable: equal matchers share tables."""

    @property
    def selector(self) -> Selector:
        """A selector that matches at least all pods that the matcher matches."""

    @property
    def namespace_names(self) -> frozenset[str] | None:
        """Names of all namespaces in which pods may match; None if they are not known by name."""

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool: ...

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool: ...

    def __hash__(self) -> int: ...


class WeighingMatcher(PodMatcher, Protocol):
    """A matcher that weighs pods: a pod counts with the sum of the weights of the selectors that
    match it."""

    @property
    def label_keys(self) -> frozenset[str]:
        """Labels on which the weight of a pod depends."""

    def weigh(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> int:
        """Return the weight of the pod: not negative, and 0 exactly if it does not match."""

    def selectors_in(self, namespace: str, namespace_labels: Mapping[str, str]) -> Iterable[tuple[Selector, int]]:
        """Return the selectors that apply to pods of the namespace, with their weights."""


def weighing(matcher: PodMatcher | WeighingMatcher) -> Callable[[LabelledPod, Mapping[str, str]], int]:
    """Return the function that gives the weight of a pod, given the labels of its namespace."""
    weigh: Callable[[LabelledPod, Mapping[str, str]], int] = getattr(matcher, "weigh", matcher.matches)
    return weigh


def is_weighing(matcher: PodMatcher | WeighingMatcher) -> TypeGuard[WeighingMatcher]:
    """Return whether the matcher counts some pods more than once."""
    return hasattr(matcher, "weigh")


def label_keys_of(matcher: PodMatcher | WeighingMatcher) -> frozenset[str]:
    """Return the labels of pods on which the matcher depends."""
    keys: frozenset[str] | None = getattr(matcher, "label_keys", None)
    return matcher.selector.keys if keys is None else keys


class MatchCounts(Protocol):
    """Number (or sum of weights) of matching pods per row, updated with every pod as long as it or
    one of its domain tables is referenced."""

    @property
    def per_row(self) -> Column: ...

    def by_domain(self, topology: Topology, eligible: Eligibility | None = None) -> DomainCounts:
        """Return counts of eligible rows by domain; without `eligible`, all rows count."""


class TermKind(Enum):
    """Kind of a pod's affinity term."""

    REQUIRED_AFFINITY = "required affinity"
    REQUIRED_ANTI_AFFINITY = "required anti-affinity"
    PREFERRED_AFFINITY = "preferred affinity"
    PREFERRED_ANTI_AFFINITY = "preferred anti-affinity"


class TermTable(Protocol):
    """Existing pods with one affinity term, counted by domain of the term's topology key."""

    @property
    def term(self) -> AffinityTerm: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def total(self) -> int:
        """Number of pods with the term on rows that have the topology label."""

    @property
    def users(self) -> int:
        """Number of pods with the term. At 0 the table has been freed and is not used again."""

    def pods_in(self, domain: int) -> int:
        """Return the number of such pods in one domain."""

    def mark_inhabited(self, domains: BoolColumn | None) -> BoolColumn:
        """Set the domains with such pods to true in the given column or a new one, and return it.
        Slot 0 is unspecified."""

    def add_weighted(self, sums: IntColumn | None, weight: int) -> IntColumn:
        """Add the counts times the weight to the given column or a new one, and return it. Slot 0
        is unspecified."""


class Terms(Protocol):
    """Term tables of one kind. A table is added with the first pod that has the term and removed
    with the last."""

    @property
    def end(self) -> int:
        """Number of tables ever added."""

    def since(self, position: int) -> Sequence[TermTable] | None:
        """Return the tables added since position `end` had this value; None if the log no longer
        reaches back."""

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterable[TermTable]:
        """Return a superset of the tables whose term matches a pod with these labels in the
        namespace."""


class TaintSets(Protocol):
    """Taints by row, interned without the time of their addition, since most nodes share a few
    sets."""

    @property
    def ids(self) -> NDArray[np.intp]: ...
    @property
    def sets(self) -> Sequence[tuple[Taint, ...]]: ...


class NodesView(Protocol):
    """The node columns as kernels read them. Arrays are replaced only when `generation` changes,
    and then all kernels are rebuilt: a kernel may store references to them."""

    @property
    def capacity(self) -> int:
        """Number of rows including spare ones: the length of every column."""

    @property
    def generation(self) -> int: ...
    @property
    def alive(self) -> BoolColumn:
        """Mask of the rows that have a node."""

    @property
    def node_count(self) -> int: ...

    @property
    def log(self) -> ChangeLog[int]:
        """Rows whose node or pods changed."""

    @property
    def node_log(self) -> ChangeLog[int]:
        """Rows whose node changed."""

    def row_of(self, name: str) -> int | None: ...

    def node(self, row: int) -> Node:
        """Return the row's node; raise LookupError if it has none."""

    def info(self, row: int) -> NodeInfo: ...

    def allocatable(self, resource: str) -> Column: ...

    def requested(self, resource: str) -> Column: ...

    def nonzero_requested(self, resource: str) -> Column:
        """Return the requests of pods for ``cpu`` or ``memory``, with upstream's defaults for
        containers that request nothing."""

    @property
    def pod_count(self) -> Column: ...
    @property
    def allowed_pods(self) -> Column: ...

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Mask of the rows whose labels meet the requirement. Updated in place as long as it is
        referenced; read-only."""

    def label_values(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        """Return the value id of the label by row, -1 without the label, and the id of each value.

        For labels with too many values for one column each. Do not store the result.
        """

    @property
    def taints(self) -> TaintSets: ...

    @property
    def unschedulable(self) -> BoolColumn: ...

    def rows_with_image(self, name: str) -> Mapping[int, int]:
        """Return the image size in bytes by row, for nodes that have the image with this normalised
        name."""

    @property
    def image_epoch(self) -> int:
        """Changes when images or the number of nodes change."""

    @property
    def rows_with_ports(self) -> Mapping[int, NodeInfo]:
        """Rows on which some pod uses a host port."""

    def topology(self, key: str) -> Topology: ...

    def matching(self, matcher: PodMatcher) -> MatchCounts:
        """Return the counts of the matcher, updated as long as they are referenced."""

    def matching_each(self, matchers: Sequence[PodMatcher]) -> Sequence[MatchCounts]:
        """Return the counts of many matchers: faster than calling `matching` for each.

        Each matcher must treat pods alike that its selector selects and that have the same
        namespace and termination state.
        """

    def terms(self, kind: TermKind) -> Terms:
        """Return all term tables of the kind. A new object is returned after `generation` has
        changed."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]: ...

    @property
    def namespaces_epoch(self) -> int:
        """Changes when a namespace or its labels change."""

    @property
    def terms_epoch(self) -> int:
        """Changes when a pod with affinity terms is added, removed or gets other neighbours."""
