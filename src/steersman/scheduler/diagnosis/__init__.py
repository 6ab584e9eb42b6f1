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

from steersman.base import lazy_exports

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
            "decided detail_preemptions explain preemption_explanation preemption_report "
            "with_earlier_preemption without_cycle"
        ),
        "pod_evaluation": "NotEvaluated PodEvaluation Rows cause_now evaluated explain_now message_of",
        "requeue": "RequeueEvents requeue_events",
        "text": "MAX_GROUPS fitting_lines group_lines nearest_of outcome_text preemption_lines reason_of",
    },
)
