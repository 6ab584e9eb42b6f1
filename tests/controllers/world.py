# SPDX-License-Identifier: Apache-2.0
"""A cluster for tests of controllers: store, kubelets, time that is moved by hand, and a scheduler that takes any node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import msgspec
from tests.embedded.stores import START
from tests.embedded.timers import FakeTimers

from steersman import api
from steersman.api import codec
from steersman.base.clock import ManualClock
from steersman.cluster.controllers import Cluster, start
from steersman.cluster.kubelets import KubeletPolicy, Kubelets, PodSettings
from steersman.cluster.store import KubeAdmission, Pods, Store
from steersman.testing import make_node

T = TypeVar("T", bound=api.Object)

_MOST_ROUNDS = 10_000


class Told(NamedTuple):
    """An event: about whom, and what."""

    about: str
    reason: str
    message: str
    is_warning: bool


class World:
    """Controllers at work. Nothing happens but in `settle` and `pass_time`."""

    def __init__(
        self,
        *controllers: str,
        nodes: Iterable[str] = ("n1", "n2", "n3"),
        keeps_documents: bool = False,
        start_seconds: float = 0.0,
        check_pod: Callable[[api.Pod], object] | None = None,
    ) -> None:
        self.store = Store(ManualClock(START), admission=KubeAdmission(check_pod), keeps_documents=keeps_documents)
        self.timers = FakeTimers(self.store)
        self.events: list[Told] = []
        self.now = 0.0
        #: Whether pods get a node.
        self.schedules = True
        self._pods = Pods(self.store)
        self._bound = 0
        for name in nodes:
            self.store.create(make_node(name).obj())
        Kubelets(self.store, self.timers, KubeletPolicy(pods=PodSettings(start_seconds=start_seconds)))
        self.controllers = start(Cluster(self.store, self.timers, self._record), controllers or None)

    def create(self, document: dict[str, Any]) -> api.Object:
        """Stores what a manifest says."""
        return self.store.create(codec.convert_object(document), document if self.store.keeps_documents else None)

    def settle(self) -> None:
        """Lets everybody do at this moment what there is to do."""
        for _ in range(_MOST_ROUNDS):
            before = self.store.resource_version
            self.timers.run_until(self.now)
            if self.schedules:
                self._schedule()
            if self.store.resource_version == before:
                return
        raise AssertionError("the controllers do not come to rest")

    def pass_time(self, seconds: float, step: float = 1.0) -> None:
        """Lets so much time pass, in steps."""
        end = self.now + seconds
        self.settle()
        while self.now < end:
            self.now = min(end, self.now + step)
            self.settle()

    def get(self, kind: type[T], name: str) -> T:
        return self.store.get(kind, f"default/{name}")

    def all(self, kind: type[T]) -> list[T]:
        return list(self.store.objects(kind).values())

    def pods(self, **labels: str) -> list[api.Pod]:
        return [pod for pod in self.all(api.Pod) if labels.items() <= pod.metadata.labels.items()]

    def names(self, kind: type[api.Object] = api.Pod) -> list[str]:
        return [obj.metadata.name for obj in self.all(kind)]

    def change_spec(self, obj: T, **fields: Any) -> T:
        """Writes other values into the spec, as of the latest version."""
        current: Any = self.store.get(type(obj), api.key(obj))
        changed: T = self.store.update(_replace(current, spec=_replace(current.spec, **fields)))
        return changed

    def change_status(self, pod: api.Pod, **fields: Any) -> api.Pod:
        current = self.store.get(api.Pod, api.key(pod))
        return self.store.update_status(_replace(current, status=_replace(current.status, **fields)))

    def change_labels(self, pod: api.Pod, labels: dict[str, str]) -> api.Pod:
        current = self.store.get(api.Pod, api.key(pod))
        return self.store.update(_replace(current, metadata=_replace(current.metadata, labels=labels)))

    def set_image(self, obj: T, image: str) -> T:
        """Another template."""
        template = self.store.get(type(obj), api.key(obj)).spec.template  # type: ignore[attr-defined]
        container = {**template["spec"]["containers"][0], "image": image}
        return self.change_spec(obj, template={**template, "spec": {**template["spec"], "containers": [container]}})

    def reasons(self, about: str) -> list[str]:
        return [event.reason for event in self.events if event.about == about]

    def messages(self, reason: str) -> list[str]:
        return [event.message for event in self.events if event.reason == reason]

    def _record(self, obj: api.Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        self.events.append(Told(f"{obj.KIND}/{obj.metadata.name}", reason, message, is_warning))

    def _schedule(self) -> None:
        nodes = list(self.store.objects(api.Node))
        for pod in self.all(api.Pod):
            if nodes and not pod.spec.node_name and pod.metadata.deletion_timestamp is None:
                self._pods.bind(pod.metadata.namespace, pod.metadata.name, "", _wanted_node(pod) or self._next(nodes))

    def _next(self, nodes: list[str]) -> str:
        self._bound += 1
        return nodes[self._bound % len(nodes)]


def _wanted_node(pod: api.Pod) -> str:
    """The node that the affinity of a daemon's pod names."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return ""
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    fields = required.node_selector_terms[0].match_fields if required is not None else ()
    return fields[0].values[0] if fields else ""


def template(app: str = "web", image: str = "nginx:1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def workload(
    kind: str, name: str = "web", app: str = "web", api_version: str = "apps/v1", **spec: Any
) -> dict[str, Any]:
    """The manifest of something with a selector and a template."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, "template": template(app), **spec},
    }


def with_ready(status: api.PodStatus, ready: bool) -> tuple[api.Condition, ...]:
    """The conditions of a pod, with another answer to whether it is ready."""
    return tuple(
        _replace(condition, status="True" if ready else "False") if condition.type == "Ready" else condition
        for condition in status.conditions
    )


_replace = msgspec.structs.replace
