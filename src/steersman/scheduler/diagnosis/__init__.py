# SPDX-License-Identifier: Apache-2.0
"""Why a pod is where it is, or nowhere: every node × every plugin, with verdicts and scores.

    explain(profile, pod, evaluation, nodes)      # of one scheduling cycle, before anything is assumed
    explanation.cause.sentence                    # why, as a sentence
    explanation.table()                           # text
    explanation.to_dict()                         # plain values

Read `explanation` first. `explanation_builder` makes explanations of evaluations, with `details` of
each objection; `cause` finds the decisive objection; `pod_evaluation` evaluates a pod on a running
scheduler now; `attempt_causes` counts the causes of failed attempts for metrics; `requeue`
lists the events that requeue a rejected pod; `text` and `html` render. Simulations record
explanations through the scheduler's observer, or make them afterwards on their final state.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.diagnosis.amounts import amount as amount
    from steersman.scheduler.diagnosis.attempt_causes import AttemptCauses as AttemptCauses
    from steersman.scheduler.diagnosis.cause import (
        Cause as Cause,
        CauseCode as CauseCode,
        GroupDetail as GroupDetail,
        NodeGroup as NodeGroup,
        code_of_plugin as code_of_plugin,
        rejecting_groups as rejecting_groups,
    )
    from steersman.scheduler.diagnosis.cluster_details import STATE_READERS as STATE_READERS, term_text as term_text
    from steersman.scheduler.diagnosis.details import (
        Details as Details,
        rejection as rejection,
        taint_text as taint_text,
    )
    from steersman.scheduler.diagnosis.explanation import (
        Explanation as Explanation,
        NodeExplanation as NodeExplanation,
        Outcome as Outcome,
        PluginScore as PluginScore,
        PreemptionCandidate as PreemptionCandidate,
        PreemptionExplanation as PreemptionExplanation,
        PreFilterExplanation as PreFilterExplanation,
        Shortage as Shortage,
        Verdict as Verdict,
    )
    from steersman.scheduler.diagnosis.explanation_builder import (
        decided as decided,
        detail_preemptions as detail_preemptions,
        explain as explain,
        preemption_explanation as preemption_explanation,
        preemption_report as preemption_report,
        with_earlier_preemption as with_earlier_preemption,
        without_cycle as without_cycle,
    )
    from steersman.scheduler.diagnosis.pod_evaluation import (
        NotEvaluated as NotEvaluated,
        PodEvaluation as PodEvaluation,
        Rows as Rows,
        cause_now as cause_now,
        evaluated as evaluated,
        explain_now as explain_now,
        message_of as message_of,
    )
    from steersman.scheduler.diagnosis.requeue import RequeueEvents as RequeueEvents, requeue_events as requeue_events
    from steersman.scheduler.diagnosis.text import (
        MAX_GROUPS as MAX_GROUPS,
        fitting_lines as fitting_lines,
        group_lines as group_lines,
        nearest_of as nearest_of,
        outcome_text as outcome_text,
        preemption_lines as preemption_lines,
        reason_of as reason_of,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "amounts": "amount",
            "attempt_causes": "AttemptCauses",
            "cause": "Cause CauseCode GroupDetail NodeGroup code_of_plugin rejecting_groups",
            "cluster_details": "STATE_READERS term_text",
            "details": "Details rejection taint_text",
            "explanation": (
                "Explanation NodeExplanation Outcome PluginScore PreFilterExplanation "
                "PreemptionCandidate PreemptionExplanation Shortage Verdict"
            ),
            "explanation_builder": (
                "decided detail_preemptions explain preemption_explanation "
                "preemption_report with_earlier_preemption without_cycle"
            ),
            "pod_evaluation": ("NotEvaluated PodEvaluation Rows cause_now evaluated explain_now message_of"),
            "requeue": "RequeueEvents requeue_events",
            "text": ("MAX_GROUPS fitting_lines group_lines nearest_of outcome_text preemption_lines reason_of"),
        },
    )
