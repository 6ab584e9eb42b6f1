# SPDX-License-Identifier: Apache-2.0
"""Computes again what the engine keeps, without what was kept, and tells the first difference as a story.

The counterpart of `state.validation` for columns of answers, signatures and best rows. `SchedulingCycle.validate_state()`
calls it; tests do so after every step. What is behind catches up first, as it would when the next pod asks.
"""

from __future__ import annotations

import numpy as np

from steersman.engine.best_rows import BEST_ROWS, MASKED_BEST_ROWS
from steersman.engine.columnar import ROW_NAMES, ColumnarEngine
from steersman.engine.columns import FRAGMENT_COLUMNS, RELATIVE_SCORES
from steersman.engine.row_groups import ROW_GROUPS
from steersman.engine.row_totals import DIGEST_OF_TOTALS, SIGNATURE_TOTALS, TERM_REJECTIONS
from steersman.engine.sampling import SEARCH_ORDER
from steersman.engine.signature import Signature
from steersman.engine.totals_digest import digest_of
from steersman.framework.nodes_view import ALL_ROWS, AnyIntColumn
from steersman.kept import TwinChecks
from steersman.state.invariants import expect, place_of
from steersman.state.node_table import NodeTable

#: What one engine keeps, compared with its twins.
ENGINE_CHECKS: TwinChecks[ColumnarEngine] = TwinChecks()


def validate_engine(engine: ColumnarEngine) -> None:
    """StateInvariantError at the first difference. What the next pod would not use any more is not looked at."""
    if not engine.signatures.are_void():
        ENGINE_CHECKS.run(engine)


@ENGINE_CHECKS.of(FRAGMENT_COLUMNS)
def _validate_columns(engine: ColumnarEngine) -> None:
    table = engine.table
    for column in engine.signatures.columns():
        column.sync()
        place = f"column of {type(column.kernel).__name__}"
        _expect_rows(table, place, "answer", column.values, np.asarray(column.kernel.rows(ALL_ROWS)))


@ENGINE_CHECKS.of(
    SIGNATURE_TOTALS, TERM_REJECTIONS, RELATIVE_SCORES, BEST_ROWS, MASKED_BEST_ROWS, ROW_GROUPS, DIGEST_OF_TOTALS
)
def _validate_signatures(engine: ColumnarEngine) -> None:
    for number, entry in enumerate(engine.signatures.entries()):
        if isinstance(entry.signature, Signature):
            _validate_signature(engine.table, f"signature {number}", entry.signature)


def _validate_signature(table: NodeTable, place: str, signature: Signature) -> None:
    best, count = signature.best_in_run()
    twin = signature.made_anew()
    kept, made = signature.kept, twin.kept
    _expect_rows(table, place, "penalty", kept.penalty, made.penalty)
    _expect_rows(table, place, "total", kept.total, made.total)
    expect(place, "number of rows that pass local filters", kept.count, made.count)
    expect(place, "digest of totals", kept.digested(0).digest, digest_of(kept.total))
    expected, expected_count = twin.best_of_all()
    expect(place, "number of feasible rows", count, expected_count)
    if expected_count:
        expect(place, "best rows", list(map(int, best)), list(map(int, expected)))
    if expected_count > 1 and signature.has_totals_in_run:
        row = int(expected[0])
        expect(place, "digest of ranked totals", signature.digested_in_run(row), twin.digested(row))


@ENGINE_CHECKS.of(ROW_NAMES)
def _validate_names(engine: ColumnarEngine) -> None:
    """Rows without a node may differ: a pod that came before its node gives a name to its row, and nobody reads it here."""
    names = engine.names()
    for row in engine.table.live_rows():
        expect("engine", f"name of row {row}", names[row], engine.table.names[row])


@ENGINE_CHECKS.of(SEARCH_ORDER)
def _validate_search_order(engine: ColumnarEngine) -> None:
    """Between cycles nodes may have come and gone: the next one takes them as they are then."""
    search = engine.sampling.search
    if search.is_up_to_date:
        expect(
            "engine", "order of a search", search.rows().tolist(), [engine.table.rows[name] for name in search.names]
        )


def _expect_rows(table: NodeTable, place: str, what: str, found: AnyIntColumn, expected: AnyIntColumn) -> None:
    """Rows without a node may differ: what columns say of them is never read."""
    for row in ((found != expected) & table.alive).nonzero()[0].tolist():
        expect(f"{place}, {place_of(table, row)}", what, int(found[row]), int(expected[row]))
