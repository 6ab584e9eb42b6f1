# SPDX-License-Identifier: Apache-2.0
"""Decides beside another scheduler and compares: `steersman shadow`. Nothing is written, nothing but GET is ever sent.

    informers ─► held_changes ─► follower ─► decision_review (placement, node_search) ─► Comparison ─► summary, report
                                    └─► timing: the cluster a little earlier or later        └─► differences: the state

`cluster_model` is the cluster as the other scheduler saw it, `program` runs all of it on a live cluster. How chance, timing and
disagreement are told apart is in docs/adr/0039-a-shadow-tells-why.md.
"""

from steersman.shadow.comparison import API_VERSION, ComparisonClass, DecisionComparison, DecisionKind
from steersman.shadow.differences import DifferenceWriter
from steersman.shadow.follower import DecisionMoment, ShadowFollower
from steersman.shadow.program import Shadow, ShadowOptions, ShadowScreen
from steersman.shadow.report import shadow_report
from steersman.shadow.summary import ShadowSummary

__all__ = [
    "API_VERSION",
    "ComparisonClass",
    "DecisionComparison",
    "DecisionKind",
    "DecisionMoment",
    "DifferenceWriter",
    "Shadow",
    "ShadowFollower",
    "ShadowOptions",
    "ShadowScreen",
    "ShadowSummary",
    "shadow_report",
]
