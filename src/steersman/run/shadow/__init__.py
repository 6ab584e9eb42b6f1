# SPDX-License-Identifier: Apache-2.0
"""Shadow of another scheduler: repeats and compares its decisions. Sends only GET requests.

    informers ─► held_changes ─► follower ─► decision_review (placement, node_search) ─► Comparison ─► summary, report
                                    └─► timing: the cluster a little earlier or later        └─► differences: the state

`cluster_model` is the cluster as the other scheduler saw it, `program` follows a live cluster. ADR
0039 describes how chance, timing and disagreement are told apart.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.run.shadow.comparison import (
        EXPLAINED as EXPLAINED,
        ComparisonClass as ComparisonClass,
        DecisionComparison as DecisionComparison,
        DecisionKind as DecisionKind,
    )
    from steersman.run.shadow.differences import DifferenceWriter as DifferenceWriter
    from steersman.run.shadow.follower import DecisionMoment as DecisionMoment, ShadowFollower as ShadowFollower
    from steersman.run.shadow.program import (
        HOLD_SECONDS as HOLD_SECONDS,
        Shadow as Shadow,
        ShadowOptions as ShadowOptions,
        ShadowScreen as ShadowScreen,
    )
    from steersman.run.shadow.report import shadow_report as shadow_report
    from steersman.run.shadow.summary import ShadowSummary as ShadowSummary, comparison_line as comparison_line
else:
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
