# SPDX-License-Identifier: Apache-2.0
"""The node columns as vector forms of plugins read them: one row per node, and tables that count pods.

`state` implements `NodesView` and everything behind it and keeps it up to date; plugins only read. `columns` says what
plugins make of it.

Columns and tables that are keyed by what users write (requirements, topology keys, resources, matchers) follow the cluster as
long as somebody refers to them, and are freed afterwards. So a kernel keeps the object that it got, and not only an array or a
view that it found in there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.api import Node, Taint
from steersman.api.selectors import Requirement, Selector
from steersman.change_log import ChangeLog
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import AffinityTerm

#: Row indices, or a slice for "all of them".
Rows = NDArray[np.intp] | slice
BoolColumn = NDArray[np.bool_]
IntColumn = NDArray[np.int64]
ReasonColumn = NDArray[np.int32]
#: Of either width.
AnyIntColumn = NDArray[np.signedinteger[Any]]

ALL_ROWS = slice(None)

ScalarT = TypeVar("ScalarT", bound=np.generic)


class Column:
    """An int64 column with a memoryview twin: numpy for many cells, the view for one (ten times faster there)."""

    __slots__ = ("__weakref__", "cell", "values")

    def __init__(self, values: IntColumn) -> None:
        self.values = values
        self.cell = values.data


class Topology(Protocol):
    """The domains of one topology key: rows with the same label value share a domain id."""

    @property
    def key(self) -> str: ...
    @property
    def domain(self) -> NDArray[np.intp]:
        """Domain id by row; 0 when the node lacks the label (or there is no node)."""

    @property
    def cell(self) -> memoryview:
        """Twin of `domain`."""

    @property
    def size(self) -> int:
        """Length of a per-domain table: greater than every domain id."""

    @property
    def one_row_per_domain(self) -> bool:
        """Every node has the label, and no two share a value: hostnames, usually."""

    @property
    def empty_value(self) -> int:
        """The domain of nodes that have the label with an empty value; 0 while there has been none."""

    def gather(self, table: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """Per-domain table to per-row column; may be a view of the table, so do not write into it."""


class DomainCounts(Protocol):
    """Matching pods summed per domain, over the eligible rows."""

    @property
    def topology(self) -> Topology: ...
    @property
    def counts(self) -> IntColumn:
        """By domain id; slot 0 sums the eligible rows without the label."""

    @property
    def eligible_rows(self) -> IntColumn:
        """Number of eligible rows by domain id."""

    @property
    def counted_rows(self) -> BoolColumn:
        """Rows that are eligible and have the label."""

    @property
    def total(self) -> int:
        """Number of matching pods on eligible rows that have the label: the sum of `counts` without slot 0."""

    @property
    def cell(self) -> memoryview:
        """Twin of `counts`."""

    def mark_inhabited(self, domains: BoolColumn | None) -> BoolColumn:
        """Sets true what has pods, by domain id, in the given column or a new one. Slot 0 may be set as well."""

    def add_weighted(self, sums: IntColumn | None, weight: int) -> IntColumn:
        """Adds the counts times the weight, by domain id, to the given column or a new one. Something may be added to slot 0
        as well."""


class Eligibility(Protocol):
    """Which rows count; asked again for a row when its node changes. Hashable: equal ones share tables."""

    def rows(self) -> BoolColumn: ...

    def row(self, row: int) -> bool: ...

    def __hash__(self) -> int: ...


class LabelledPod(Protocol):
    """The parts of a pod that a matcher may look at: equal for all pods of a label class."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def is_terminating(self) -> bool: ...


class PodMatcher(Protocol):
    """Which pods count. Hashable: equal matchers share tables."""

    @property
    def selector(self) -> Selector:
        """Matches every pod that the matcher matches."""

    @property
    def namespace_names(self) -> frozenset[str] | None:
        """All in which a pod may match; None: there may be others, whatever their names."""

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool: ...

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool: ...

    def __hash__(self) -> int: ...


class MatchCounts(Protocol):
    """How many pods on each row a matcher matches; kept up to date as pods come and go, as long as somebody refers to it or
    to one of its tables by domain."""

    @property
    def per_row(self) -> Column: ...

    def by_domain(self, topology: Topology, eligible: Eligibility | None = None) -> DomainCounts:
        """Counts by domain, of eligible rows; None: every row counts."""


class TermKind(Enum):
    """Which of a pod's affinity terms."""

    REQUIRED_AFFINITY = "required affinity"
    REQUIRED_ANTI_AFFINITY = "required anti-affinity"
    PREFERRED_AFFINITY = "preferred affinity"
    PREFERRED_ANTI_AFFINITY = "preferred anti-affinity"


class TermTable(Protocol):
    """Existing pods that have one affinity term, counted by domain of the term's topology key."""

    @property
    def term(self) -> AffinityTerm: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def total(self) -> int:
        """Number of pods with the term on rows that have the topology label."""

    @property
    def users(self) -> int:
        """Number of pods with the term, wherever they are. Once it is 0 it stays so: the table has been freed."""

    def mark_inhabited(self, domains: BoolColumn | None) -> BoolColumn:
        """Sets true what has pods, by domain id, in the given column or a new one. Slot 0 may be set as well."""

    def add_weighted(self, sums: IntColumn | None, weight: int) -> IntColumn:
        """Adds the counts times the weight, by domain id, to the given column or a new one. Something may be added to slot 0
        as well."""


class Terms(Protocol):
    """The term tables of one kind. They come with the first pod that has the term and go with the last."""

    @property
    def end(self) -> int:
        """How many tables there have been."""

    def since(self, position: int) -> Sequence[TermTable] | None:
        """Tables that came after `end` was that; None when that is too long ago to tell."""

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterable[TermTable]:
        """All whose term may speak of a pod with these labels in that namespace, and some that do not."""


class TaintSets(Protocol):
    """Taints by row, interned without the time of their addition: most nodes share a few sets."""

    @property
    def ids(self) -> NDArray[np.intp]: ...
    @property
    def sets(self) -> Sequence[tuple[Taint, ...]]: ...


class NodesView(Protocol):
    """The node columns as kernels read them. Arrays may be replaced only when `generation` changes, and then every
    kernel is made anew: a kernel may keep what it got."""

    @property
    def capacity(self) -> int:
        """Number of rows, spare ones included: the length of every column."""

    @property
    def generation(self) -> int: ...
    @property
    def alive(self) -> BoolColumn:
        """Rows that have a node."""

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
        """The row's node; LookupError for a row without one."""

    def info(self, row: int) -> NodeInfo: ...

    def allocatable(self, resource: str) -> Column: ...

    def requested(self, resource: str) -> Column: ...

    def nonzero_requested(self, resource: str) -> Column:
        """The requests of pods with upstream's defaults for those that request nothing; of ``cpu`` and ``memory``."""

    @property
    def pod_count(self) -> Column: ...
    @property
    def allowed_pods(self) -> Column: ...

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Rows whose labels meet the requirement. Kept up to date in place as long as somebody refers to it; do not change
        it."""

    def label_values(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        """Which value of the label each row has: ids by row, -1 without the label, and the id of each value. Not to be kept;
        for labels with so many values that a column for each would be a waste."""

    @property
    def taints(self) -> TaintSets: ...

    @property
    def unschedulable(self) -> BoolColumn: ...

    def rows_with_image(self, name: str) -> Mapping[int, int]:
        """Row to size in bytes for the nodes that have the image under that (normalised) name."""

    @property
    def image_epoch(self) -> int:
        """Changes when images or the number of nodes change."""

    @property
    def rows_with_ports(self) -> Mapping[int, NodeInfo]:
        """Rows on which some pod uses a host port."""

    def topology(self, key: str) -> Topology: ...

    def matching(self, matcher: PodMatcher) -> MatchCounts:
        """Subscribes to the counts of that matcher."""

    def terms(self, kind: TermKind) -> Terms:
        """All term tables of that kind. Another object after the `generation` has changed."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]: ...

    @property
    def namespaces_epoch(self) -> int:
        """Changes when a namespace or its labels change."""

    @property
    def terms_epoch(self) -> int:
        """Changes when a pod with affinity terms comes, goes or gets other neighbours."""
