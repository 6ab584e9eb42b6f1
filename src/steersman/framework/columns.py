"""The vector form of a plugin: kernels that answer for many nodes at once.

Every node has a *row*. A columnar plugin makes, for a pod, a *kernel* bound to the node columns; the kernel answers for a
set of rows (`rows`) and for one row (`row`), and the two are equal. What a kernel's answers depend on besides the pod
decides how they are kept:

* `Depends.NODE`: the Node object only. Recomputed for a row when its node changes.
* `Depends.NODE_PODS`: also the pods on that node. Recomputed for a row when a pod comes or goes there.
* cluster kernels (`ClusterFilterKernel`, `ClusterScoreKernel`): pods anywhere. Asked once per cycle for all rows; they
  read count tables that `state` keeps up to date.

Kernels of pods with equal *fragments* are shared. A filter answers with reason ids, 0 for "fits", which the plugin's
`StatusTable` turns into statuses; so diagnosis and explanation need no second evaluation. The scalar methods of the same
plugin are the specification; property tests hold the two forms equal.

`state` implements `NodesView` and everything behind it; plugins only read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.api import Node, Taint
from steersman.api.selectors import Requirement, Selector
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import AffinityTerm, HostPort, PodInfo
from steersman.framework.status import Code, CycleAborted, Status

#: Row indices, or a slice for "all of them".
Rows = NDArray[np.intp] | slice
BoolColumn = NDArray[np.bool_]
IntColumn = NDArray[np.int64]
ReasonColumn = NDArray[np.int32]
#: Of either width.
AnyIntColumn = NDArray[np.signedinteger[Any]]

ALL_ROWS = slice(None)

#: Raw scores of a `ScoreKernel` that is normalised lie within 0..MAX_RAW_SCORE; a cluster kernel does its own scaling.
MAX_RAW_SCORE = 1 << 24


class KernelFault(CycleAborted):
    """A cluster kernel finds that the plugin cannot go on: the cycle ends as it does when the scalar form says so.
    `status` is what the scalar engine would report, signed by the plugin."""


ScalarT = TypeVar("ScalarT", bound=np.generic)


class Column:
    """An int64 column with a memoryview twin: numpy for many cells, the view for one (ten times faster there)."""

    __slots__ = ("cell", "values")

    def __init__(self, values: IntColumn) -> None:
        self.values = values
        self.cell = values.data


class Depends(Enum):
    """What a kernel's answer for a row depends on besides the pod. See the module's text."""

    NODE = "node"
    NODE_PODS = "node and its pods"


class Normalize(Enum):
    """How raw scores become 0..100."""

    NONE = "as they are"
    DEFAULT = "relative to the greatest"
    DEFAULT_REVERSE = "relative to the greatest, lower is better"


class StatusTable:
    """A plugin's statuses by reason id; id 0 means "fits" and has none."""

    __slots__ = ("_ids", "_statuses")

    def __init__(self) -> None:
        self._statuses: list[Status] = [Status(Code.SUCCESS)]
        self._ids: dict[Status, int] = {}

    def id_of(self, status: Status) -> int:
        known = self._ids.get(status)
        if known is None:
            known = self._ids[status] = len(self._statuses)
            self._statuses.append(status)
        return known

    def __getitem__(self, reason_id: int) -> Status:
        return self._statuses[reason_id]

    def __len__(self) -> int:
        return len(self._statuses)


@dataclass(frozen=True, slots=True)
class NeedsRoom:
    """A row passes exactly if so much of each resource is left there, and one more pod is allowed."""

    amounts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class NeedsPorts:
    """A row passes exactly if none of these host ports is in use there."""

    ports: tuple[HostPort, ...]


class FilterKernel(ABC):
    """Node-local filter of one fragment."""

    depends: Depends = Depends.NODE
    #: How the answer follows from the pods on the node, if it can be said so simply that others may foresee it.
    rule: NeedsRoom | NeedsPorts | None = None

    @abstractmethod
    def rows(self, rows: Rows) -> ReasonColumn:
        """Reason ids for the rows. What it says of rows without a node is ignored."""

    @abstractmethod
    def row(self, row: int) -> int:
        """The same for one row that has a node."""

    def row_with(self, row: int, added: Sequence[PodInfo]) -> int:
        """The same if these pods were there as well; only of kernels whose answer depends on the node alone, or that
        have a `rule`."""
        return self.row(row)

    def epoch(self) -> int:
        """Changes when the answers of all rows may have changed for a reason that is not in the row."""
        return 0


class ScoreKernel(ABC):
    """Node-local score of one fragment, before normalisation."""

    depends: Depends = Depends.NODE
    normalize: Normalize = Normalize.NONE

    @abstractmethod
    def rows(self, rows: Rows) -> IntColumn:
        """Raw scores for the rows. What it says of rows without a node is ignored."""

    @abstractmethod
    def row(self, row: int) -> int:
        """The same for one row that has a node."""

    def epoch(self) -> int:
        """As in `FilterKernel`."""
        return 0


class ClusterFilterKernel(ABC):
    """A filter whose answer depends on pods anywhere in the cluster, or on other objects."""

    #: What `refusal` says may change as long as the kernel lives.
    refusal_varies: ClassVar[bool] = False
    #: There may be `broken_rows`.
    may_break: ClassVar[bool] = False

    @property
    def broken_rows(self) -> Collection[int]:
        """Rows for which the scalar form would report a fault. They count as rejected, and where no other plugin rejects
        them, the scalar form is asked."""
        return ()

    @abstractmethod
    def skipped(self) -> bool:
        """Whether PreFilter would say Skip now."""

    def refusal(self) -> Status | None:
        """What PreFilter would have against the pod itself, whatever the nodes; None: nothing."""
        return None

    @abstractmethod
    def rejected(self) -> BoolColumn | None:
        """True for every row that does not pass; None when all pass. Rows without a node: anything."""

    @abstractmethod
    def reasons(self) -> ReasonColumn:
        """Reason ids of all rows; nonzero exactly where `rejected` is true."""


class Feasible:
    """The rows that passed every filter of this cycle."""

    __slots__ = ("_mask", "_rows", "count", "local", "penalty", "rejected")

    def __init__(
        self,
        penalty: AnyIntColumn,
        count: int,
        local: AnyIntColumn | None = None,
        rejected: BoolColumn | None = None,
    ) -> None:
        #: 0 for a feasible row, a large negative number for any other: `(raw + penalty).max()` needs no mask.
        self.penalty = penalty
        self.count = count
        #: The same before the filters that depend on more than a row. As long as it is the same array object from one
        #: cycle to the next, it has changed only on rows in `NodesView.log`.
        self.local = penalty if local is None else local
        #: The rows that are infeasible whatever `local` says of them; None: `penalty` is `local`.
        self.rejected = rejected
        self._mask: BoolColumn | None = None
        self._rows: NDArray[np.intp] | None = None

    @property
    def mask(self) -> BoolColumn:
        if self._mask is None:
            self._mask = self.penalty == 0
        return self._mask

    @property
    def rows(self) -> NDArray[np.intp]:
        if self._rows is None:
            self._rows = self.mask.nonzero()[0]
        return self._rows


class ClusterScoreKernel(ABC):
    """A score that depends on pods anywhere, or on which rows are feasible."""

    @abstractmethod
    def skipped(self, feasible: Feasible) -> bool:
        """Whether PreScore would say Skip now."""

    @abstractmethod
    def raw(self, feasible: Feasible) -> IntColumn:
        """What Score would say of each row; only feasible rows matter."""

    @abstractmethod
    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        """0..100 for each feasible row after normalisation; None when every feasible row gets 0.
        The caller does not keep or change the column."""


class ColumnarFilter:
    """Mixin of a FilterPlugin that has a vector form."""

    #: Filled by kernels, read by diagnosis.
    statuses: StatusTable
    #: The kernels are cluster kernels, which also say whether PreFilter would say Skip. Otherwise PreFilter must depend
    #: on the pod alone: it is asked once per signature, without nodes.
    filters_by_cluster: ClassVar[bool] = False

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        """What the filter looks at in the pod; pods with equal fragments share a kernel. None: do not share (cluster
        kernels)."""
        raise TypeError(f"{type(self).__name__} has no filter_fragment")

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | ClusterFilterKernel | None:
        """None: every node passes, whatever happens to it. A kernel need not reject the nodes to which the plugin's own
        PreFilter does not restrict the pod: whoever asks about such a node asks the scalar form."""
        raise TypeError(f"{type(self).__name__} has no filter_kernel")


class ColumnarScore:
    """Mixin of a ScorePlugin that has a vector form."""

    def score_fragment(self, pod: PodInfo) -> Hashable:
        """What the score looks at in the pod; pods with equal fragments share a kernel. None: do not share (cluster
        kernels)."""
        raise TypeError(f"{type(self).__name__} has no score_fragment")

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        """None: PreScore says Skip for this pod, whatever the cluster looks like."""
        raise TypeError(f"{type(self).__name__} has no score_kernel")


class PerPodFragment:
    """Mixin of a columnar plugin whose kernels depend on more than the pod's shape (namespace and scheduling-relevant
    spec) and those of its labels that selectors in use refer to. `pod_fragment` must be cheap: it is asked per pod."""

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        raise TypeError(f"{type(self).__name__} has no pod_fragment")


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
    def total(self) -> int:
        """Number of matching pods on eligible rows that have the label: the sum of `counts` without slot 0."""

    @property
    def cell(self) -> memoryview:
        """Twin of `counts`."""


class Eligibility(Protocol):
    """Which rows count; asked again for a row when its node changes. Hashable: equal ones share tables."""

    def rows(self) -> BoolColumn: ...

    def row(self, row: int) -> bool: ...

    def __hash__(self) -> int: ...


class PodMatcher(Protocol):
    """Which pods count. Hashable: equal matchers share tables."""

    @property
    def selector(self) -> Selector: ...

    def matches(self, pod: PodInfo, namespace_labels: Mapping[str, str]) -> bool: ...

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool: ...

    def __hash__(self) -> int: ...


class MatchCounts(Protocol):
    """How many pods on each row a matcher matches; kept up to date as pods come and go."""

    @property
    def per_row(self) -> Column: ...

    def by_domain(self, topology: Topology, eligible: Eligibility | None = None) -> DomainCounts:
        """The same per domain; None: every row counts."""


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
    def counts(self) -> IntColumn: ...
    @property
    def total(self) -> int:
        """Number of pods with the term on rows that have the topology label."""


class TaintSets(Protocol):
    """Taints by row, interned without the time of their addition: most nodes share a few sets."""

    @property
    def ids(self) -> NDArray[np.intp]: ...
    @property
    def sets(self) -> Sequence[tuple[Taint, ...]]: ...


class ChangeLog(Protocol):
    """Which rows changed, in order: whoever was up to date at `end` catches up with what has been added since."""

    @property
    def end(self) -> int: ...

    def since(self, position: int) -> Collection[int] | None:
        """The distinct rows that changed since; None when that is too long ago to tell."""


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
    def log(self) -> ChangeLog:
        """Rows whose node or pods changed."""

    @property
    def node_log(self) -> ChangeLog:
        """Rows whose node changed."""

    def row_of(self, name: str) -> int | None: ...

    def node(self, row: int) -> Node:
        """The row's node; LookupError for a row without one."""

    def info(self, row: int) -> NodeInfo: ...

    def allocatable(self, resource: str) -> Column: ...

    def requested(self, resource: str) -> Column: ...

    def nonzero_requested(self, resource: str) -> Column:
        """For ``cpu`` and ``memory``."""

    @property
    def pod_count(self) -> Column: ...
    @property
    def allowed_pods(self) -> Column: ...

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Rows whose labels meet the requirement. Kept up to date in place; do not change it."""

    def label_values(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        """Which value of the label each row has: ids by row, -1 without the label, and the id of each value. Kept up to
        date in place; for labels with so many values that a column for each would be a waste."""

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

    def terms(self, kind: TermKind) -> Sequence[TermTable]:
        """All term tables of that kind, in the order in which they appeared; the sequence only grows within a
        `generation`."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]: ...

    @property
    def namespaces_epoch(self) -> int:
        """Changes when a namespace or its labels change."""
