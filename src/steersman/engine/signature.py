# SPDX-License-Identifier: Apache-2.0
"""Pods that all columnar plugins of a profile treat alike share a signature: feasible rows, totals and the best rows.

`row_totals` combines what each node decides by itself. Answers that depend on the whole cluster are asked for in every cycle
and laid on top here:

    penalty, total (`row_totals`)  ─► + cluster filters ─► + cluster scores ─► best rows

A pod with volume claims shares a signature with the others of its shape, but each of its claims is another object; where it
may go follows from the volumes behind them. Kernels for that are made for one pod, and a `ClaimOverlay` lays them on top of
the `Signature`, which stays exact from pod to pod.

`signatures` finds the signature of a pod. Every row of the cluster has a place in a signature, so that there cannot be many:
`SignatureStore` keeps those that were asked for more than once, and a few that are new.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.bounded_table import RecentTable
from steersman.engine.best_rows import BestRows, MaskedBest, rows_of_greatest
from steersman.engine.row_totals import RowTotals, Totals
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Feasible
from steersman.framework.nodes_view import BoolColumn
from steersman.kept import Kept

# -- a signature -------------------------------------------------------------------------------------------------------


class Signature:
    """Which rows are feasible for the pods of a signature, and what each is worth. Every answer is exact for the state of the
    table at the time of the call."""

    def __init__(self, kept: RowTotals) -> None:
        self.kept = kept
        self._table = kept.table
        #: The best rows without those that the filters asked in every cycle reject.
        self._masked: MaskedBest | None = None
        #: The totals by which the rows were last ranked; None: they never were.
        self.ranked: Totals | None = None
        #: Whether `best_in_run` has last found them by groups, so that nothing is `ranked`.
        self._is_by_groups = False

    def made_anew(self) -> Signature:
        """A signature of the same kernels, combined from their columns as these are now: the twin of what is kept here."""
        return Signature(self.kept.made_anew())

    def feasible(self, excluded: BoolColumn | None = None) -> Feasible:
        """The rows that pass every columnar filter and are not `excluded`."""
        self.kept.sync()
        return self._feasible(self._rejected(excluded))

    def _feasible(self, rejected: BoolColumn | None) -> Feasible:
        return Feasible(self.kept.penalty, self.kept.count) if rejected is None else self.without(rejected)

    def _rejected(self, excluded: BoolColumn | None) -> BoolColumn | None:
        """By the filters that are asked in every cycle; None: no row at all."""
        rejected = excluded
        for kernel in self.kept.filters_asked_every_cycle:
            mask = kernel.rejected()
            if mask is not None:
                rejected = mask if rejected is None else rejected | mask
        return rejected

    def is_feasible(self, row: int) -> bool:
        """Whether that one row is feasible; the others are not looked at."""
        kept = self.kept
        return kept.passes(row) and not _is_rejected(row, kept.filters_asked_every_cycle)

    def feasible_at(self, row: int | None) -> Feasible:
        """That one row if it is feasible, when no other counts; None: no row does."""
        penalty = np.full(self._table.capacity, -self.kept.loss, self.kept.dtype)
        if row is None or not self.is_feasible(row):
            return Feasible(penalty, 0)
        penalty[row] = 0
        return Feasible.at(row, penalty)

    def without(self, rejected: BoolColumn, feasible: Feasible | None = None) -> Feasible:
        """The feasible rows less the rejected ones."""
        before = Feasible(self.kept.penalty, self.kept.count) if feasible is None else feasible
        # A product is twice as fast here as a choice between two values.
        rest = np.multiply(rejected, self.kept.dtype(-self.kept.loss), dtype=self.kept.dtype)
        rest += before.penalty
        if before.rejected is not None:
            rejected = before.rejected | rejected
        return Feasible(rest, len(rest) - int(np.count_nonzero(rest)), self.kept.penalty, rejected)

    def totals(self, feasible: Feasible) -> Totals:
        """Weighted total by row for these feasible rows; all others are far below zero. Not to be kept or changed: the
        next evaluation may write into it."""
        total: Totals
        if feasible.penalty is self.kept.penalty:
            total, is_own = self.kept.total, False
        else:
            total, is_own = self.kept.base + feasible.penalty, True
            if self.kept.addition is not None:
                total += self.kept.addition.for_rows(feasible.penalty)
        for weight, kernel in self.kept.active_cluster_scores:
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

    def is_relative(self, feasible: Feasible) -> bool:
        """Whether a row's total depends on which other rows are feasible."""
        return self.kept.addition is not None or any(
            not kernel.skipped(feasible) for _, kernel in self.kept.active_cluster_scores
        )

    def best(self, feasible: Feasible) -> Sequence[int] | NDArray[np.intp]:
        """The rows with the greatest total, ascending. Not to be kept or changed."""
        kept = self.kept
        if kept.active_cluster_scores or feasible.penalty is not kept.penalty:
            total = self.ranked = self.totals(feasible)
            if total is not kept.total:
                return rows_of_greatest(total)
        self.ranked = kept.total
        if kept.best is None or kept.best.rows is None:
            kept.best = BestRows.of(kept.total)
        return kept.best.rows or ()

    def best_in_run(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """The answer of `best_of_all`, for pods that follow each other closely: by groups of rows where that can be. Nothing is
        `ranked` then, which nobody may look at."""
        kept = self.kept
        kept.sync()
        # Relative scores depend on which rows are feasible, and groups do not tell which of their rows would set the measure.
        if kept.grouped is not None and (kept.addition is None or not kept.filters_asked_every_cycle):
            found = kept.grouped.find(kept.total, self._table.log)
            if found is not None:
                self._is_by_groups = True
                return found
        self._is_by_groups = False
        return self._best_as_of_now()

    @property
    def has_totals_in_run(self) -> bool:
        """Whether `digested_in_run` can tell by which totals `best_in_run` ranks rows."""
        kept = self.kept
        return not kept.active_cluster_scores or kept.grouped is None or kept.has_plain_digest

    def digested(self, row: int) -> DigestedTotals | None:
        """The totals by which the rows were last ranked, of which this one was chosen; None: they never were."""
        ranked = self.ranked
        if ranked is None:
            return None
        return self.kept.digested(row) if ranked is self.kept.total else DigestedTotals.of(ranked, row)

    def digested_in_run(self, row: int) -> DigestedTotals | None:
        """The totals by which `best_in_run` has ranked the rows, of which this one was chosen; None: they were not ranked. They
        are those of `best_of_all`: where no score depends on what is feasible, filters of the whole cluster do not count."""
        kept = self.kept
        if not self._is_by_groups or kept.grouped is None:
            return self.digested(row)
        return kept.grouped.digested(row) if kept.active_cluster_scores else kept.digested(row)

    def best_of_all(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """The rows with the greatest total of all that are feasible; and how many are feasible."""
        self.kept.sync()
        return self._best_as_of_now()

    def _best_as_of_now(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        kept = self.kept
        rejected = self._rejected(None) if kept.filters_asked_every_cycle else None
        if kept.active_cluster_scores or (rejected is not None and kept.addition is not None):
            feasible = self._feasible(rejected)
            return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count
        self.ranked = kept.total
        if rejected is not None:
            # What a row is worth does not depend on which others are feasible.
            log = self._table.log
            if self._masked is None or not self._masked.follow(kept.total, rejected, log):
                self._masked = MaskedBest(kept.total, rejected, log.end, -kept.loss, -kept.loss // 2)
            return self._masked.rows, self._masked.count
        if kept.best is None or kept.best.rows is None:
            kept.best = BestRows.of(kept.total)
        return kept.best.rows or (), kept.count


def _is_rejected(row: int, kernels: Sequence[ClusterFilterKernel]) -> bool:
    for kernel in kernels:
        rejected = kernel.rejected()
        if rejected is not None and rejected[row]:
            return True
    return False


# -- an overlay for volume claims --------------------------------------------------------------------------------------


class ClaimOverlay:
    """Answers like a `Signature`."""

    __slots__ = ("_filters", "_scores", "_shared", "ranked")

    def __init__(
        self,
        shared: Signature,
        filters: Sequence[ClusterFilterKernel],
        scores: Sequence[tuple[int, ClusterScoreKernel]],
    ) -> None:
        self._shared = shared
        self._filters = filters
        self._scores = scores
        #: The totals by which the rows were last ranked; None: they never were.
        self.ranked: Totals | None = None

    def feasible(self, excluded: BoolColumn | None = None) -> Feasible:
        rejected = excluded
        for kernel in self._filters:
            mask = kernel.rejected()
            if mask is not None:
                rejected = mask if rejected is None else rejected | mask
        return self._shared.feasible(rejected)

    def is_feasible(self, row: int) -> bool:
        return not _is_rejected(row, self._filters) and self._shared.is_feasible(row)

    def feasible_at(self, row: int | None) -> Feasible:
        rejected = row is not None and _is_rejected(row, self._filters)
        return self._shared.feasible_at(None if rejected else row)

    def without(self, rejected: BoolColumn, feasible: Feasible | None = None) -> Feasible:
        return self._shared.without(rejected, feasible)

    def totals(self, feasible: Feasible) -> Totals:
        total = self._shared.totals(feasible)
        for weight, kernel in self._scores:
            score = None if kernel.skipped(feasible) else kernel.weighted(feasible, weight)
            if score is not None:
                total = total + score
        return total

    def is_relative(self, feasible: Feasible) -> bool:
        return bool(self._scores) or self._shared.is_relative(feasible)

    def best(self, feasible: Feasible) -> Sequence[int] | NDArray[np.intp]:
        if self._scores:
            self.ranked = self.totals(feasible)
            return rows_of_greatest(self.ranked)
        best = self._shared.best(feasible)
        self.ranked = self._shared.ranked
        return best

    def best_in_run(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """Claims tell rows apart in more than groups know."""
        return self.best_of_all()

    @property
    def has_totals_in_run(self) -> bool:
        return True

    def digested_in_run(self, row: int) -> DigestedTotals | None:
        return self.digested(row)

    def digested(self, row: int) -> DigestedTotals | None:
        ranked = self.ranked
        if ranked is None or ranked is self._shared.ranked:
            return None if ranked is None else self._shared.digested(row)
        return DigestedTotals.of(ranked, row)

    def best_of_all(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        feasible = self.feasible()
        return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count


# -- which signatures are kept -----------------------------------------------------------------------------------------

#: How many fingerprints are remembered of those that have left the queue.
_MOST_REMEMBERED = 1 << 12


class Marked(Protocol):
    #: Asked for again since it was made, or last spared. Whoever asks elsewhere sets it.
    used: bool


EntryT = TypeVar("EntryT", bound=Marked)


FINGERPRINTS = Kept(
    name="fingerprints of signatures",
    attributes=("SignatureStore._left",),
    holds="that a signature was asked for before",
    key="fingerprint of its identity",
    stamps="never: decides what is kept, not what is said",
    bound="4,096, the latest (`RecentTable`)",
    twin="none is needed",
    held_equal="tests/engine/test_signatures.py",
)


class SignatureStore(Generic[EntryT]):
    """Entries by identity; in the order in which their turn comes to make room.

    Where no two pods have the same template, each signature is asked for once: these pass through a short queue and leave
    those alone that are used. One that is asked for again after it has left the queue is known by its fingerprint, and goes
    to the others at once.
    """

    def __init__(self, most_new: int) -> None:
        self._most_new = most_new
        self._entries: OrderedDict[Hashable, EntryT] = OrderedDict()
        #: Identities of entries that are new, in the order in which they came, with their fingerprints.
        self._new: dict[Hashable, int] = {}
        self._left: RecentTable[int, bool] = RecentTable(_MOST_REMEMBERED)

    def get(self, identity: Hashable) -> EntryT | None:
        entry = self._entries.get(identity)
        if entry is not None:
            entry.used = True
        return entry

    def put(self, identity: Hashable, entry: EntryT, fingerprint: int) -> None:
        """The identity has no entry yet. The fingerprint is equal for pods with equal signatures, whenever they come."""
        self._entries[identity] = entry
        if self._left.get(fingerprint) is not None:
            entry.used = True
        else:
            self._new[identity] = fingerprint

    def shrink(self, most: int) -> None:
        """Makes room, so that there are so many entries at most."""
        if len(self._new) > self._most_new:
            self._drop_oldest_new()
        while len(self._entries) > most:
            self._drop_unused()

    def _drop_oldest_new(self) -> None:
        """Drops the oldest of the new entries, unless it was asked for again."""
        oldest, fingerprint = next(iter(self._new.items()))
        del self._new[oldest]
        if not self._entries[oldest].used:
            del self._entries[oldest]
            self._left.put(fingerprint, True)

    def _drop_unused(self) -> None:
        """The oldest that has not been asked for since its turn last came."""
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
