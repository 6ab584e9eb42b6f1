# SPDX-License-Identifier: Apache-2.0
"""Runs a scenario on a side, which is a real cluster or the embedded one, and collects what the controllers made of it."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec
from tests.controllers.comparison.changes import as_sent, completed, has, merged, timeless
from tests.controllers.comparison.kubelet import Act, Kubelets
from tests.controllers.comparison.masking import masked
from tests.controllers.comparison.scenario import Document, Named, Scenario, Step, Until

from steersman.api import timestamps

KINDS: Final = (
    "Namespace",
    "Node",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ControllerRevision",
    "Job",
    "CronJob",
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "ResourceQuota",
    "LimitRange",
)
"""What a snapshot shows, beside events."""
MOST_ACTS: Final = 200
"""Of kubelets between two steps: more, and controllers and kubelets run in a circle."""
_RELATIVE_TIME: Final = re.compile(r"NOW-(\d+)")
NODE_READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
}


class Refused(Exception):
    """The API server took an object for wrong; the text is its."""


class Side(Protocol):
    """A cluster with controllers. Everything is about the scenario's namespace, and its nodes."""

    def create(self, document: Document) -> Document:
        """The object as stored; raises `Refused`."""

    def replace(self, document: Document, subresource: str = "") -> Document:
        """Writes all but the status, or with the subresource `status` that alone; the object as stored."""

    def delete(self, kind: str, name: str, propagation: str | None, grace_seconds: int | None = None) -> None: ...

    def bind(self, pod: str, node: str) -> None: ...

    def objects(self, kind: str) -> Sequence[Document]: ...

    def events(self) -> Sequence[Document]:
        """`{type, reason, message, kind, name}` of each."""

    def now(self) -> float: ...

    def rest(self, seconds: float) -> None:
        """Returns when nothing has been written for so long."""

    def pass_time(self) -> None:
        """Lets a little time pass, or what there is until something happens."""


class Result(msgspec.Struct, frozen=True):
    """What a run of a scenario leads to."""

    #: Masked snapshots by name.
    snapshots: dict[str, Document]
    #: What the API server said to the objects it was to refuse.
    refusals: list[str]
    #: The objects and changes of the steps, in order, as the API server completed them; the embedded side is given these.
    applied: list[Document]


class Run:
    """One scenario on one side."""

    def __init__(self, scenario: Scenario, side: Side, applied: Sequence[Document] | None = None) -> None:
        """`applied` takes the place of the objects in the steps."""
        self.scenario = scenario
        self.side = side
        self._given = None if applied is None else list(applied)
        self._kubelets = Kubelets()
        self._result = Result({}, [], [])

    def run(self) -> Result:
        self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.scenario.namespace}})
        for name in self.scenario.nodes:
            self._create(self._node(name))
        for step in self.scenario.steps:
            self._carry_out(step)
        self._snapshot("end")
        return self._result

    def _carry_out(self, step: Step) -> None:
        for field in step.__struct_fields__:
            value = getattr(step, field)
            if value is not None:
                getattr(self, f"_{field}")(value)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _apply(self, documents: Sequence[Document]) -> None:
        for document in documents:
            self._create(document)
            self._play()

    def _refused(self, document: Document) -> None:
        try:
            self.side.create(self._placed(document))
        except Refused as refusal:
            self._result.refusals.append(str(refusal))
        else:
            raise AssertionError(f"{self.scenario.name}: {document['kind']} {document['metadata']} was not refused")

    def _patch(self, named: Named) -> None:
        change = self._timed(named.change if self._given is None else self._given.pop(0))
        stored = self.side.replace(merged(self._find(named), change))
        self._result.applied.append(timeless(completed(change, stored)))
        self._play()

    def _status(self, named: Named) -> None:
        self.side.replace(merged(self._find(named), {"status": self._timed(named.change)}), "status")
        self._play()

    def _delete(self, named: Named) -> None:
        self.side.delete(named.kind, self._find(named)["metadata"]["name"], named.propagation)
        self._play()

    def _kubelet(self, rules: Sequence[Any]) -> None:
        own = [msgspec.structs.replace(rule, node=self._node_name(rule.node) if rule.node else "") for rule in rules]
        self._kubelets.follow(own)

    def _until(self, wanted: Until) -> None:
        deadline = self.side.now() + wanted.timeout
        while not self._holds(wanted):
            if self.side.now() > deadline:
                raise AssertionError(f"{self.scenario.name}: {wanted} did not come true; there is {self._seen(wanted)}")
            if self._act_once():
                self.side.rest(self.scenario.quiet)
            else:
                self.side.pass_time()
        self._play()

    def _snapshot(self, name: str) -> None:
        self._play()
        objects = {kind: self.side.objects(kind) for kind in KINDS}
        hidden = [self._node_name(node) for node in self.scenario.nodes] if self.scenario.any_node else []
        self._result.snapshots[name] = masked(objects, self.side.events(), hidden)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _play(self) -> None:
        """Kubelets act, one at a time, until they and the controllers rest."""
        for _ in range(MOST_ACTS):
            self.side.rest(self.scenario.quiet)
            if not self._act_once():
                return
        raise AssertionError(f"{self.scenario.name}: kubelets and controllers do not come to rest")

    def _act_once(self) -> bool:
        side = self.side
        act = self._kubelets.next_act(side.objects("Pod"), side.objects("ReplicaSet"), side.objects("Node"))
        if act is not None:
            self._perform(act)
        return act is not None

    def _perform(self, act: Act) -> None:
        name = act.pod["metadata"]["name"]
        if act.removed:
            self.side.delete("Pod", name, None, grace_seconds=0)
            return
        if act.node:
            self.side.bind(name, act.node)
        if act.status:
            current = next(pod for pod in self.side.objects("Pod") if pod["metadata"]["name"] == name)
            self.side.replace(merged(current, {"status": self._timed(act.status)}), "status")

    def _create(self, document: Document) -> None:
        wanted = self._placed(document if self._given is None else self._given.pop(0))
        stored = self.side.create(wanted)
        self._result.applied.append(as_sent(stored, wanted))

    def _placed(self, document: Document) -> Document:
        """In the scenario's namespace, with its nodes' names, and times instead of `NOW-…`."""
        placed: Document = self._timed(copy.deepcopy(document))
        if placed["kind"] not in ("Namespace", "Node", "PriorityClass", "RuntimeClass"):
            placed["metadata"].setdefault("namespace", self.scenario.namespace)
        return placed

    def _node(self, name: str) -> Document:
        full = self._node_name(name)
        capacity = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": full, "labels": {"kubernetes.io/hostname": full, "scenario": self.scenario.name}},
            "spec": {},
            "status": {
                "capacity": capacity,
                "allocatable": capacity,
                "conditions": [{**NODE_READY, **self._heard_now()}],
            },
        }

    def _heard_now(self) -> Document:
        now = timestamps.render(self.side.now())
        return {"lastHeartbeatTime": now, "lastTransitionTime": now}

    def _node_name(self, name: str) -> str:
        return f"{self.scenario.name}-{name}"

    def _name(self, named: Named | Until) -> str:
        if named.kind == "Namespace":
            return self.scenario.namespace
        return self._node_name(named.name) if named.kind == "Node" else named.name

    def _find(self, named: Named | Until) -> Document:
        """The object of this name. A name that ends in `*` is that of the first object that begins so; running ones first."""
        name = self._name(named)
        for found in sorted(self.side.objects(named.kind), key=_running_first):
            own = found["metadata"]["name"]
            if own == name or (name.endswith("*") and own.startswith(name[:-1])):
                return found
        raise LookupError(f"{self.scenario.name}: there is no {named.kind} {name}")

    def _holds(self, wanted: Until) -> bool:
        if wanted.count is not None:
            return len(self.side.objects(wanted.kind)) == wanted.count
        if not wanted.name:
            return any(has(found, wanted.has) for found in self.side.objects(wanted.kind))
        try:
            found = self._find(wanted)
        except LookupError:
            return wanted.gone
        return not wanted.gone and has(found, wanted.has)

    def _seen(self, wanted: Until) -> object:
        return [(found["metadata"]["name"], found.get("status")) for found in self.side.objects(wanted.kind)]

    def _timed(self, value: Any) -> Any:
        """With times in the place of `NOW-SECONDS`."""
        if isinstance(value, dict):
            return {name: self._timed(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._timed(item) for item in value]
        if isinstance(value, str) and (relative := _RELATIVE_TIME.fullmatch(value)):
            return timestamps.render(self.side.now() - int(relative[1]))
        return value


def _running_first(obj: Document) -> tuple[bool, str]:
    return obj.get("status", {}).get("phase") != "Running", obj["metadata"]["name"]
