# SPDX-License-Identifier: Apache-2.0
"""Edits of a fork that no API server would allow, as if the objects had come so: what a trial begins with."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman import api
from steersman.embedded.admission.pods import PodAdmission
from steersman.fixes.fix import ObjectName
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.sim import Simulation

_replace: Final = msgspec.structs.replace


def reference(name: ObjectName) -> str:
    """The name of an object as `Simulation.patch` and `Simulation.delete` take it."""
    return f"{name.kind}/{name.namespace}/{name.name}" if name.namespace else f"{name.kind}/{name.name}"


def replace_pod(trial: Simulation, given: api.Pod) -> None:
    """Gives a pod another spec, as if it had come with it: the place of one that waits in the queue stays."""
    store = trial.cluster
    key = f"{given.metadata.namespace or 'default'}/{given.metadata.name}"
    old = store.get(api.Pod, key)
    if (given.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) != old.spec.scheduler_name:
        store.delete(
            api.Pod, key
        )  # a scheduler does not hear of pods that become its own, as no API server allows that
        store.create(given)
        return
    if given.spec.node_name != old.spec.node_name:
        store.delete(api.Pod, key)
        store.create(_replace(given, metadata=_replace(given.metadata, uid=old.metadata.uid)))
        return
    admitted = PodAdmission().admit(_replace(old, spec=given.spec, status=given.status), None, store)
    store.rewrite(old, admitted)


def make_again(trial: Simulation, pod: str) -> None:
    """Creates the pod anew, so that its claims are made from templates as they are now."""
    store = trial.cluster
    old = store.get(api.Pod, pod)
    store.delete(api.Pod, pod)
    metadata = _replace(old.metadata, uid="", resource_version="")
    store.create(_replace(old, metadata=metadata, status=api.PodStatus()))
