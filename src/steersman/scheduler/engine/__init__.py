# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a pod against all nodes: signatures, columns, the choice, and reports.

Read the modules in this order.

| module | contents |
|---|---|
| `evaluation_plan` | how each plugin of a profile is evaluated: by kernel, promise, or live calls |
| `guarded_kernels` | internal errors in fragments and kernels, reported with plugin, file and line |
| `columns` | results of one kernel for every row, and scores relative to the greatest |
| `best_rows` | the rows with the greatest total |
| `row_groups` | the best rows by groups that cluster kernels treat alike |
| `totals_digest` | a digest of the totals of all rows, for records |
| `row_totals` | columns combined: node-local feasibility and weighted total of every row |
| `signature` | feasible and best rows of pods that all plugins treat alike; the signature cache |
| `signatures` | finds or builds the signature of a pod |
| `phase_clock` | durations of phases and kernels, for metrics |
| `live_plugins` | plugins that are called in every cycle |
| `local_filters` | node-local filters of one pod; nominated pods |
| `sampling` | an explicit percentageOfNodesToScore |
| `evaluation` | the interface of an evaluation |
| `columnar` | the fast engine |
| `scalar` | the reference engine, which calls the plugins node by node |
| `report` | why nodes were rejected, and every score |
| `validation` | recomputes the caches and compares |
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.engine.columnar import ColumnarEvaluation as ColumnarEvaluation
    from steersman.scheduler.engine.evaluation import (
        Evaluation as Evaluation,
        NodeStatuses as NodeStatuses,
        ScoreTable as ScoreTable,
    )
    from steersman.scheduler.engine.evaluation_plan import promise as promise
    from steersman.scheduler.engine.phase_clock import PhaseClock as PhaseClock
    from steersman.scheduler.engine.sampling import MIN_FEASIBLE_NODES as MIN_FEASIBLE_NODES, NodeSearch as NodeSearch
    from steersman.scheduler.engine.scalar import ScalarEvaluation as ScalarEvaluation
    from steersman.scheduler.engine.totals_digest import DigestedTotals as DigestedTotals
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "columnar": "ColumnarEvaluation",
            "evaluation": "Evaluation NodeStatuses ScoreTable",
            "phase_clock": "PhaseClock",
            "evaluation_plan": "promise",
            "sampling": "MIN_FEASIBLE_NODES NodeSearch",
            "scalar": "ScalarEvaluation",
            "totals_digest": "DigestedTotals",
        },
    )
