# SPDX-License-Identifier: Apache-2.0
"""Finds the pods that an answer is about: one by name, or all waiting pods, with equal replicas
grouped."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.cluster.controllers import controller_of
from steersman.explain.fixes import suspended_job
from steersman.simulation import REASON_GATED, Simulation, template_of

_replace = msgspec.structs.replace


class PodGroup(NamedTuple):
    """A pod, and equal pods of the same controller."""

    pod: api.Pod
    others: tuple[str, ...] = ()


def find_pod(simulation: Simulation, key: str) -> api.Pod:
    """Return the pod `namespace/name`. Raises `InputError` if it does not exist, with similar
    names, or has finished."""
    pod = simulation.cluster.find(api.Pod, key)
    if pod is None and simulation.internals.journal.given(api.Pod, key) is not None:
        raise InputError(
            f"pod {key} no longer exists at the end of the simulation", hint="--until 0s explains its beginning"
        )
    if pod is None:
        raise _not_there(simulation.cluster.objects(api.Pod).values(), *key.split("/", 1))
    if pod.status.phase in api.FINISHED_PHASES:
        raise InputError(f"pod {key} has finished ({pod.status.phase}): there is nothing to schedule")
    return pod


def given_pod(simulation: Simulation, key: str) -> api.Pod | None:
    """Return the pod `namespace/name` of the simulation's input; None if there is none."""
    given = simulation.internals.journal.given(api.Pod, key)
    if given is None or not isinstance(given.object, api.Pod):
        return None
    namespace = key.partition("/")[0]
    return _replace(given.object, metadata=_replace(given.object.metadata, namespace=namespace))


def pod_of_suspended_job(simulation: Simulation, key: str) -> api.Pod | None:
    """Return the pod `namespace/name` of the input if it was deleted because its Job is suspended;
    None otherwise."""
    pod = given_pod(simulation, key)
    if pod is None or simulation.cluster.find(api.Pod, key) is not None:
        return None
    return pod if suspended_job(simulation, pod) is not None else None


def pending_groups(simulation: Simulation, namespace: str = "") -> list[PodGroup]:
    """Return all pods that wait for a node, in one namespace or in all, oldest first, equal ones
    grouped."""
    groups: dict[object, list[api.Pod]] = {}
    for key, pod in simulation.cluster.objects(api.Pod).items():
        if is_waiting(pod) and namespace in ("", pod.metadata.namespace):
            groups.setdefault(_group_key(simulation, pod) or key, []).append(pod)
    return [PodGroup(first, tuple(map(api.key, others))) for first, *others in groups.values()]


def is_waiting(pod: api.Pod) -> bool:
    """Return whether the pod waits for a node."""
    ended = pod.status.phase in api.FINISHED_PHASES or pod.metadata.deletion_timestamp is not None
    return not pod.spec.node_name and not ended


def was_tried(pod: api.Pod) -> bool:
    """Return whether a scheduler has reported an attempt; the condition about gates is set by the
    API server."""
    return any(each.type == api.POD_SCHEDULED and each.reason != REASON_GATED for each in pod.status.conditions)


def controller_name(pod: api.Pod) -> str:
    """Return `ReplicaSet web-7d9f`; "" for a pod without a controller."""
    owner = controller_of(pod)
    return "" if owner is None else f"{owner.kind} {owner.name}"


def _group_key(simulation: Simulation, pod: api.Pod) -> object | None:
    """Return a key that equal pods of one controller share; None for a pod that is equal to no
    other."""
    template, owner = template_of(simulation, pod), controller_of(pod)
    if template is None:
        return None
    return template, pod.metadata.namespace, owner and owner.uid, pod.status.nominated_node_name, was_tried(pod)


def _not_there(pods: Iterable[api.Pod], namespace: str, name: str) -> InputError:
    known = list(pods)
    elsewhere = sorted(pod.metadata.namespace for pod in known if pod.metadata.name == name)
    here = [pod.metadata.name for pod in known if pod.metadata.namespace == namespace]
    missing = f"there is no pod {name} in namespace {namespace}"
    if elsewhere:
        return InputError(f"{missing}, but in {', '.join(elsewhere)}: use -n {elsewhere[0]}")
    similar = get_close_matches(name, here, n=3)
    if similar:
        return InputError(f"{missing}; similar names there: {', '.join(similar)}")
    if not here:
        used = sorted({pod.metadata.namespace for pod in known})
        return InputError(f"{missing}, which has no pods; namespaces with pods: {', '.join(used) or 'none'}")
    return InputError(f"{missing}; it has {len(here)} other pods")
