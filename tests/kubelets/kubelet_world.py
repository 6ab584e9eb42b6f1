# SPDX-License-Identifier: Apache-2.0
"""A store with kubelets, whose time passes when told to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.embedded.stores import START, raw
from tests.embedded.timers import FakeTimers

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.kubelets import DEFAULT_POLICY, KubeletPolicy, Kubelets
from steersman.cluster.store import KubeAdmission, Pods, Store
from steersman.testing import Builder, PodBuilder, make_node


class KubeletWorld:
    """A cluster with a node `n1`, of documents unless told otherwise; `events` has what kubelets reported."""

    def __init__(
        self,
        *objects: Builder[Any],
        policy: KubeletPolicy = DEFAULT_POLICY,
        keeps_documents: bool = True,
        survives_bad_pods: bool = False,
        nodes: Iterable[Builder[Any]] | None = None,
    ) -> None:
        self.store = Store(ManualClock(START), admission=KubeAdmission(), keeps_documents=keeps_documents)
        self.timers = FakeTimers(self.store)
        for builder in (
            *([make_node("n1").capacity(cpu="8", memory="32Gi", pods="110")] if nodes is None else nodes),
            *objects,
        ):
            self.store.create(raw(builder))
        self.events: list[tuple[str, str]] = []
        self.kubelets = Kubelets(
            self.store, self.timers, policy, record=self._record, survives_bad_pods=survives_bad_pods
        )

    def _record(self, obj: api.Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        self.events.append((reason, message))

    def run(self, pod: PodBuilder, node: str = "n1") -> api.Pod:
        """Creates the pod, binds it, and gives it back as it is then."""
        created = self.store.create(raw(pod))
        Pods(self.store).bind(created.metadata.namespace, created.metadata.name, "", node)
        return self.pod(created.metadata.name)

    def pass_time(self, until: float) -> None:
        self.timers.run_until(until)

    def pod(self, name: str = "web") -> api.Pod:
        return self.store.get(api.Pod, f"default/{name}")

    def exists(self, name: str = "web") -> bool:
        return self.store.find(api.Pod, f"default/{name}") is not None

    def node(self, name: str = "n1") -> api.Node:
        return self.store.get(api.Node, name)

    def status(self, name: str = "web") -> dict[str, Any]:
        """As clients read it."""
        status: dict[str, Any] = self.store.document(api.Pod, f"default/{name}")["status"]
        return status

    def container(self, index: int = 0, name: str = "web") -> dict[str, Any]:
        container: dict[str, Any] = self.status(name)["containerStatuses"][index]
        return container

    def conditions(self, name: str = "web") -> dict[str, str]:
        return {condition.type: condition.status for condition in self.pod(name).status.conditions}

    def condition(self, kind: str, name: str = "web") -> api.Condition:
        return next(condition for condition in self.pod(name).status.conditions if condition.type == kind)

    def shown(self, name: str = "web") -> str:
        """STATUS and RESTARTS as `kubectl get pods` shows them, for pods without init containers."""
        pod, status = self.pod(name), self.status(name)
        reason = status.get("reason") or status["phase"]
        for container in status.get("containerStatuses", ()):
            for state in ("waiting", "terminated"):
                reason = container["state"].get(state, {}).get("reason") or reason
        if pod.metadata.deletion_timestamp is not None and status["phase"] not in ("Succeeded", "Failed"):
            reason = "Terminating"
        ready = sum(container["ready"] for container in status.get("containerStatuses", ()))
        restarts = sum(container["restartCount"] for container in status.get("containerStatuses", ()))
        return f"{ready}/{len(pod.spec.containers)} {reason} {restarts}"
