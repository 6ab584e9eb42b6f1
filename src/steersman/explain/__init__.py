# SPDX-License-Identifier: Apache-2.0
"""Why a pod is where it is, or nowhere: every node × every plugin, with verdicts and scores.

    explain(profile, pod, evaluation, nodes)      # of one scheduling cycle, before anything is assumed
    explanation.cause.sentence                    # why, in a sentence
    explanation.table()                           # for people
    explanation.to_dict()                         # for programs

Simulations record explanations through the scheduler's observer, or make them afterwards on the state they ended with;
`live` makes them of a cluster that it has read. `wakers` says what would have a rejected pod tried again.
"""

from steersman.explain.cause import Cause, CauseCode, GroupDetail, NodeGroup, code_of_plugin, rejecting_groups
from steersman.explain.explanation import (
    Explanation,
    NodeExplanation,
    Outcome,
    PluginScore,
    PreemptionCandidate,
    PreemptionExplanation,
    PreFilterExplanation,
    Shortage,
    Verdict,
)
from steersman.explain.making import (
    decided,
    detail_preemptions,
    explain,
    preemption_explanation,
    preemption_report,
    with_earlier_preemption,
    without_cycle,
)
from steersman.explain.waking import Waker, wakers

__all__ = [
    "Cause",
    "CauseCode",
    "Explanation",
    "GroupDetail",
    "NodeExplanation",
    "NodeGroup",
    "Outcome",
    "PluginScore",
    "PreFilterExplanation",
    "PreemptionCandidate",
    "PreemptionExplanation",
    "Shortage",
    "Verdict",
    "Waker",
    "code_of_plugin",
    "decided",
    "detail_preemptions",
    "explain",
    "preemption_explanation",
    "preemption_report",
    "rejecting_groups",
    "wakers",
    "with_earlier_preemption",
    "without_cycle",
]
