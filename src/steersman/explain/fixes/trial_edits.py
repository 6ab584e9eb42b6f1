# SPDX-License-Identifier: Apache-2.0
"""Edits of a fork that no API server allows, as if the objects had been created like that."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman import api
from steersman.cluster.store import PodAdmission
from steersman.explain.fixes.fix import ObjectName
from steersman.simulation import Simulation

_replace: Final = msgspec.structs.replace


def reference(name: ObjectName) -> str:
    """Return the name of an object for `Simulation.patch` and `Simulation.delete`."""
    return f"{name.kind}/{name.namespace}/{name.name}" if name.namespace else f"{name.kind}/{name.name}"


def replace_pod(trial: Simulation, given: api.Pod) -> None:
    """Replace the spec of a pod as if it had been created with it; a waiting pod keeps its queue
    position."""
    store = trial.cluster
    key = f"{given.metadata.namespace or 'default'}/{given.metadata.name}"
    old = store.get(api.Pod, key)
    if given.scheduler_name != old.spec.scheduler_name:
        store.delete(api.Pod, key)  # the scheduler gets no event when a pod becomes its own, which no API server allows
        store.create(given)
        return
    if given.spec.node_name != old.spec.node_name:
        store.delete(api.Pod, key)
        store.create(_replace(given, metadata=_replace(given.metadata, uid=old.metadata.uid)))
        return
    admitted = PodAdmission().admit(_replace(old, spec=given.spec, status=given.status), None, store)
    store.rewrite(old, admitted)


def recreate_pod(trial: Simulation, pod: str) -> None:
    """Recreate the pod, so that its claims are created from the current templates."""
    store = trial.cluster
    old = store.get(api.Pod, pod)
    store.delete(api.Pod, pod)
    metadata = _replace(old.metadata, uid="", resource_version="")
    store.create(_replace(old, metadata=metadata, status=api.PodStatus()))
