# SPDX-License-Identifier: Apache-2.0
"""A signature: feasible rows and totals shared by all pods that the columnar plugins treat alike.

`row_totals` combines the node-local results. Cluster kernels are called in every cycle, and their
results are added here:

    penalty, total (`row_totals`)  ─► + cluster filters ─► + cluster scores ─► best rows

Pods with volume claims share a signature with others of their shape, but their claims differ, and
the feasible nodes depend on the volumes behind them. Kernels for claims are made for one pod;
`Signature.with_claim_kernels` adds them to the shared signature, which stays cached.

`signatures` finds the signature of a pod. A signature has an entry for every row of the cluster, so
their number is limited: `SignatureStore` keeps those that were requested more than once, and a few
new ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, LruCache
from steersman.framework import BoolColumn, ClusterFilterKernel, ClusterScoreKernel, Feasible
from steersman.scheduler.engine.best_rows import BestRows, MaskedBest, rows_of_greatest
from steersman.scheduler.engine.row_totals import RowTotals, Totals
from steersman.scheduler.engine.totals_digest import DigestedTotals

# -- a signature ----------------------------------------------------------------------------------


class Signature:
    """Feasible rows and totals for the pods of a signature. Every result is exact at the time of
    the call."""

    def __init__(
        self,
        row_totals: RowTotals,
        claim_filters: Sequence[ClusterFilterKernel] = (),
        claim_scores: Sequence[tuple[int, ClusterScoreKernel]] = (),
    ) -> None:
        self.row_totals = row_totals
        self._table = row_totals.table
        #: Kernels for the volume claims of one pod; such a signature is not cached.
        self._claim_filters = claim_filters
        self._claim_scores = claim_scores
        self._is_cached = not claim_filters and not claim_scores
        #: Best rows without those rejected by filters that are called in every cycle.
        self._masked: MaskedBest | None = None
        #: Totals by which the rows were last ranked, or None.
        self.ranked: Totals | None = None
        #: Whether the last `best_rows_by_group` used groups, so that `ranked` is unset.
        self._is_by_groups = False

    def rebuilt(self) -> Signature:
        """Return a signature rebuilt from the current columns of the same kernels: the reference
        for validation."""
        return Signature(self.row_totals.rebuilt())

    def with_claim_kernels(
        self, filters: Sequence[ClusterFilterKernel], scores: Sequence[tuple[int, ClusterScoreKernel]]
    ) -> Signature:
        """Return a signature of one pod with additional kernels for its volume claims."""
        return Signature(self.row_totals, filters, scores)

    def feasible(self, excluded: BoolColumn | None = None) -> Feasible:
        """Return the rows that pass every columnar filter and are not `excluded`."""
        self.row_totals.sync()
        return self._feasible(self._rejected(excluded))

    def _feasible(self, rejected: BoolColumn | None) -> Feasible:
        return Feasible(self.row_totals.penalty, self.row_totals.count) if rejected is None else self.without(rejected)

    def _rejected(self, excluded: BoolColumn | None) -> BoolColumn | None:
        """Return the rows rejected by filters that are called in every cycle, or excluded; None if
        there are none."""
        rejected = excluded
        for kernel in self._per_cycle_filters():
            mask = kernel.rejected()
            if mask is not None:
                rejected = mask if rejected is None else rejected | mask
        return rejected

    def _per_cycle_filters(self) -> Sequence[ClusterFilterKernel]:
        filters = self.row_totals.per_cycle_filters
        return [*filters, *self._claim_filters] if self._claim_filters else filters

    def is_feasible(self, row: int) -> bool:
        """Return whether the row is feasible, without evaluating other rows."""
        return self.row_totals.passes(row) and not _is_rejected(row, self._per_cycle_filters())

    def feasible_at(self, row: int | None) -> Feasible:
        """Return the feasible set restricted to `row`; empty if None."""
        penalty = np.full(self._table.capacity, -self.row_totals.loss, self.row_totals.dtype)
        if row is None or not self.is_feasible(row):
            return Feasible(penalty, 0)
        penalty[row] = 0
        return Feasible.single(row, penalty)

    def without(self, rejected: BoolColumn, feasible: Feasible | None = None) -> Feasible:
        """Return the feasible rows without the rejected ones."""
        before = Feasible(self.row_totals.penalty, self.row_totals.count) if feasible is None else feasible
        # A product is twice as fast here as `np.where`.
        rest = np.multiply(rejected, self.row_totals.dtype(-self.row_totals.loss), dtype=self.row_totals.dtype)
        rest += before.penalty
        if before.rejected is not None:
            rejected = before.rejected | rejected
        return Feasible(rest, len(rest) - int(np.count_nonzero(rest)), self.row_totals.penalty, rejected)

    def totals(self, feasible: Feasible) -> Totals:
        """Return the weighted total by row for these feasible rows; all others are far below zero.
        Read-only, and valid until the next evaluation."""
        total: Totals
        if feasible.penalty is self.row_totals.penalty:
            total, is_own = self.row_totals.total, False
        else:
            total, is_own = self.row_totals.base + feasible.penalty, True
            if self.row_totals.addition is not None:
                total += self.row_totals.addition.for_rows(feasible.penalty)
        for weight, kernel in self._active_cluster_scores():
            if kernel.skipped(feasible):
                continue
            score = kernel.weighted(feasible, weight)
            if score is None:
                continue
            if is_own:
                total += score
            else:
                total, is_own = total + score, True
        return total

    def _active_cluster_scores(self) -> Sequence[tuple[int, ClusterScoreKernel]]:
        scores = self.row_totals.active_cluster_scores
        return [*scores, *self._claim_scores] if self._claim_scores else scores

    def is_relative(self, feasible: Feasible) -> bool:
        """Return whether a row's total depends on which other rows are feasible."""
        return (
            bool(self._claim_scores)
            or self.row_totals.addition is not None
            or any(not kernel.skipped(feasible) for _, kernel in self.row_totals.active_cluster_scores)
        )

    def best(self, feasible: Feasible) -> Sequence[int] | NDArray[np.intp]:
        """Return the rows with the greatest total in ascending order; read-only."""
        totals = self.row_totals
        if totals.active_cluster_scores or self._claim_scores or feasible.penalty is not totals.penalty:
            total = self.ranked = self.totals(feasible)
            if total is not totals.total:
                return rows_of_greatest(total)
        self.ranked = totals.total
        if totals.best is None or totals.best.rows is None:
            totals.best = BestRows.from_totals(totals.total)
        return totals.best.rows or ()

    def best_rows_by_group(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """Return the result of `best_of_all`, computed by groups of rows if possible, for sequences
        of similar pods. `ranked` is unset if groups were used."""
        if not self._is_cached:
            return self.best_of_all()
        totals = self.row_totals
        totals.sync()
        # Relative scores depend on the feasible rows, and groups do not know which of their rows
        # has the greatest raw score.
        grouped = totals.grouped
        if (
            grouped is not None
            and not grouped.is_disabled
            and (totals.addition is None or not totals.per_cycle_filters)
        ):
            found = grouped.find(totals.total, self._table.log)
            if found is not None:
                self._is_by_groups = True
                return found
        self._is_by_groups = False
        return self._current_best()

    def best_rows_within(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], int] | None:
        """Return the best of these rows and the number of feasible ones; None if their totals
        depend on which rows are feasible, or filters are called in every cycle. Rows are in
        ascending order."""
        totals = self.row_totals
        totals.sync()
        if (
            not self._is_cached
            or totals.addition is not None
            or totals.active_cluster_scores
            or totals.per_cycle_filters
            or not len(rows)
        ):
            return None
        within = totals.total[rows]
        feasible = int(np.count_nonzero(within > -totals.loss // 2))
        return rows[within == within.max()] if feasible else rows[:0], feasible

    @property
    def has_cached_totals(self) -> bool:
        """Whether `digest_by_group` can return the totals by which `best_rows_by_group` ranks
        rows."""
        totals = self.row_totals
        return (
            not self._is_cached
            or not totals.active_cluster_scores
            or totals.grouped is None
            or totals.has_additive_digest
        )

    def digested(self, row: int) -> DigestedTotals | None:
        """Return the digest of the totals by which the rows were last ranked, given the chosen row;
        None if they were not."""
        ranked = self.ranked
        if ranked is None:
            return None
        return (
            self.row_totals.digested(row)
            if ranked is self.row_totals.total
            else DigestedTotals.from_totals(ranked, row)
        )

    def digest_by_group(self, row: int) -> DigestedTotals | None:
        """Return the totals by which `best_rows_by_group` ranked the rows, given the chosen row, or
        None if it did not rank them.

        They are those of `best_of_all`: if no score depends on the feasible rows, cluster filters
        do not affect the totals.
        """
        totals = self.row_totals
        if not self._is_by_groups or totals.grouped is None:
            return self.digested(row)
        return totals.grouped.digested(row) if totals.active_cluster_scores else totals.digested(row)

    def best_of_all(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """Return the rows with the greatest total of all feasible rows, and the number of feasible
        rows."""
        self.row_totals.sync()
        if self._is_cached:
            return self._current_best()
        feasible = self._feasible(self._rejected(None))
        return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count

    def _current_best(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        totals = self.row_totals
        rejected = self._rejected(None) if totals.per_cycle_filters else None
        if totals.active_cluster_scores or (rejected is not None and totals.addition is not None):
            feasible = self._feasible(rejected)
            return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count
        self.ranked = totals.total
        if rejected is not None:
            # Totals do not depend on which other rows are feasible.
            log = self._table.log
            if self._masked is None or not self._masked.follow(totals.total, rejected, log):
                self._masked = MaskedBest(totals.total, rejected, log.end, -totals.loss, -totals.loss // 2)
            return self._masked.rows, self._masked.count
        if totals.best is None or totals.best.rows is None:
            totals.best = BestRows.from_totals(totals.total)
        return totals.best.rows or (), totals.count


def _is_rejected(row: int, kernels: Sequence[ClusterFilterKernel]) -> bool:
    for kernel in kernels:
        rejected = kernel.rejected()
        if rejected is not None and rejected[row]:
            return True
    return False


# -- which signatures are cached ------------------------------------------------------------------

#: Number of remembered fingerprints of evicted signatures.
_MAX_FINGERPRINTS = 1 << 12


class RecentlyUsed(Protocol):
    #: Requested again since it was created or last spared. Set by callers that bypass `get`.
    used: bool


EntryT = TypeVar("EntryT", bound=RecentlyUsed)


FINGERPRINTS = CacheSpec(
    name="fingerprints of signatures",
    attributes=("SignatureStore._left",),
    contents="whether a signature was requested before",
    key="fingerprint of its identity",
    invalidation="never: it decides what is cached, not the result",
    limit="4,096, most recently used (`LruCache`)",
    reference="not needed",
    checked_by="tests/engine/test_signatures.py",
)


class SignatureStore(Generic[EntryT]):
    """Signatures by identity, in order of eviction.

    If every pod has a template of its own, each signature is requested once: such entries pass
    through a short queue without evicting those in use. An entry that is requested again after its
    eviction from the queue is recognised by its fingerprint, and skips the queue.
    """

    def __init__(self, max_new: int) -> None:
        self._max_new = max_new
        self._entries: OrderedDict[Hashable, EntryT] = OrderedDict()
        #: Identities of entries in the queue of new ones, oldest first, with their fingerprints.
        self._new: dict[Hashable, int] = {}
        self._left: LruCache[int, bool] = LruCache(_MAX_FINGERPRINTS)

    def get(self, identity: Hashable) -> EntryT | None:
        entry = self._entries.get(identity)
        if entry is not None:
            entry.used = True
        return entry

    def put(self, identity: Hashable, entry: EntryT, fingerprint: int) -> None:
        """Add an entry. The fingerprint is equal for equal signatures, also after eviction."""
        self._entries[identity] = entry
        if self._left.get(fingerprint) is not None:
            entry.used = True
        else:
            self._new[identity] = fingerprint

    def shrink(self, limit: int) -> None:
        """Evict entries until there are at most `limit`."""
        if len(self._new) > self._max_new:
            self._drop_oldest_new()
        while len(self._entries) > limit:
            self._drop_unused()

    def _drop_oldest_new(self) -> None:
        """Remove the oldest entry from the queue of new ones, and evict it unless it was requested
        again."""
        oldest, fingerprint = next(iter(self._new.items()))
        del self._new[oldest]
        if not self._entries[oldest].used:
            del self._entries[oldest]
            self._left.put(fingerprint, True)

    def _drop_unused(self) -> None:
        """Evict the oldest entry that was not requested since it was last spared."""
        while self._entries[oldest := next(iter(self._entries))].used:
            self._entries[oldest].used = False
            self._entries.move_to_end(oldest)
        del self._entries[oldest]
        self._new.pop(oldest, None)

    def drop(self, is_void: Callable[[EntryT], bool]) -> None:
        for identity in [identity for identity, entry in self._entries.items() if is_void(entry)]:
            del self._entries[identity]
            self._new.pop(identity, None)

    def clear(self) -> None:
        self._entries.clear()
        self._new.clear()

    def values(self) -> Iterator[EntryT]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
