# SPDX-License-Identifier: Apache-2.0
"""Thousands of pods over 2,000 nodes, in waves that come and go: memory stays where it was, nothing piles up.

In one soak all pods have one template, in the other no two have the same: what they select by, how they are spread and which
nodes they avoid is different for each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.e2e.faults.conftest import observer_token

from steersman.kube.serving.scheduler_endpoints import CLEAN
from steersman.testing import PodBuilder, make_node, make_pod, not_in
from steersman.testing.control_plane import ControlPlane, Steersman, manifest, wait_until

NODES = 2000
HOSTNAME = "kubernetes.io/hostname"
FAST: dict[str, Any] = {"clientConnection": {"qps": 5000, "burst": 5000}}
#: By so much more memory than after the second wave the end may find: the allocator does not give everything back.
GROWTH = 1.10
WAVE_SECONDS = 120.0
#: What the API server checks of a pod beyond what a scheduler depends on, and its own fairness, take a quarter of its time.
UNCHECKED = (
    "ServiceAccount,LimitRanger,ResourceQuota,PodSecurity,RuntimeClass,StorageObjectInUseProtection,MutatingAdmissionPolicy,"
    "MutatingAdmissionWebhook,ValidatingAdmissionPolicy,ValidatingAdmissionWebhook"
)
UNFAIR = ("--enable-priority-and-fairness=false", "--delete-collection-workers=4")
SIZES = re.compile(
    r'^scheduler_(?:cache_size\{type="|pending_pods\{queue="|goroutines\{operation=")(\w+)"\} (\S+)$', re.M
)
AT_REST = {
    "nodes": NODES,
    "pods": 0,
    "assumed_pods": 0,
    "active": 0,
    "backoff": 0,
    "unschedulable": 0,
    "gated": 0,
    "binding": 0,
}


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process holds between two waves."""

    memory: int
    files: int


@dataclass(frozen=True, slots=True)
class Waves:
    """How many there are, and their pods: made by number of wave and index."""

    count: int
    pods: int
    make: Callable[[int, int], PodBuilder]


def same_template(wave: int, index: int) -> PodBuilder:
    return make_pod(f"wave{wave}-{index}").req(cpu="100m")


def own_template(wave: int, index: int) -> PodBuilder:
    own = {"own": f"hash-{wave}-{index}"}
    pod = same_template(wave, index).labels(own)
    match index % 5:
        case 0:
            return pod.anti_affinity(HOSTNAME, own)
        case 1:
            return pod.spread(HOSTNAME, selector=own)
        case 2:
            return pod.anti_affinity(f"example.com/rack-{wave}-{index}", own, weight=10)
        case 3:
            return pod.required_node_affinity(not_in("example.com/avoided", own["own"]))
        case _:
            return pod.req(cpu=f"{100 + wave}m", memory=f"{1 + index}Mi").toleration(f"example.com/{own['own']}")


ONE_TEMPLATE = Waves(6, 2000, same_template)
EVER_NEW_TEMPLATES = Waves(6, 1000, own_template)


@dataclass(frozen=True, slots=True)
class Soak:
    plane: ControlPlane
    steersman: Steersman
    token: str

    def wave(self, number: int, waves: Waves) -> Footprint:
        """Pods come, are bound, and go; what is left."""
        admin = self.plane.admin
        admin.create_many([manifest(waves.make(number, index)) for index in range(waves.pods)])
        wait_until(
            lambda: not admin.list("Pod", fields="spec.nodeName="), WAVE_SECONDS, what="a bound wave", interval=0.5
        )
        admin.delete_all("Pod", "default")
        wait_until(lambda: self.sizes() == AT_REST, WAVE_SECONDS, what="a scheduler at rest", interval=0.2)
        return Footprint(self.steersman.rss(), len(os.listdir(f"/proc/{self.steersman.pid}/fd")))

    def sizes(self) -> dict[str, int]:
        """Of cache and queue, and bindings under way."""
        found = {name: int(float(value)) for name, value in SIZES.findall(self._get("/metrics"))}
        return {name: found[name] for name in AT_REST}

    def _get(self, path: str) -> str:
        code, text = self.steersman.get(path, token=self.token, timeout=30)
        assert code == 200, text
        return text

    def believes_the_truth(self) -> bool:
        return self._get("/debug/cache").startswith(CLEAN)


@contextmanager
def soaking(plane: ControlPlane) -> Iterator[Soak]:
    nodes = (
        make_node(f"n{index}").label(HOSTNAME, f"n{index}").capacity(cpu="8", memory="32Gi", pods="110")
        for index in range(NODES)
    )
    plane.admin.create_nodes(*map(manifest, nodes))
    with Steersman(plane, config=FAST) as steersman:
        yield Soak(plane, steersman, observer_token(plane))


@pytest.mark.parametrize("waves", [ONE_TEMPLATE, EVER_NEW_TEMPLATES], ids=["one template", "ever new templates"])
def test_waves_of_pods_leave_nothing_behind(
    new_plane: Callable[..., ControlPlane], monkeypatch: pytest.MonkeyPatch, waves: Waves
) -> None:
    monkeypatch.setenv("GOGC", "800")  # and tidying up would take another part of it
    plane = new_plane(disabled_admission=UNCHECKED.split(","), extra_flags=UNFAIR)
    with soaking(plane) as soak:
        footprints = [soak.wave(number, waves) for number in range(waves.count)]
        print("MiB after each wave:", [footprint.memory >> 20 for footprint in footprints])
        print("open files after each wave:", [footprint.files for footprint in footprints])
        _, settled, *later = footprints
        assert max(footprint.memory for footprint in later) <= settled.memory * GROWTH, footprints
        assert later[-1].files <= 2 * settled.files, footprints
        assert soak.believes_the_truth()
        assert soak.steersman.stop() == 0
