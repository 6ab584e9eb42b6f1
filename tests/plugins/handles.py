# SPDX-License-Identifier: Apache-2.0
"""A handle for plugin tests: what the framework would give a plugin, over plain lists."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from steersman import api
from steersman.base.clock import Clock, ManualClock
from steersman.framework.handle import Gates, NodeAmounts, Nodes, Objects
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_groups import PodGroups
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Binder
from steersman.framework.reading import ApiReader, NoReader
from steersman.framework.status import Status
from steersman.scheduler.plugins.node_resources.allocation import requested_with_minimum_on

K = TypeVar("K")

OFF_BY_DEFAULT = frozenset(
    {
        "DRADeviceTaintRules",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "DRAWorkloadResourceClaims",
        "GangScheduling",
        "GenericWorkload",
        "StorageCapacityScoring",
        "TaintTolerationComparisonOperators",
        "TopologyAwareWorkloadScheduling",
        "VolumeLimitScaling",
        "WorkloadAwarePreemption",
    }
)


class FakeObjects:
    """Listers over the objects given."""

    changes = 0

    def __init__(self, objects: Sequence[api.Object]) -> None:
        self._objects = objects

    def get(self, kind: type[K], key: str) -> K | None:
        return next((o for o in self._objects if isinstance(o, kind) and api.key(o) == key), None)

    def list(self, kind: type[K], namespace: str | None = None) -> Collection[K]:
        return [o for o in self._objects if isinstance(o, kind) and namespace in (None, o.metadata.namespace)]

    def version(self, kind: type[object]) -> int:
        return 0

    def changed_since(self, kind: type[object], version: int) -> Collection[str] | None:
        return ()


class FakeNodes:
    """The nodes given, in their order."""

    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        self._nodes = nodes

    def all(self) -> Sequence[NodeInfo]:
        return self._nodes

    def get(self, name: str) -> NodeInfo | None:
        return next((node for node in self._nodes if node.name == name), None)

    def with_affinity_pods(self) -> Sequence[NodeInfo]:
        return [node for node in self._nodes if node.pods_with_affinity]

    def with_required_anti_affinity_pods(self) -> Sequence[NodeInfo]:
        return [node for node in self._nodes if node.pods_with_required_anti_affinity]

    def domains(self, key: str) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for node in self._nodes:
            if key in node.labels:
                found.setdefault(node.labels[key], []).append(node.name)
        return found

    def amounts(self, names: Sequence[str], resource: str) -> NodeAmounts:
        nodes = [node for node in self._nodes if node.name in names and node.allocatable(resource)]
        offered = sum(node.allocatable(resource) for node in nodes)
        return NodeAmounts(offered, sum(requested_with_minimum_on(node, resource) for node in nodes))

    def claim_in_use(self, claim: str) -> bool:
        return any(claim in node.claim_users for node in self._nodes)


class FakeGates:
    """The gates that scheduler plugins read, at their defaults unless told otherwise."""

    def __init__(self, changed: Mapping[str, bool]) -> None:
        self._changed = changed

    def enabled(self, name: str) -> bool:
        return self._changed.get(name, name not in OFF_BY_DEFAULT)

    def has_rule(self, rule: str) -> bool:
        return self._changed.get(rule, rule in ("DeallocationIsReported", "TaintUpdatesOfNewNodes"))


class RecordingBinder:
    """Remembers the bindings and answers all of them alike."""

    def __init__(self, answer: Status | None = None) -> None:
        self._answer = answer
        self.bindings: list[tuple[str, str]] = []

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.bindings.append((pod.key, node_name))
        return self._answer


class FakeHandle:
    """Implements `framework.Handle`."""

    def __init__(
        self,
        *,
        objects: Sequence[api.Object] = (),
        nodes: Sequence[NodeInfo] = (),
        gates: Mapping[str, bool] | None = None,
        nominated: Mapping[str, Sequence[PodInfo]] | None = None,
        binder: Binder | None = None,
    ) -> None:
        self.profile_name = "default-scheduler"
        self.objects: Objects = FakeObjects(objects)
        self.nodes: Nodes = FakeNodes(nodes)
        self.clock: Clock = ManualClock()
        self.gates: Gates = FakeGates(gates or {})
        self.binder: Binder = binder or RecordingBinder()
        self.client: ApiReader = NoReader()
        self.pod_groups: PodGroups | None = None
        self._nominated = nominated or {}

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        return self._nominated.get(node_name, ())
