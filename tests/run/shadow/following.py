# SPDX-License-Identifier: Apache-2.0
"""A shadow that is told of a cluster event by event, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from steersman import api
from steersman.base.clock import ManualClock
from steersman.run.app import EffectiveSettings, RunOptions, effective
from steersman.run.shadow import DecisionComparison, DecisionMoment, ShadowFollower
from steersman.testing import make_node, make_pod

HOLD = 1.0
_replace = msgspec.structs.replace
_DEFAULTS = effective(RunOptions())


class WatchedCluster:
    """The events of a cluster, as a watch shows them to a shadow. Every event is a millisecond after the one before it."""

    def __init__(
        self, *found: api.Object, settings: EffectiveSettings = _DEFAULTS, is_watched_from_the_start: bool = False
    ) -> None:
        """The shadow finds these objects; or it is there before them, as the other scheduler is."""
        self.clock = ManualClock(1000.0)
        self.compared: list[DecisionComparison] = []
        self.snapshots: list[DecisionMoment] = []
        self.follower = ShadowFollower(settings, self.clock, self._compared, lambda: True)
        self._objects: dict[str, api.Object] = {}
        self._version = 0
        if is_watched_from_the_start:
            self.follower.begin()
        for obj in found:
            self.see(obj)
        if is_watched_from_the_start:
            self.settle()
        else:
            self.follower.begin()

    def _compared(self, comparison: DecisionComparison, snapshot: DecisionMoment | None) -> None:
        self.compared.append(comparison)
        if snapshot is not None:
            self.snapshots.append(snapshot)

    def see(self, obj: api.Object) -> None:
        """The object is new, or another one than before."""
        self._version += 1
        self.clock.advance(0.001)
        meta = _replace(obj.metadata, resource_version=str(self._version))
        seen = _replace(obj, metadata=meta)
        self._objects[f"{obj.KIND}/{api.key(obj)}"] = seen
        self.follower.changed(seen)

    def pod(self, name: str) -> api.Pod:
        found = self._objects[f"Pod/default/{name}"]
        assert isinstance(found, api.Pod)
        return found

    def bind(self, name: str, node: str) -> None:
        pod = self.pod(name)
        self.see(_replace(pod, spec=_replace(pod.spec, node_name=node)))

    def fail(self, name: str, message: str = "", nominated: str = "") -> None:
        """The other scheduler says that it found no node."""
        pod = self.pod(name)
        failed = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message=message)
        status = _replace(pod.status, conditions=(failed,), nominated_node_name=nominated)
        self.see(_replace(pod, status=status))

    def expect_node(self, name: str, node: str) -> None:
        """The other scheduler has found a node, and says so before it binds the pod."""
        pod = self.pod(name)
        self.see(_replace(pod, status=_replace(pod.status, nominated_node_name=node)))

    def delete(self, name: str) -> None:
        self.clock.advance(0.001)
        self.follower.deleted(self._objects.pop(f"Pod/default/{name}"))

    def settle(self) -> list[DecisionComparison]:
        """Everything has been looked at; the comparisons so far."""
        self.clock.advance(HOLD)
        for _ in self.follower.settle(self.clock.monotonic()):
            pass
        return self.compared

    def last(self) -> DecisionComparison:
        return self.settle()[-1]


def nodes(count: int, cpu: str = "4") -> Iterable[api.Node]:
    return (node(f"n{index}", cpu) for index in range(count))


def node(name: str, cpu: str = "4", **labels: str) -> api.Node:
    built = make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110").label("kubernetes.io/hostname", name)
    for key, value in labels.items():
        built = built.label(key, value)
    return built.obj()


def pod(name: str, cpu: str = "1", on: str = "") -> api.Pod:
    built = make_pod(name).req(cpu=cpu)
    return (built.node(on) if on else built).obj()
