"""Making room: DefaultPreemption and what it decides with.

    evaluator (candidates, dry_run, disruption_budgets) ─► PreemptionReport ─► executor

The plugin runs as PostFilter of a cycle in which no node fits. Deciding is plain synchronous code over what-if questions;
carrying out goes through the handle, off the cycle.
"""

from steersman.preemption.candidates import Candidate, Choice
from steersman.preemption.default_preemption import DefaultPreemption
from steersman.preemption.report import PreemptionReport
from steersman.preemption.search import FullSearch, SampledSearch, Search

__all__ = ["Candidate", "Choice", "DefaultPreemption", "FullSearch", "PreemptionReport", "SampledSearch", "Search"]
