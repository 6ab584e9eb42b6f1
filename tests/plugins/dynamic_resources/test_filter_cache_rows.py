# SPDX-License-Identifier: Apache-2.0
"""What is remembered by row is what the plugin says of the row's node, while nodes come, change and go."""

from __future__ import annotations

import random

import pytest

from steersman import api
from steersman.scheduler.engine.scalar import ScalarEvaluation
from steersman.testing import (
    Harness,
    NodeBuilder,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
)

ZONES = ("x", "y", "z")
NAMES = tuple("abcdef")


def node(name: str, zone: str) -> NodeBuilder:
    return make_node(name).capacity(cpu="8", memory="16Gi", pods="20").label("zone", zone)


def zonal(zone: str, *devices: str) -> api.ResourceSlice:
    made = make_slice(f"zone-{zone}").where("zone", zone)
    for device in devices:
        made = made.device(device)
    return made.obj()


class Days:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        local = [make_slice(f"on-{name}").on_node(name).device("d").obj() for name in NAMES[:3]]
        self.harness = Harness(
            nodes=[node(name, "x") for name in NAMES[:4]],
            objects=[make_device_class("any").obj(), zonal("x", "d0"), zonal("y", "d0", "d1"), *local],
        )

    def compare(self) -> None:
        """A new claim of one of two kinds, by rows and node by node."""
        self.count += 1
        claim = make_resource_claim(f"c{self.count}").asks("r", "any", count=self.random.choice((1, 2)))
        self.harness.add(claim.obj())
        pod = make_pod(f"p{self.count}").req(cpu="100m").resource_claim(f"c{self.count}")
        scheduler = self.harness.scheduler
        info, table = scheduler.cache.shapes.info(pod.obj()), scheduler.cache.nodes
        nodes = {table.names[row]: table.info(row) for row in table.live_rows()}
        by_rows = sorted(self.harness.evaluate(pod).feasible())
        assert by_rows == sorted(ScalarEvaluation(scheduler.profiles[info.scheduler_name], info, nodes, {}).feasible())
        if self.random.random() < 0.5:
            self.harness.add(pod)
            self.harness.run()

    def change(self) -> None:
        store, name = self.harness.cluster, self.random.choice(NAMES)
        choice = self.random.random()
        if choice < 0.4:
            self.harness.add(node(name, self.random.choice(ZONES)))
        elif choice < 0.6:
            found = store.find(api.Node, name)
            if found is not None and len(store.objects(api.Node)) > 1:
                self.harness.delete(found)
        elif choice < 0.8:
            self.harness.add(zonal(self.random.choice(ZONES), *self.random.sample(("d0", "d1", "d2"), 2)))
        else:
            for pod in self.random.sample(list(store.objects(api.Pod).values()), min(1, len(store.objects(api.Pod)))):
                self.harness.delete(pod)


@pytest.mark.parametrize("seed", range(6))
def test_rows_say_what_nodes_say(seed: int) -> None:
    days = Days(seed)
    with days.harness:
        for _ in range(40):
            days.compare()
            days.change()


def test_a_claim_that_is_tied_to_a_node_leaves_only_that_one() -> None:
    tied = make_resource_claim("c").asks("r", "any").allocated(("r", "gpu.example.com", "on-b", "d"), on_node="b")
    with Days(0).harness as harness:
        harness.add(tied.obj())
        pod = make_pod("p").req(cpu="100m").resource_claim("c")
        assert harness.evaluate(pod).feasible() == ["b"]
        others = {name: status.message for name, status in harness.rejections(pod).items()}
        assert others == dict.fromkeys("acd", "resourceclaim not available on the node")


def test_so_does_one_that_is_tied_to_a_node_that_is_gone() -> None:
    tied = make_resource_claim("c").asks("r", "any").allocated(("r", "gpu.example.com", "z", "d"), on_node="z")
    with Days(0).harness as harness:
        harness.add(tied.obj())
        assert harness.evaluate(make_pod("p").req(cpu="100m").resource_claim("c")).feasible() == []
