# SPDX-License-Identifier: Apache-2.0
"""Why a pod is pending, or where it is, and what would help: `steersman explain` and `kubectl steersman why`.

    from steersman import Simulation, why

    loaded = Simulation.load("cluster.yaml")
    ended = loaded.fork()
    ended.run()
    answer = why.explain_pod(ended, "default/web-0", why.Asked(loaded=loaded))
    print(answer.cause.sentence, *(fix.summary for fix in answer.fixes or ()), sep="\\n")

Read `question` first. `answer` is the answer as data, a versioned JSON document; `waiting` says when a pending pod is tried
again, `standing` how the node of a placed pod does against others, `pods` which pods are asked about; `text` and `markdown`
print. `live` asks about a cluster that it has read.
"""

from steersman.why.answer import (
    API_VERSION,
    NodeComparison,
    PodExplanation,
    PodState,
    PoolAnswer,
    QueuePosition,
    ScoreDifference,
    Standing,
    Waiting,
    answers_document,
    list_schema,
    schema,
)
from steersman.why.pods import pod_of_suspended_job, was_tried
from steersman.why.question import Asked, explain_pending, explain_pod

__all__ = [
    "API_VERSION",
    "Asked",
    "NodeComparison",
    "PodExplanation",
    "PodState",
    "PoolAnswer",
    "QueuePosition",
    "ScoreDifference",
    "Standing",
    "Waiting",
    "answers_document",
    "explain_pending",
    "explain_pod",
    "list_schema",
    "pod_of_suspended_job",
    "schema",
    "was_tried",
]
