# SPDX-License-Identifier: Apache-2.0
"""The pods that are asked about: found by name, or all that wait, replicas that wait for the same reason together."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.controllers.controller import controller_of
from steersman.embedded.pods import POD_SCHEDULED
from steersman.errors import InputError
from steersman.fixes import suspended_job
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim import Simulation
from steersman.sim.placements import REASON_GATED
from steersman.sim.pod_probe import template_of

_replace = msgspec.structs.replace


class PodGroup(NamedTuple):
    """A pod, and others of its controller that are like it."""

    pod: api.Pod
    others: tuple[str, ...] = ()


def find_pod(simulation: Simulation, key: str) -> api.Pod:
    """The pod `namespace/name`. Raises `InputError` with similar names, and for one that has ended."""
    pod = simulation.cluster.find(api.Pod, key)
    if pod is None and simulation.given(api.Pod, key) is not None:
        raise InputError(f"pod {key} was there and has gone by now", hint="--until 0s looks at the beginning")
    if pod is None:
        raise _not_there(simulation.cluster.objects(api.Pod).values(), *key.split("/", 1))
    if pod.status.phase in FINISHED_PHASES:
        raise InputError(f"pod {key} has ended ({pod.status.phase}): there is nothing to schedule")
    return pod


def given_pod(simulation: Simulation, key: str) -> api.Pod | None:
    """The pod `namespace/name` as it was given to the simulation; None if it was not."""
    given = simulation.given(api.Pod, key)
    if given is None or not isinstance(given.object, api.Pod):
        return None
    namespace = key.partition("/")[0]
    return _replace(given.object, metadata=_replace(given.object.metadata, namespace=namespace))


def pod_of_suspended_job(simulation: Simulation, key: str) -> api.Pod | None:
    """The pod `namespace/name`, if it was given and is gone because its Job is suspended; None otherwise."""
    pod = given_pod(simulation, key)
    if pod is None or simulation.cluster.find(api.Pod, key) is not None:
        return None
    return pod if suspended_job(simulation, pod) is not None else None


def pending_groups(simulation: Simulation, namespace: str = "") -> list[PodGroup]:
    """All pods that wait for a node, of one namespace or of all; in the order in which they came."""
    groups: dict[object, list[api.Pod]] = {}
    for key, pod in simulation.cluster.objects(api.Pod).items():
        if is_waiting(pod) and namespace in ("", pod.metadata.namespace):
            groups.setdefault(_alike(simulation, pod) or key, []).append(pod)
    return [PodGroup(first, tuple(map(api.key, others))) for first, *others in groups.values()]


def is_waiting(pod: api.Pod) -> bool:
    """Whether a scheduler is to find a node for it."""
    ended = pod.status.phase in FINISHED_PHASES or pod.metadata.deletion_timestamp is not None
    return not pod.spec.node_name and not ended


def was_tried(pod: api.Pod) -> bool:
    """Whether a scheduler has told of an attempt at the pod. Of gates the API server tells by itself."""
    return any(each.type == POD_SCHEDULED and each.reason != REASON_GATED for each in pod.status.conditions)


def controller_name(pod: api.Pod) -> str:
    """`ReplicaSet web-7d9f`; "" for a pod without."""
    owner = controller_of(pod)
    return "" if owner is None else f"{owner.kind} {owner.name}"


def _alike(simulation: Simulation, pod: api.Pod) -> object | None:
    """Equal for pods of one controller that wait for the same reason; None for a pod that is like no other."""
    template = template_of(simulation, pod)
    if controller_of(pod) is None or template is None:
        return None
    return template, pod.status.nominated_node_name


def _not_there(pods: Iterable[api.Pod], namespace: str, name: str) -> InputError:
    known = list(pods)
    elsewhere = sorted(pod.metadata.namespace for pod in known if pod.metadata.name == name)
    here = [pod.metadata.name for pod in known if pod.metadata.namespace == namespace]
    missing = f"there is no pod {name} in namespace {namespace}"
    if elsewhere:
        return InputError(f"{missing}, but there is one in {', '.join(elsewhere)}: use -n {elsewhere[0]}")
    similar = get_close_matches(name, here, n=3)
    if similar:
        return InputError(f"{missing}; similar names there: {', '.join(similar)}")
    if not here:
        used = sorted({pod.metadata.namespace for pod in known})
        return InputError(f"{missing}, nor any other; namespaces with pods: {', '.join(used) or 'none'}")
    return InputError(f"{missing}; it has {len(here)} other pods")
