# SPDX-License-Identifier: Apache-2.0
"""Why a pod is pending or where it is, and what would help.

    from steersman import Simulation
    from steersman.explain import ExplainOptions, explain_pod

    loaded = Simulation.load("cluster.yaml")
    ended = loaded.fork()
    ended.run()
    answer = explain_pod(ended, "default/web-0", ExplainOptions(loaded=loaded))
    print(answer.cause.sentence, *(fix.summary for fix in answer.fixes or ()), sep="\\n")

Read `explainer` first. `document` is the answer as data, a versioned JSON document; `pods` finds
the pods that are explained, `waiting` says when a pending pod is tried again, `placed_pod` compares
the node of a placed pod with others, `groups` explains the pod's group; `text`, `markdown` and
`html` render the document. `pending_causes` has the causes of the waiting pods of a running
scheduler, for its web page. `fixes/` proposes changes and verifies each by simulating it. `live/`
reads a cluster into a simulation. `scheduler.diagnosis`, below, has the matrix of nodes × plugins
and the causes that all of this builds on.

May import `simulation` and what that may import.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "document": (
            "NodeComparison PlacementMargin PodExplanation PodState PoolAnswer QueuePosition "
            "ScoreDifference Waiting answers_document list_schema schema"
        ),
        "explainer": "ExplainOptions explain_pending explain_pod",
        "pending_causes": "PendingCause PendingCauses message_of",
        "pods": "pod_of_suspended_job was_tried",
    },
)
