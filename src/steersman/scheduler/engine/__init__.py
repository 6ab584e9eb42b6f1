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

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "columnar": "ColumnarEvaluation",
        "evaluation": "Evaluation NodeStatuses ScoreTable",
        "evaluation_plan": "promise",
        "phase_clock": "PhaseClock",
        "sampling": "MIN_FEASIBLE_NODES NodeSearch",
        "scalar": "ScalarEvaluation",
        "totals_digest": "DigestedTotals",
    },
)
