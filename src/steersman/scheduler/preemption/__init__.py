# SPDX-License-Identifier: Apache-2.0
"""Preemption: DefaultPreemption with its search for candidates and its execution.

    evaluator (candidates, dry_run or column_dry_run, disruption_budgets)
        ─► PreemptionReport ─► executor
    group_evaluator (victims, group_reprieve) ─► GroupPreemptionReport ─► executor

The plugin runs as PostFilter of a cycle in which no node fits, and as PodGroupPostFilter of a group
that cannot be placed. The decision is synchronous and made of what-if questions; the execution goes
through the handle, in the background.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "candidates": "Candidate CandidateChoice PreemptionReport",
        "default_preemption": "DefaultPreemption default_preemptions",
        "dry_run": "CandidateSearch FullSearch SampledSearch",
        "executor": "Preemptor",
        "group_evaluator": "GroupPreemptionReport",
    },
)
