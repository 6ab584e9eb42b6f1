# SPDX-License-Identifier: Apache-2.0
"""`validate_state()` of the scheduling cycle notices what the engine has kept too long, and says where."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.cycle.scheduling import PROFILE, Cycles
from tests.engine.test_signatures import PodLimit

from steersman.scheduler.engine.columnar import ColumnarEngine
from steersman.scheduler.engine.signature import Signature
from steersman.scheduler.state.invariants import StateInvariantError
from steersman.testing import make_pod

POD = make_pod("p").req(cpu="1")


@pytest.fixture
def cycles() -> Cycles:
    """Three nodes, a pod on one of them, and the evaluation of another."""
    cycles = Cycles(PodLimit())
    cycles.cycle.schedule_one(cycles.pod(POD))
    cycles.cycle.evaluate(cycles.cycle.profiles[PROFILE], cycles.pod(make_pod("q").req(cpu="1"))).scores()
    engine_of(cycles).names()
    search = engine_of(cycles).sampling.search
    search.begin_cycle()
    search.rows()
    cycles.cycle.validate_state()
    return cycles


def engine_of(cycles: Cycles) -> ColumnarEngine:
    return cycles.cycle._engines[PROFILE]


def signature_of(engine: ColumnarEngine) -> Signature:
    [entry] = engine.signatures.entries()
    assert isinstance(entry.signature, Signature)
    return entry.signature


def spoil_column(engine: ColumnarEngine) -> None:
    [column] = engine.signatures.columns()
    column.cell[0] = 7


def spoil_penalty(engine: ColumnarEngine) -> None:
    signature_of(engine).row_totals.penalty_cell[0] = -5


def spoil_total(engine: ColumnarEngine) -> None:
    signature_of(engine).row_totals._total_cell[1] += 1


def spoil_count(engine: ColumnarEngine) -> None:
    signature_of(engine).row_totals.count += 1


def spoil_best_rows(engine: ColumnarEngine) -> None:
    best = signature_of(engine).row_totals.best
    assert best is not None
    assert best.rows is not None
    best.rows.pop()


def spoil_names(engine: ColumnarEngine) -> None:
    engine._names._value = ("n3", "n2", "n1", *engine.table.names[3:])


def spoil_search_order(engine: ColumnarEngine) -> None:
    engine.sampling.search._rows._value = np.array([2, 1, 0])


@pytest.mark.parametrize(
    ("spoil", "story"),
    [
        (spoil_column, r"column of PodLimitKernel, row 0 \(node n1\): answer is 7"),
        (spoil_penalty, r"signature 0, row 0 \(node n1\): penalty is -5"),
        (spoil_total, r"signature 0, row 1 \(node n2\): total"),
        (spoil_count, "signature 0: number of rows that pass local filters"),
        (spoil_best_rows, "signature 0: best rows"),
        (spoil_names, "engine: name of row 0 is 'n3', expected 'n1'"),
        (spoil_search_order, "engine: order of a search"),
    ],
)
def test_what_is_out_of_date_is_reported(cycles: Cycles, spoil: Callable[[ColumnarEngine], None], story: str) -> None:
    spoil(engine_of(cycles))
    with pytest.raises(StateInvariantError, match=story):
        cycles.cycle.validate_state()


def test_what_the_next_pod_would_not_use_any_more_is_not_examined(cycles: Cycles) -> None:
    spoil_total(engine_of(cycles))
    cycles.cache.nodes.on_namespaces_changed()
    cycles.cycle.validate_state()
