# SPDX-License-Identifier: Apache-2.0
"""Shadow of another scheduler: repeats and compares its decisions. Sends only GET requests.

    informers ─► held_changes ─► follower ─► decision_review (placement, node_search) ─► Comparison ─► summary, report
                                    └─► timing: the cluster a little earlier or later        └─► differences: the state

`cluster_model` is the cluster as the other scheduler saw it, `program` follows a live cluster. ADR
0039 describes how chance, timing and disagreement are distinguished.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "comparison": "ComparisonClass DecisionComparison DecisionKind EXPLAINED",
        "differences": "DifferenceWriter",
        "follower": "DecisionMoment ShadowFollower",
        "program": "HOLD_SECONDS Shadow ShadowOptions ShadowScreen",
        "report": "shadow_report",
        "summary": "ShadowSummary comparison_line",
    },
)
