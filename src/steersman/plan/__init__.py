# SPDX-License-Identifier: Apache-2.0
"""Planning questions about a cluster, answered by the scheduler on forks of a simulation.

    from steersman import Simulation, plan

    sim = Simulation.load("cluster.json")
    plan.capacity(sim, ["web.yaml"]).fits

Every question is a function from a `Simulation`, which is not changed, to a `PlanAnswer`: JSON
document (`to_dict`), report (`report`) and verdict (`is_met`). `steersman plan …` prints them, and
`steersman/plan/schemas` has the JSON schema of each.
"""

from steersman.base import lazy_exports
from steersman.plan.capacity import capacity as capacity
from steersman.plan.nodes import nodes as nodes
from steersman.plan.requests import requests as requests

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "answer": "PlanAnswer schema",
        "capacity": "Capacity capacity",
        "compaction": "Compaction Move compact",
        "comparison": "Comparison Variant compare",
        "disruption": "Drain Loss NodeTainting drain lose taint",
        "nodes": "NoPlanInTime NodesAnswer nodes",
        "pod_templates": "PlannedPods load_pods parse_weight",
        "requests": "Requests requests",
        "usage": "COLUMNS load_usage",
    },
)
