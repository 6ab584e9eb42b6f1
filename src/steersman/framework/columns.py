# SPDX-License-Identifier: Apache-2.0
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

What kernels read is in `nodes_view`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn, IntColumn, NodesView, ReasonColumn, Rows
from steersman.framework.pod_info import HostPort, PodInfo
from steersman.framework.pod_limits import PodLimits
from steersman.framework.status import CycleAborted, Status
from steersman.kept import Kept

#: Raw scores of a `ScoreKernel` that is normalised lie within 0..MAX_RAW_SCORE; a cluster kernel does its own scaling.
MAX_RAW_SCORE = 1 << 24


class KernelFault(CycleAborted):
    """A cluster kernel finds that the plugin cannot go on: the cycle ends as it does when the scalar form says so.
    `status` is what the scalar engine would report, signed by the plugin."""


class Depends(Enum):
    """The things besides the pod that a kernel's answer for a row depends on. See the module's text."""

    NODE = "node"
    NODE_PODS = "node and its pods"


class Normalize(Enum):
    """How raw scores become 0..100."""

    NONE = "as they are"
    DEFAULT = "relative to the greatest"
    DEFAULT_REVERSE = "relative to the greatest, lower is better"


STATUS_TABLES = Kept(
    name="statuses",
    attributes=("StatusTable._ids", "StatusTable._statuses", "StatusTable._former"),
    holds="a plugin's statuses by the ids that its kernels give",
    key="status",
    stamps="never; `forgotten` moves when ids are void",
    bound="4,096; then all are forgotten, and the kernels with them",
    twin="the scalar filter's status",
    held_equal="tests/equivalence/test_engines_agree.py",
)


class StatusTable:
    """A plugin's statuses by reason id; id 0 means "fits" and has none.

    Statuses tell what users wrote (the names of resources and claims), so that there is no end to them. When there are too
    many, all are forgotten, and with them the kernels that know their ids: whoever keeps kernels compares `forgotten`. What was
    handed out before can be read until they are forgotten once more.
    """

    __slots__ = ("_former", "_ids", "_next_id", "_statuses")

    MOST: ClassVar[int] = 1 << 12
    #: How often a table has been forgotten: that of any plugin.
    forgotten: ClassVar[int] = 0

    def __init__(self) -> None:
        self._ids: dict[Status, int] = {}
        self._statuses: dict[int, Status] = {}
        self._former: dict[int, Status] = {}
        self._next_id = 1

    def id_of(self, status: Status) -> int:
        known = self._ids.get(status)
        if known is None:
            known = self._ids[status] = self._next_id
            self._statuses[known] = status
            self._next_id += 1
        return known

    def forget_if_full(self) -> None:
        """Not to be called while somebody works with ids that were asked for before the last time it was."""
        if len(self._ids) >= self.MOST:
            self._former = self._statuses
            self._statuses, self._ids = {}, {}
            StatusTable.forgotten += 1

    def __getitem__(self, reason_id: int) -> Status:
        status = self._statuses.get(reason_id)
        return self._former[reason_id] if status is None else status

    def __len__(self) -> int:
        return len(self._ids)


class NeedsRoom(msgspec.Struct, frozen=True):
    """A row passes exactly if so much of each resource is left there, and one more pod is allowed."""

    amounts: tuple[tuple[str, int], ...]


class NeedsPorts(msgspec.Struct, frozen=True):
    """A row passes exactly if none of these host ports is in use there."""

    ports: tuple[HostPort, ...]


class AddedPods(Protocol):
    """Pods that are thought to be on some nodes besides those that are there. All but `rows` is by position in `rows`."""

    @property
    def rows(self) -> NDArray[np.intp]:
        """The nodes; none twice."""

    @property
    def counts(self) -> IntColumn:
        """How many are added."""

    def amounts(self, resource: str) -> IntColumn:
        """The sum of the requests of the added pods."""

    def with_ports(self) -> Sequence[int]:
        """Positions at which host ports may be among what they want: at others they are not."""

    def pods(self, position: int) -> Sequence[PodInfo]:
        """The pods that are added to one of the nodes."""


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
        """Reason id for one row that has a node."""

    def row_with(self, row: int, added: Sequence[PodInfo]) -> int:
        """Reason id for the row if these pods were there as well; only of kernels whose answer depends on the node alone, or
        that have a `rule`."""
        return self.row(row)

    def rows_with(self, added: AddedPods, before: ReasonColumn) -> ReasonColumn:
        """Reason ids for many rows, each with its pods. `before` is what it says of them as they are, and may be changed."""
        reasons = [self.row_with(row, added.pods(position)) for position, row in enumerate(added.rows.tolist())]
        return np.array(reasons, np.int32)

    def epoch(self) -> int:
        """Changes when the answers of all rows may have changed because of what happened to other nodes. Looked at after
        some node has changed."""
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
        """Raw score of one row that has a node."""

    def epoch(self) -> int:
        """Changes when the scores of all rows may have changed because of what happened to other nodes. Looked at after some
        node has changed."""
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

    #: What it says changes only when a pod with affinity terms comes or goes, or a node does (`NodesView.terms_epoch`).
    follows_terms = False

    @abstractmethod
    def skipped(self) -> bool:
        """Whether PreFilter would say Skip now."""

    def refusal(self) -> Status | None:
        """The objection of PreFilter to the pod itself, whatever the nodes; None: nothing."""
        return None

    @abstractmethod
    def rejected(self) -> BoolColumn | None:
        """True for every row that does not pass; None when all pass. Rows without a node: anything."""

    @abstractmethod
    def reasons(self) -> ReasonColumn:
        """Reason ids of all rows; nonzero exactly where `rejected` is true."""

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits | None:
        """How the answer for a row follows from the pods on it; None: it cannot be said so simply. `coming` are pods that may
        be thought to be on a row besides those that are anywhere now. Asked only while the kernel is not skipped."""
        return None


#: Up to this weight a score of 100 stays within 32 bits.
_MOST_NARROW_WEIGHT = 1 << 24


class RowFeature(msgspec.Struct, frozen=True):
    """A number of each row from which the answer of a cluster kernel follows, beside numbers that are the same for all rows.
    It is not negative, and changes only on rows in `NodesView.log`, or when a node does."""

    #: For all rows; not to be changed.
    column: Callable[[], AnyIntColumn]
    #: For one row.
    of: Callable[[int], int]
    #: It may change on rows in the log; else only when a node does.
    follows_pods: bool


class GroupingFilterKernel(ClusterFilterKernel):
    """A cluster filter that treats rows with the same features alike, so that it can be asked by group of such rows."""

    @abstractmethod
    def features(self) -> Sequence[RowFeature] | None:
        """None: rows cannot be told by features, until a node changes."""

    @abstractmethod
    def rejected_groups(self, groups: Sequence[tuple[int, ...]]) -> Sequence[bool]:
        """`rejected`, by group; a group is the values of its features."""


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

    @classmethod
    def at(cls, row: int, penalty: AnyIntColumn) -> Feasible:
        """One feasible row, and no other."""
        feasible = cls(penalty, 1)
        feasible._rows = np.array([row])
        return feasible

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

    def rests(self) -> bool:
        """Whether it is skipped, and will be until a pod with affinity terms comes or goes (`NodesView.terms_epoch`)."""
        return False

    @abstractmethod
    def skipped(self, feasible: Feasible) -> bool:
        """Whether PreScore would say Skip now."""

    @abstractmethod
    def raw(self, feasible: Feasible) -> IntColumn:
        """The score of each row; only feasible rows matter."""

    @abstractmethod
    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        """0..100 for each feasible row after normalisation; None when every feasible row gets 0.
        The caller does not keep or change the column."""

    def weighted(self, feasible: Feasible, weight: int) -> AnyIntColumn | None:
        """`normalized` times the weight that the profile gives it; a kernel may know a shorter way."""
        score = self.normalized(feasible)
        if score is None or weight == 1:
            return score
        # Large weights of scores in 32 bits need 64.
        return score * weight if abs(weight) <= _MOST_NARROW_WEIGHT else score.astype(np.int64) * weight


class GroupingScoreKernel(ClusterScoreKernel):
    """A cluster score that is the same for rows with the same features, so that it can be asked by group of such rows."""

    @abstractmethod
    def features(self) -> Sequence[RowFeature] | None:
        """None: rows cannot be told by features, until a node changes."""

    @abstractmethod
    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> Sequence[int] | None:
        """`normalized`, by group; None when every group gets 0. A group is the values of its features; `counts` says how many
        feasible rows each has: what is said of a group without any is ignored. As long as `groups` is the same object, it
        has not changed."""


class ColumnarFilter:
    """Mixin of a FilterPlugin that has a vector form."""

    #: Filled by kernels, read by diagnosis.
    statuses: StatusTable
    #: The kernels are cluster kernels, which also say whether PreFilter would say Skip. Otherwise PreFilter must depend
    #: on the pod alone: it is asked once per signature, without nodes.
    filters_by_cluster: ClassVar[bool] = False
    #: The kernels of pods with volume claims depend on which claims these are, and not on the pod's shape alone. They are
    #: cluster kernels, made for one pod.
    looks_at_claims: ClassVar[bool] = False

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        """The part of the pod that the filter looks at; pods with equal fragments share a kernel. None: do not share (cluster
        kernels)."""
        raise TypeError(f"{type(self).__name__} has no filter_fragment")

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | ClusterFilterKernel | None:
        """None: every node passes, whatever happens to it. A kernel need not reject the nodes to which the plugin's own
        PreFilter does not restrict the pod: whoever asks about such a node asks the scalar form."""
        raise TypeError(f"{type(self).__name__} has no filter_kernel")


class ColumnarScore:
    """Mixin of a ScorePlugin that has a vector form."""

    def score_fragment(self, pod: PodInfo) -> Hashable:
        """The part of the pod that the score looks at; pods with equal fragments share a kernel. None: do not share (cluster
        kernels)."""
        raise TypeError(f"{type(self).__name__} has no score_fragment")

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        """None: PreScore says Skip for this pod, whatever the cluster looks like."""
        raise TypeError(f"{type(self).__name__} has no score_kernel")


@runtime_checkable
class RemembersRows(Protocol):
    """May be implemented by a filter plugin without vector form that knows of many nodes what it would say."""

    def known_rows(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.intp], view: NodesView
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows that it rejects, and the rows that it has to be asked about one by one."""


class PerPodFragment:
    """Mixin of a columnar plugin whose kernels depend on more than the pod's shape (namespace and scheduling-relevant
    spec) and those of its labels that selectors in use refer to. `pod_fragment` must be cheap: it is asked per pod."""

    @property
    def has_pod_fragments(self) -> bool:
        """False: as it is configured, the plugin looks at nothing else."""
        return True

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        raise TypeError(f"{type(self).__name__} has no pod_fragment")

    @property
    def fragment_kinds(self) -> Collection[type[object]] | None:
        """Kinds of objects besides pods and nodes: as long as no such object changes, pods of one `PodTemplate` have equal
        fragments. None: they need not have."""
        return None
