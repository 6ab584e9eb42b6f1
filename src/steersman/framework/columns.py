# SPDX-License-Identifier: Apache-2.0
"""Vectorised plugins: kernels that evaluate many nodes at once.

Each node has a *row*. For a pod, a columnar plugin makes a *kernel* over the node columns; the
kernel evaluates a set of rows (`rows`) or one row (`row`), with equal results. What a result
depends on besides the pod decides how it is cached:

* `Depends.NODE`: the Node object only. Recomputed for a row when its node changes.
* `Depends.NODE_PODS`: also the pods on the node. Recomputed when a pod is added to or removed from
  it.
* cluster kernels (`ClusterFilterKernel`, `ClusterScoreKernel`): pods anywhere. Called once per
  cycle for all rows; they read count tables that `state` maintains.

Pods with equal *fragments* share a kernel. A filter returns reason ids, 0 for "fits", which the
plugin's `StatusTable` maps to statuses, so that diagnosis and explanation need no second
evaluation. The scalar methods of the plugin are the reference; property tests compare the two.

Results that depend on the clock must not be cached. Only cluster kernels may read the clock: with
`follows_terms` and `follows_state` false, and with `refusal_varies` true if the refusal depends on
it. A node-local kernel or a promise (`depends`) must not; `epoch` does not help, because it is
compared only after a node has changed.

`nodes_view` defines what kernels can read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec
from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn, IntColumn, NodesView, ReasonColumn, Rows
from steersman.framework.pod_info import HostPort, PodInfo
from steersman.framework.pod_limits import PodLimits
from steersman.framework.status import CycleAborted, Status

#: Maximum raw score of a `ScoreKernel` that is normalised; the minimum is 0. Cluster kernels
#: normalise their own scores.
MAX_RAW_SCORE = 1 << 24


class KernelFault(CycleAborted):
    """A cluster kernel detects an internal error of the plugin. The cycle is aborted with `status`,
    which equals the status of the scalar methods."""


class Depends(Enum):
    """What the result for a row depends on besides the pod; never the clock."""

    NODE = "node"
    NODE_PODS = "node and its pods"


class Normalize(Enum):
    """How raw scores are scaled to 0..100."""

    NONE = "as they are"
    DEFAULT = "relative to the greatest"
    DEFAULT_REVERSE = "relative to the greatest, lower is better"


STATUS_TABLES = CacheSpec(
    name="statuses",
    attributes=("StatusTable._ids", "StatusTable._statuses", "StatusTable._former"),
    contents="a plugin's statuses by the ids that its kernels return",
    key="status",
    invalidation="never; `times_cleared` changes when ids become invalid",
    limit="4,096; then all are dropped, and the kernels with them",
    reference="the scalar filter's status",
    checked_by="tests/equivalence/test_engines_agree.py",
)


class StatusTable:
    """A plugin's statuses by reason id; id 0 means "fits" and has no status.

    Statuses contain names from manifests (resources, claims), so their number is unbounded. A full
    table is cleared, and kernels that use its ids must be dropped: their owner compares
    `times_cleared`. Ids issued before remain readable until the table is cleared again.
    """

    __slots__ = ("_former", "_ids", "_next_id", "_statuses")

    MAX_STATUSES: ClassVar[int] = 1 << 12
    #: Number of times that any table was cleared.
    times_cleared: ClassVar[int] = 0

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

    def clear_if_full(self) -> None:
        """Clear the table if it is full. Must not be called while ids issued before the previous
        clearing are in use."""
        if len(self._ids) >= self.MAX_STATUSES:
            self._former = self._statuses
            self._statuses, self._ids = {}, {}
            StatusTable.times_cleared += 1

    def __getitem__(self, reason_id: int) -> Status:
        status = self._statuses.get(reason_id)
        return self._former[reason_id] if status is None else status

    def __len__(self) -> int:
        return len(self._ids)


class NeedsResources(msgspec.Struct, frozen=True):
    """A row passes exactly if these amounts of resources are free and one more pod is allowed."""

    amounts: tuple[tuple[str, int], ...]


class NeedsPorts(msgspec.Struct, frozen=True):
    """A row passes exactly if none of these host ports is in use."""

    ports: tuple[HostPort, ...]


class AddedPods(Protocol):
    """Hypothetical pods on some rows, in addition to the existing ones. Everything is indexed by
    position in `rows`."""

    @property
    def rows(self) -> NDArray[np.intp]:
        """Rows to which pods are added, without duplicates."""

    @property
    def counts(self) -> IntColumn:
        """Number of added pods."""

    def amounts(self, resource: str) -> IntColumn:
        """Return the sum of the requests of the added pods."""

    def with_ports(self) -> Sequence[int]:
        """Positions whose added pods may use host ports; others certainly do not."""

    def pods(self, position: int) -> Sequence[PodInfo]:
        """Return the pods added at one position."""


class FilterKernel(ABC):
    """Node-local filter of one fragment."""

    depends: Depends = Depends.NODE
    #: Whether the result follows from cpu, memory and pods, offered and requested on the row.
    reads_only_amounts: bool = False
    #: Simple rule that the result follows, from which other components can predict it.
    rule: NeedsResources | NeedsPorts | None = None

    @abstractmethod
    def rows(self, rows: Rows) -> ReasonColumn:
        """Return reason ids for the rows. Values for rows without a node are ignored."""

    @abstractmethod
    def row(self, row: int) -> int:
        """Return the reason id for one row, which has a node."""

    def row_with(self, row: int, added: Sequence[PodInfo]) -> int:
        """Return the reason id for the row if these pods were added. Only called for kernels that
        depend on the node alone or have a `rule`."""
        return self.row(row)

    def rows_with(self, added: AddedPods, before: ReasonColumn) -> ReasonColumn:
        """Return reason ids for many rows, each with its added pods. `before` has the ids without
        them and may be modified."""
        reasons = [self.row_with(row, added.pods(position)) for position, row in enumerate(added.rows.tolist())]
        return np.array(reasons, np.int32)

    def epoch(self) -> int:
        """Return a number that changes when the answers of all rows are outdated because of other
        nodes.

        Compared only after a node has changed: not for answers that depend on the clock."""
        return 0


class ScoreKernel(ABC):
    """Node-local score of one fragment, before normalisation."""

    depends: Depends = Depends.NODE
    normalize: Normalize = Normalize.NONE
    #: Whether the score follows from cpu, memory and pods, offered and requested on the row.
    reads_only_amounts: bool = False

    @abstractmethod
    def rows(self, rows: Rows) -> IntColumn:
        """Return raw scores for the rows. Values for rows without a node are ignored."""

    @abstractmethod
    def row(self, row: int) -> int:
        """Return the raw score of one row, which has a node."""

    def epoch(self) -> int:
        """Return a number that changes when the scores of all rows are outdated because of other
        nodes.

        Compared only after a node has changed: not for scores that depend on the clock."""
        return 0


class ZeroScores(ScoreKernel):
    """Scores 0 on every node: for pods that a plugin scores without a preference."""

    depends = Depends.NODE

    def __init__(self, view: NodesView) -> None:
        self._view = view

    def rows(self, rows: Rows) -> IntColumn:
        return np.zeros(len(self._view.alive[rows]), np.int64)

    def row(self, row: int) -> int:
        return 0


class ClusterFilterKernel(ABC):
    """A filter whose result depends on pods anywhere in the cluster, or on other objects."""

    #: Whether `refusal` is not constant and must be called in every cycle.
    refusal_varies: ClassVar[bool] = False
    #: Whether `broken_rows` may be non-empty.
    may_break: ClassVar[bool] = False

    @property
    def broken_rows(self) -> Collection[int]:
        """Rows for which the scalar filter would report an internal error. They count as rejected;
        if no other plugin rejects them, the scalar filter is called."""
        return ()

    #: Whether the result changes only with nodes, pods and `Objects`, never with time.
    follows_state: ClassVar[bool] = False
    #: Whether the result changes only with pods that have affinity terms, or with nodes
    #: (`NodesView.terms_epoch`).
    follows_terms = False

    @abstractmethod
    def skipped(self) -> bool:
        """Return whether PreFilter would return Skip."""

    def refusal(self) -> Status | None:
        """Return the rejection of the pod by PreFilter, independent of nodes, or None."""
        return None

    @abstractmethod
    def rejected(self) -> BoolColumn | None:
        """Return a column that is true for rejected rows, or None if all rows pass. Values for rows
        without a node are ignored."""

    @abstractmethod
    def reasons(self) -> ReasonColumn:
        """Return the reason ids of all rows, nonzero exactly where `rejected` is true."""

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits | None:
        """Return limits from which the result for a row can be derived if pods are added or
        removed, or None if there is no such rule.

        `coming` are hypothetical pods, in addition to all existing ones. Only called while the
        kernel is not skipped.
        """
        return None


#: Largest weight with which scores of 0..100 fit in 32 bits.
_MAX_WEIGHT_32BIT = 1 << 24


class RowFeature(msgspec.Struct, frozen=True):
    """A non-negative number per row that determines, with values common to all rows, the result of
    a cluster kernel. It changes only on rows in `NodesView.log`, or when a node changes."""

    #: Return the values of all rows; read-only.
    column: Callable[[], AnyIntColumn]
    #: Return the value of one row.
    value: Callable[[int], int]
    #: Whether the value changes with pods, on rows in the log; otherwise only with the node.
    follows_pods: bool


class GroupingFilterKernel(ClusterFilterKernel):
    """A cluster filter that treats rows with equal features alike and can be evaluated once per
    group of such rows."""

    @abstractmethod
    def features(self) -> Sequence[RowFeature] | None:
        """Return the features, or None if there are none until a node changes."""

    def has_current_features(self) -> bool:
        """Return whether the features still determine the result; if not, they are requested
        again."""
        return True

    @abstractmethod
    def rejected_groups(self, groups: Sequence[tuple[int, ...]]) -> Sequence[bool]:
        """Return `rejected` by group; a group is the tuple of its feature values."""


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
        #: 0 for feasible rows, a large negative number for others: `(raw + penalty).max()` needs no
        #: mask.
        self.penalty = penalty
        self.count = count
        #: The penalty before cluster filters. While it is the same array object from one cycle to
        #: the next, it has changed only on rows in `NodesView.log`.
        self.local = penalty if local is None else local
        #: Mask of rows rejected by cluster filters; None if `penalty` is `local`.
        self.rejected = rejected
        self._mask: BoolColumn | None = None
        self._rows: NDArray[np.intp] | None = None

    @classmethod
    def single(cls, row: int, penalty: AnyIntColumn) -> Feasible:
        """Return a set with a single feasible row."""
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
        """Return whether PreScore would return Skip until pods with affinity terms change
        (`NodesView.terms_epoch`)."""
        return False

    @abstractmethod
    def skipped(self, feasible: Feasible) -> bool:
        """Return whether PreScore would return Skip."""

    @abstractmethod
    def raw(self, feasible: Feasible) -> IntColumn:
        """Return the raw score of each row; values of infeasible rows are ignored."""

    @abstractmethod
    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        """Return 0..100 for each feasible row after normalisation, or None if all are 0. The caller
        neither stores nor modifies the column."""

    def weighted(self, feasible: Feasible, weight: int) -> AnyIntColumn | None:
        """Return `normalized` times the weight of the plugin in the profile. Override if there is a
        faster way."""
        score = self.normalized(feasible)
        if score is None or weight == 1:
            return score
        # Products with large weights need 64 bits.
        return score * weight if abs(weight) <= _MAX_WEIGHT_32BIT else score.astype(np.int64) * weight


class GroupingScoreKernel(ClusterScoreKernel):
    """A cluster score that is equal for rows with equal features and can be computed once per group
    of such rows."""

    @abstractmethod
    def features(self) -> Sequence[RowFeature] | None:
        """Return the features, or None if there are none until a node changes."""

    def has_current_features(self) -> bool:
        """Return whether the features still determine the result; if not, they are requested
        again."""
        return True

    @abstractmethod
    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> Sequence[int] | None:
        """Return `normalized` by group, or None if all are 0. A group is the tuple of its feature
        values; `counts` has its number of feasible rows. Scores of groups without feasible rows are
        ignored. An identical `groups` object has not changed since the last call."""


class ColumnarFilter:
    """Mixin of a FilterPlugin that has kernels."""

    #: Written by kernels, read by diagnosis.
    statuses: StatusTable
    #: Whether the kernels are cluster kernels, which also report whether PreFilter returns Skip.
    #: Otherwise PreFilter must depend on the pod alone: it is called once per signature, without
    #: nodes.
    filters_by_cluster: ClassVar[bool] = False
    #: Whether kernels of pods with volume claims depend on the claims and not only on the pod's
    #: shape. Such kernels are cluster kernels, made for one pod.
    reads_claims: ClassVar[bool] = False

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        """Return the part of the pod that the filter reads; pods with equal fragments share a
        kernel. None disables sharing (cluster kernels)."""
        raise TypeError(f"{type(self).__name__} has no filter_fragment")

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | ClusterFilterKernel | None:
        """Return a kernel, or None if every node passes, now and later. A kernel need not reject
        nodes excluded by the plugin's own PreFilter: for those nodes the scalar filter is called.
        """
        raise TypeError(f"{type(self).__name__} has no filter_kernel")


class ColumnarScore:
    """Mixin of a ScorePlugin that has kernels."""

    def score_fragment(self, pod: PodInfo) -> Hashable:
        """Return the part of the pod that the score reads; pods with equal fragments share a
        kernel. None disables sharing (cluster kernels)."""
        raise TypeError(f"{type(self).__name__} has no score_fragment")

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        """Return a kernel, or None if PreScore always returns Skip for this pod."""
        raise TypeError(f"{type(self).__name__} has no score_kernel")


@runtime_checkable
class CachesVerdicts(Protocol):
    """Optional method of filter plugins without kernels that cache verdicts for many nodes."""

    def cached_verdicts(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.intp], view: NodesView
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows that are known to be rejected, and the rows for which the filter must be
        called."""


class PerPodFragment:
    """Mixin of a columnar plugin whose kernels depend on more than the pod's shape (namespace and
    scheduling-relevant spec) and the labels that selectors use. `pod_fragment` is called for every
    pod and must be cheap."""

    @property
    def has_pod_fragments(self) -> bool:
        """Whether the plugin, as configured, depends on anything besides the shape and labels."""
        return True

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        raise TypeError(f"{type(self).__name__} has no pod_fragment")

    @property
    def fragment_kinds(self) -> Collection[type[object]] | None:
        """Kinds of objects, besides pods and nodes, that fragments depend on. While no such object
        changes, pods of one `PodTemplate` have equal fragments. None: they may differ at any time.
        """
        return None
