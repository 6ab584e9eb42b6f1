# SPDX-License-Identifier: Apache-2.0
"""Workloads in a simulation: stand-ins for objects missing in a dump, and notes about created pods.

`Intake` creates stand-ins before it stores the input, and adds the notes to results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.cluster.controllers import (
    LOAD,
    POD_TEMPLATE_HASH,
    REPLICA_FAILURE,
    SCALING_ACTIVE,
    compiled_selector,
    controller_of,
    find_owner,
    is_active,
    list_owned_pods,
)
from steersman.cluster.kubelets import RUN_SECONDS, is_replaced
from steersman.cluster.store import Store, template_labels

MAKERS: Final = (
    api.Deployment,
    api.ReplicaSet,
    api.StatefulSet,
    api.DaemonSet,
    api.Job,
    api.ReplicationController,
)
"""Kinds that stand for pods which a controller makes."""
ASSUMED: Final = "assumed of them: they are ready as soon as they start"
ASSUMED_ENDLESS: Final = "and run until something ends them"


_replace = msgspec.structs.replace


# -- dumps -------------------------------------------------------------------------------------------------------------


def stand_in_replica_sets(objects: Iterable[api.Object]) -> list[api.ReplicaSet]:
    """Return stand-ins for ReplicaSets of Deployments that the input lacks although it has their
    pods, because the controller would otherwise create these pods again.

    The stand-in with the latest pods gets the template of the Deployment, others another template.
    """
    objects = list(objects)
    deployments = [obj for obj in objects if isinstance(obj, api.Deployment) and obj.spec.template]
    if not deployments:
        return []
    present = {obj.metadata.uid for obj in objects if isinstance(obj, api.ReplicaSet)}
    missing: dict[str, list[api.Pod]] = {}
    for pod in objects:
        owner = controller_of(pod) if isinstance(pod, api.Pod) else None
        if isinstance(pod, api.Pod) and owner is not None and owner.kind == "ReplicaSet" and owner.uid not in present:
            missing.setdefault(owner.uid, []).append(pod)
    latest_first = sorted(missing.values(), key=_latest, reverse=True)
    made: list[api.ReplicaSet] = []
    served: set[int] = set()
    for pods in latest_first:
        deployment = next((each for each in deployments if _selects(each, pods[0])), None)
        if deployment is not None:
            made.append(_stand_in(deployment, pods, is_latest=id(deployment) not in served))
            served.add(id(deployment))
    return made


def _latest(pods: list[api.Pod]) -> str:
    return max(pod.metadata.creation_timestamp or "" for pod in pods)


def _selects(deployment: api.Deployment, pod: api.Pod) -> bool:
    namespaces = {obj.metadata.namespace or "default" for obj in (deployment, pod)}
    return len(namespaces) == 1 and compiled_selector(deployment.spec.selector).matches(pod.metadata.labels)


def _stand_in(deployment: api.Deployment, pods: list[api.Pod], *, is_latest: bool) -> api.ReplicaSet:
    owner = controller_of(pods[0])
    assert owner is not None
    digest = pods[0].metadata.labels.get(POD_TEMPLATE_HASH, owner.name.rpartition("-")[2])
    template = deployment.spec.template
    labels = {**template_labels(template), POD_TEMPLATE_HASH: digest}
    metadata = {**(template.get("metadata") or {}), "labels": labels}
    if not is_latest:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), POD_TEMPLATE_HASH: digest}
    selector = deployment.spec.selector or api.LabelSelector()
    reference = api.OwnerReference(
        api_version=deployment.API_VERSION,
        kind=deployment.KIND,
        name=deployment.metadata.name,
        uid=deployment.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
    return api.ReplicaSet(
        metadata=api.ObjectMeta(
            name=owner.name,
            namespace=pods[0].metadata.namespace,
            uid=owner.uid,
            labels=labels,
            owner_references=(reference,),
            creation_timestamp=min(pod.metadata.creation_timestamp or "" for pod in pods) or None,
        ),
        spec=api.ReplicaSetSpec(
            replicas=sum(map(is_active, pods)),
            min_ready_seconds=deployment.spec.min_ready_seconds,
            selector=_replace(selector, match_labels={**selector.match_labels, POD_TEMPLATE_HASH: digest}),
            template={**template, "metadata": metadata},
        ),
    )


# -- notes -------------------------------------------------------------------------------------------------------------


def idle_notes(objects: Iterable[api.Object]) -> Iterator[str]:
    """Yield a note about workloads without pods if controllers do not run."""
    objects = list(objects)
    owners = {ref.uid for obj in objects for ref in obj.metadata.owner_references}
    idle = Counter(
        obj.KIND
        for obj in objects
        if isinstance(obj, MAKERS) and obj.metadata.uid not in owners and getattr(obj.spec, "replicas", None) != 0
    )
    if idle:
        yield f"controllers were not to run: no pods were made for {counted(idle)}"


def workload_notes(store: Store, given: Collection[str], stand_ins: int) -> Iterator[str]:
    """Yield notes about pods that controllers created or could not create; `given` are the uids of
    input pods with an owner."""
    if stand_ins:
        missing = counted(Counter({api.ReplicaSet.KIND: stand_ins}))
        yield f"{missing} not in the input: taken to be those of the Deployments that select their pods"
    yield from _made(store, given)
    unfinished = Counter(obj.KIND for kind in MAKERS for obj in store.objects(kind).values() if _lacks_pods(store, obj))
    if unfinished:
        yield f"no pods were made for {counted(unfinished)} without a pod template, which an API server would refuse"
    yield from _failures(store)
    yield from _endless(store)
    for stateful_set in store.objects(api.StatefulSet).values():
        wanted, there = stateful_set.spec.replicas or 0, stateful_set.status.replicas
        is_selected = compiled_selector(stateful_set.spec.selector).matches(template_labels(stateful_set.spec.template))
        if stateful_set.spec.template and there < wanted and is_selected:
            name = api.key(stateful_set)
            yield f"StatefulSet {name} has {there} of {wanted} pods: the next is made when those before are ready"
    yield from _unused(store)


def _unused(store: Store) -> Iterator[str]:
    """Yield notes about objects without an effect in this simulation, and what they need."""
    schedules = store.objects(api.CronJob).values()
    idle = sum(not known.status.last_schedule_time and not known.spec.suspend for known in schedules)
    if idle:
        yield f"{idle} CronJob made no job yet: the simulation ends before the next run unless --until or run(until=…) is later"
    scalers = store.objects(api.HorizontalPodAutoscaler).values()
    unloaded = sum(_fails_for_metrics(known) for known in scalers)
    if unloaded:
        yield f"{unloaded} HorizontalPodAutoscaler without metrics: the annotation {LOAD} of it or its target gives a load"


def _fails_for_metrics(scaler: api.HorizontalPodAutoscaler) -> bool:
    return any(
        known.type == SCALING_ACTIVE and known.reason.startswith("FailedGet") for known in scaler.status.conditions
    )


def _made(store: Store, given: Collection[str]) -> Iterator[str]:
    pods, endless, roots = 0, 0, dict[str, tuple[str, str]]()
    for pod in store.objects(api.Pod).values():
        owner = controller_of(pod)
        if owner is not None and pod.metadata.uid not in given:
            pods += 1
            endless += RUN_SECONDS not in pod.metadata.annotations
            if owner.uid not in roots:
                roots[owner.uid] = _root(store, pod)
    if pods:
        were = "pod was" if pods == 1 else "pods were"
        kinds = Counter(kind for _, kind in set(roots.values()))
        assumed = f"{ASSUMED}, {ASSUMED_ENDLESS}" if endless else ASSUMED
        yield f"{pods} {were} made for {counted(kinds)}; {assumed}"


def _root(store: Store, obj: api.Object) -> tuple[str, str]:
    """Return uid and kind of the object at the root of the owners."""
    owner = controller_of(obj)
    if owner is None:
        return obj.metadata.uid, obj.KIND
    found = find_owner(store, owner, obj.metadata.namespace)
    return (owner.uid, owner.kind) if found is None else _root(store, found)


def _lacks_pods(store: Store, obj: api.Object) -> bool:
    """Return whether the object needs pods, has none, and has no template."""
    spec = getattr(obj, "spec", None)
    if getattr(spec, "template", None) or getattr(spec, "replicas", None) == 0:
        return False
    return not list_owned_pods(store).owned_by(obj.metadata.uid)


def _endless(store: Store) -> Iterator[str]:
    """Return notes about workloads that create no pods, and workloads whose pods end and are
    replaced without end."""
    for kind in MAKERS:
        for obj in store.objects(kind).values():
            spec = getattr(obj, "spec", None)
            template, selector = getattr(spec, "template", None), getattr(spec, "selector", None)
            if isinstance(selector, dict):
                selector = api.LabelSelector(match_labels=selector)
            if kind is not api.Job and template and not compiled_selector(selector).matches(template_labels(template)):
                yield f"{kind.KIND} {api.key(obj)} creates no pods: `selector` does not match template `labels`"
    pods = store.objects(api.Pod).values()
    ending = {_root(store, pod) for pod in pods if pod.spec.active_deadline_seconds is not None and is_replaced(pod)}
    ending |= {_root(store, pod) for pod in pods if RUN_SECONDS in pod.metadata.annotations and is_replaced(pod)}
    if ending:
        owners = counted(Counter(kind for _, kind in ending))
        yield f"pods of {owners} end and are replaced forever: the simulation continues only with --until or run(until=…)"


def _failures(store: Store) -> Iterator[str]:
    sets, controllers = store.objects(api.ReplicaSet), store.objects(api.ReplicationController)
    owners: list[api.ReplicaSet | api.ReplicationController] = [*sets.values(), *controllers.values()]
    for owner in owners:
        for condition in owner.status.conditions:
            if condition.type == REPLICA_FAILURE:
                wanted, there = owner.spec.replicas or 0, owner.status.replicas
                yield f"{owner.KIND} {api.key(owner)} has {there} of {wanted} pods: {condition.message}"


def counted(kinds: Counter[str]) -> str:
    """Format counts of kinds: `2 Deployments, 1 Job`."""
    return ", ".join(f"{count} {kind if count == 1 else _plural(kind)}" for kind, count in sorted(kinds.items()))


def _plural(kind: str) -> str:
    """Return the plural: `Ingresses`, `NetworkPolicies`, `Endpoints`, `Deployments`."""
    if kind.endswith(("ss", "x", "ch")):
        return f"{kind}es"
    if kind.endswith("y") and kind[-2:-1] not in "aeiou":
        return f"{kind[:-1]}ies"
    return kind if kind.endswith("s") else f"{kind}s"
