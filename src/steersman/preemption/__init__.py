# SPDX-License-Identifier: Apache-2.0
"""Making room: DefaultPreemption and what it decides with.

    evaluator (candidates, dry_run or column_dry_run, disruption_budgets) ─► PreemptionReport ─► executor

The plugin runs as PostFilter of a cycle in which no node fits. Deciding is plain synchronous code over what-if questions;
carrying out goes through the handle, off the cycle.
"""

from steersman.preemption.candidates import Candidate, CandidateChoice, PreemptionReport
from steersman.preemption.default_preemption import DefaultPreemption
from steersman.preemption.dry_run import CandidateSearch, FullSearch, SampledSearch

__all__ = [
    "Candidate",
    "CandidateChoice",
    "CandidateSearch",
    "DefaultPreemption",
    "FullSearch",
    "PreemptionReport",
    "SampledSearch",
]
