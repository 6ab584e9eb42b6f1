# SPDX-License-Identifier: Apache-2.0
"""Recomputes the caches of the engine and reports the first difference.

The counterpart of `state.validation` for result columns, signatures and best rows.
`SchedulingCycle.validate_state()` calls it; tests do so after every step. Caches are first updated
as for the next pod.
"""

from __future__ import annotations

import numpy as np

from steersman.base import ReferenceChecks
from steersman.framework import ALL_ROWS, AnyIntColumn
from steersman.scheduler.engine.best_rows import BEST_ROWS, MASKED_BEST_ROWS
from steersman.scheduler.engine.columnar import ROW_NAMES, ColumnarEngine
from steersman.scheduler.engine.columns import FRAGMENT_COLUMNS, RELATIVE_SCORES
from steersman.scheduler.engine.row_groups import ROW_GROUPS
from steersman.scheduler.engine.row_totals import DIGEST_OF_TOTALS, SIGNATURE_TOTALS, TERM_REJECTIONS
from steersman.scheduler.engine.sampling import SEARCH_ORDER
from steersman.scheduler.engine.signature import Signature
from steersman.scheduler.engine.totals_digest import digest_of
from steersman.scheduler.state.invariants import describe_row, expect
from steersman.scheduler.state.node_table import NodeTable

#: Checks of the caches of one engine.
ENGINE_CHECKS: ReferenceChecks[ColumnarEngine] = ReferenceChecks()


def validate_engine(engine: ColumnarEngine) -> None:
    """Raise StateInvariantError for the first difference. Signatures that the next pod would drop
    are not checked."""
    if not engine.signatures.is_outdated():
        ENGINE_CHECKS.run(engine)


@ENGINE_CHECKS.register(FRAGMENT_COLUMNS)
def _validate_columns(engine: ColumnarEngine) -> None:
    table = engine.table
    for column in engine.signatures.columns():
        column.sync()
        place = f"column of {type(column.kernel).__name__}"
        _expect_rows(table, place, "answer", column.values, np.asarray(column.kernel.rows(ALL_ROWS)))


@ENGINE_CHECKS.register(
    SIGNATURE_TOTALS, TERM_REJECTIONS, RELATIVE_SCORES, BEST_ROWS, MASKED_BEST_ROWS, ROW_GROUPS, DIGEST_OF_TOTALS
)
def _validate_signatures(engine: ColumnarEngine) -> None:
    for number, entry in enumerate(engine.signatures.entries()):
        if isinstance(entry.signature, Signature):
            _validate_signature(engine.table, f"signature {number}", entry.signature)


def _validate_signature(table: NodeTable, place: str, signature: Signature) -> None:
    best, count = signature.best_rows_by_group()
    rebuilt = signature.rebuilt()
    totals, expected_totals = signature.row_totals, rebuilt.row_totals
    _expect_rows(table, place, "penalty", totals.penalty, expected_totals.penalty)
    _expect_rows(table, place, "total", totals.total, expected_totals.total)
    expect(place, "number of rows that pass local filters", totals.count, expected_totals.count)
    expect(place, "digest of totals", totals.digested(0).digest, digest_of(totals.total))
    expected, expected_count = rebuilt.best_of_all()
    expect(place, "number of feasible rows", count, expected_count)
    if expected_count:
        expect(place, "best rows", list(map(int, best)), list(map(int, expected)))
    if expected_count > 1 and signature.has_cached_totals:
        row = int(expected[0])
        expect(place, "digest of ranked totals", signature.digest_by_group(row), rebuilt.digested(row))


@ENGINE_CHECKS.register(ROW_NAMES)
def _validate_names(engine: ColumnarEngine) -> None:
    """Rows without a node may differ: a pod that arrives before its node names its row, which is
    not read here."""
    names = engine.names()
    for row in engine.table.live_rows():
        expect("engine", f"name of row {row}", names[row], engine.table.names[row])


@ENGINE_CHECKS.register(SEARCH_ORDER)
def _validate_search_order(engine: ColumnarEngine) -> None:
    """Between cycles nodes may have been added and removed: the next cycle updates the order."""
    search = engine.sampling.search
    if search.is_up_to_date:
        expect(
            "engine", "order of a search", search.rows().tolist(), [engine.table.rows[name] for name in search.names]
        )


def _expect_rows(table: NodeTable, place: str, what: str, found: AnyIntColumn, expected: AnyIntColumn) -> None:
    """Rows without a node may differ: their values are never read."""
    for row in ((found != expected) & table.alive).nonzero()[0].tolist():
        expect(f"{place}, {describe_row(table, row)}", what, int(found[row]), int(expected[row]))
