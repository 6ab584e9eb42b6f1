# SPDX-License-Identifier: Apache-2.0
"""Pools and scenarios for the autoscaler."""

from __future__ import annotations

from typing import Any

from tests.scenario.scenarios import Document, a_scenario

from steersman import api
from steersman.simulation import Simulation
from steersman.simulation.node_pools import pool_of
from steersman.simulation.scenario import Milestone, ScenarioResult, load_scenario
from steersman.simulation.scenario.execution import Execution


def a_pool(name: str = "general", cpu: str = "4", price: float = 0.2, **parts: Any) -> Document:
    """A pool whose nodes boot in a minute and go when they were not needed for two."""
    template = {"status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"}}}
    times = {"bootSeconds": 60, "scaleDownDelaySeconds": 120}
    return {"name": name, "pricePerHour": price, "template": template, **times, **parts}


def pools(*given: Document) -> Document:
    return {"apiVersion": "steersman.dev/v1alpha1", "kind": "NodePools", "pools": list(given)}


def autoscaled(*given: Document, settings: Document | None = None, **parts: Any) -> Document:
    """A scenario without nodes but for those that the pools make; nodes go two minutes after others came."""
    autoscaler = {"scaleDownDelayAfterAdd": "2m", **(settings or {})}
    return a_scenario(**{"cluster": [], "pools": pools(*given), "autoscaler": autoscaler, **parts})


def actions(result: ScenarioResult) -> list[str]:
    return [milestone.text for milestone in result.milestones if milestone.source == "autoscaler"]


class Watched:
    """A run of a scenario during which the sizes of pools are watched."""

    def __init__(self, document: Document, seed: int = 0) -> None:
        scenario = load_scenario(document)
        prepared = scenario.prepared()
        self.simulation = Simulation.load(*prepared.cluster, seed=seed)
        self._names: dict[str, str] = {}
        #: By pool, the most nodes it ever had, and the fewest after the start.
        self.most: dict[str, int] = {}
        self.fewest: dict[str, int] = {}
        #: Pods that waited, at the moment of every milestone.
        self.waiting: list[tuple[Milestone, int]] = []
        self.simulation.cluster.subscribe(self._on_node, (api.Node,))
        self.result = Execution(scenario, prepared, self.simulation, seed, self._note).run()

    def _on_node(self, _: object, old: api.Object | None, new: api.Object | None) -> None:
        node = new if new is not None else old
        assert isinstance(node, api.Node)
        if new is None:
            self._names.pop(node.metadata.name)
        else:
            self._names[node.metadata.name] = pool_of(node)
        pool = pool_of(node)
        size = sum(name == pool for name in self._names.values())
        self.most[pool] = max(size, self.most.get(pool, 0))
        if self.simulation.now > 0:
            self.fewest[pool] = min(size, self.fewest.get(pool, size))

    def _note(self, milestone: Milestone) -> None:
        pods = self.simulation.cluster.objects(api.Pod).values()
        self.waiting.append((milestone, sum(not pod.spec.node_name for pod in pods)))
