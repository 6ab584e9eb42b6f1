# SPDX-License-Identifier: Apache-2.0
"""Questions that planners ask of a cluster, answered on forks of a simulation by the exact scheduler.

    from steersman import Simulation, plan

    sim = Simulation.load("cluster.json")
    plan.capacity(sim, ["web.yaml"]).fits

Every question is a function: a `Simulation` in, which stays as it is, a `PlanAnswer` out, which is a versioned JSON document
(`to_dict`), a report for people (`report`) and a yes or a no (`is_met`). `steersman plan …` prints them.
"""

from steersman.plan.answer import API_VERSION, PlanAnswer, schema
from steersman.plan.capacity import Capacity, capacity
from steersman.plan.compaction import Compaction, Move, compact
from steersman.plan.comparison import Comparison, Variant, compare
from steersman.plan.disruption import Drain, Loss, NodeTainting, drain, lose, taint
from steersman.plan.nodes import NodesAnswer, nodes
from steersman.plan.pod_templates import PlannedPods, load_pods
from steersman.plan.requests import Requests, requests
from steersman.plan.usage import load_usage

ANSWERS: tuple[type[PlanAnswer], ...] = (
    Capacity,
    Compaction,
    Comparison,
    Drain,
    Loss,
    NodesAnswer,
    Requests,
    NodeTainting,
)
"""Every kind of answer; `steersman/plan/schemas` has the JSON schema of each."""

__all__ = [
    "ANSWERS",
    "API_VERSION",
    "Capacity",
    "Compaction",
    "Comparison",
    "Drain",
    "Loss",
    "Move",
    "NodeTainting",
    "NodesAnswer",
    "PlanAnswer",
    "PlannedPods",
    "Requests",
    "Variant",
    "capacity",
    "compact",
    "compare",
    "drain",
    "load_pods",
    "load_usage",
    "lose",
    "nodes",
    "requests",
    "schema",
    "taint",
]
