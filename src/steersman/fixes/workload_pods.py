# SPDX-License-Identifier: Apache-2.0
"""The pods of the workload that has made a pending pod, in any trial: by the object at the root of their owners.

`Verifier` asks. Pods are many and controllers few, so that the root is looked for once for each controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from steersman import api
from steersman.controllers.controller import controller_of
from steersman.fixes.fix import ObjectName
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim import Simulation

Membership = Callable[[api.OwnerReference | None], bool]
"""Whether pods with this controller are the workload's."""


class WorkloadPods:
    """Finds the pods of a workload; of None, which is nobody's, there are none."""

    def __init__(self, workload: ObjectName | None, namespace: str) -> None:
        self._workload = workload
        self._namespace = namespace

    def membership(self, trial: Simulation) -> Membership:
        """Tells in one trial which pods are the workload's."""
        known: dict[str, bool] = {}

        def is_mine(owner: api.OwnerReference | None) -> bool:
            if owner is None:
                return False
            if owner.uid not in known:
                known[owner.uid] = _root_of(trial, owner, self._namespace) == self._workload
            return known[owner.uid]

        return is_mine

    def has(self, trial: Simulation, pod: api.Pod) -> bool:
        """Whether the pod is the workload's, and has not finished."""
        return pod.status.phase not in FINISHED_PHASES and self.membership(trial)(controller_of(pod))

    def nodes(self, trial: Simulation) -> Counter[str]:
        """How many pods the workload has on each node; "" are those without one."""
        is_mine = self.membership(trial)
        pods = trial.cluster.objects(api.Pod).values()
        return Counter(
            pod.spec.node_name
            for pod in pods
            if pod.status.phase not in FINISHED_PHASES and is_mine(controller_of(pod))
        )


def workload_of(simulation: Simulation, obj: api.Object) -> ObjectName | None:
    """The object that has this one made, through however many others, if it is in the cluster."""
    owner = controller_of(obj)
    return None if owner is None else _root_of(simulation, owner, obj.metadata.namespace)


def _root_of(simulation: Simulation, owner: api.OwnerReference, namespace: str) -> ObjectName | None:
    """The controller that a reference names, or the one at the root of its owners; None: it is not in the cluster."""
    kind: Any = api.KINDS.get(owner.kind)
    found: api.Object | None = None if kind is None else simulation.cluster.find(kind, f"{namespace}/{owner.name}")
    if found is None or found.metadata.uid != owner.uid:
        return None
    return workload_of(simulation, found) or ObjectName(found.KIND, found.metadata.namespace, found.metadata.name)
