# SPDX-License-Identifier: Apache-2.0
"""Planning questions about a cluster, answered by the scheduler on forks of a simulation.

    from steersman import Simulation, plan

    sim = Simulation.load("cluster.json")
    plan.capacity(sim, ["web.yaml"]).fits

Every question is a function from a `Simulation`, which is not changed, to a `PlanAnswer`: JSON
document (`to_dict`), report (`report`) and verdict (`is_met`). `steersman plan …` prints them.
"""

from steersman.plan.answer import PlanAnswer, schema
from steersman.plan.capacity import Capacity, capacity
from steersman.plan.compaction import Compaction, Move, compact
from steersman.plan.comparison import Comparison, Variant, compare
from steersman.plan.disruption import Drain, Loss, NodeTainting, drain, lose, taint
from steersman.plan.nodes import NodesAnswer, NoPlanInTime, nodes
from steersman.plan.pod_templates import PlannedPods, load_pods, parse_weight
from steersman.plan.requests import Requests, requests
from steersman.plan.usage import COLUMNS, load_usage

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
    "COLUMNS",
    "Capacity",
    "Compaction",
    "Comparison",
    "Drain",
    "Loss",
    "Move",
    "NoPlanInTime",
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
    "parse_weight",
    "requests",
    "schema",
    "taint",
]
