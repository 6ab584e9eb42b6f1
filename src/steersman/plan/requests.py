# SPDX-License-Identifier: Apache-2.0
"""`plan requests`: what changes if pods asked for what they use.

The containers of pods and of workloads' templates get their usage, with some headroom, as requests, and the whole simulation
runs with those. A pod without usage takes the greatest of its siblings, pods of the same workload; one without siblings keeps
its requests, and is named. Limits below the new requests are raised to them, as an API server would insist on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, Final, TypeAlias

import msgspec

from steersman import api
from steersman.api.field_check import Validation
from steersman.controllers.controller import controller_of
from steersman.explain.amounts import amount
from steersman.framework.pod_resources import pod_requests
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.plan.answer import OnEnd, Part, PlanAnswer
from steersman.plan.comparison import unplaced
from steersman.plan.inputs import ReadObject, read_objects
from steersman.plan.measures import Fractions, Measures, fractions, heat_maps, measure
from steersman.plan.usage import ContainerName, Usage
from steersman.report import Cell, Figures, Section, Table
from steersman.sim import Result, Simulation
from steersman.sim.sources import Source

RESOURCES: Final = ("cpu", "memory")
WORKLOADS: Final = (api.Deployment, api.ReplicaSet, api.StatefulSet, api.DaemonSet, api.Job, api.ReplicationController)
ROLLED: Final = (api.StatefulSet, api.DaemonSet)
"""Another template of these is another revision, to which their controllers would roll the pods that there are."""
Owner: TypeAlias = tuple[str, str, str]
"""Namespace, kind and name."""

_replace = msgspec.structs.replace


class Changed(Part, frozen=True):
    """The requests of a workload's pods, all of them together; cpu in millicores, memory in bytes."""

    workload: str
    pods: int
    cpu_before: int
    cpu_after: int
    memory_before: int
    memory_after: int


class Requests(PlanAnswer, frozen=True, kw_only=True):
    """The cluster as it is beside one whose pods ask for what they use."""

    KIND: ClassVar[str] = "Requests"

    #: No pod is pending that was not before, and no node has less than its pods ask for.
    fits: bool
    workloads: tuple[Changed, ...]
    #: Pod that was pending → the node that it gets.
    placed: dict[str, str]
    #: Pod that is pending and was not before → what the scheduler says.
    pending: dict[str, str]
    #: Node that has less than its pods ask for → of which resources.
    overcommitted: dict[str, list[str]]
    #: The two clusters in numbers.
    now: Measures
    then: Measures
    #: Pods of which the file says nothing; they keep their requests.
    missing: tuple[str, ...]
    #: Rows of the file that no pod and no workload of the cluster stands for.
    unknown: tuple[str, ...]
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        return self.fits

    def question(self) -> str:
        return "What changes if pods asked for what they use?"

    def sentence(self) -> str:
        parts = [
            f"{name} requests go from {amount(name, before)} to {amount(name, after)} ({_percent(before, after)})"
            for name, before, after in self._totals()
        ]
        parts.append(f"{self.now.nodes_used} nodes in use become {self.then.nodes_used}")
        parts += [f"{len(self.placed)} pending pods fit"] if self.placed else []
        parts += [f"{len(self.pending)} pods are pending"] if self.pending else []
        parts += [f"{len(self.overcommitted)} nodes have too little"] if self.overcommitted else []
        return "; ".join(parts)

    def _totals(self) -> Iterable[tuple[str, int, int]]:
        for name in RESOURCES:
            sums = [sum(getattr(one, f"{name}_{when}") for one in self.workloads) for when in ("before", "after")]
            yield name, sums[0], sums[1]

    def rows(self) -> list[dict[str, Any]]:
        """A row per workload."""
        return [msgspec.to_builtins(one) for one in self.workloads]

    def sections(self) -> list[Section]:
        figures: dict[str, Cell] = {
            f"{name} requests": _percent(before, after) for name, before, after in self._totals()
        }
        figures["nodes in use"] = f"{self.now.nodes_used} → {self.then.nodes_used}"
        largest_first = sorted(self.workloads, key=lambda one: -abs(one.cpu_before - one.cpu_after))
        rows = [(one.workload, one.pods, *_shown(one)) for one in largest_first]
        nodes = [(node, ", ".join(names)) for node, names in self.overcommitted.items()]
        return [
            Figures("At a glance", figures),
            Table("Workloads", ["workload", "pods", "cpu", "memory"], rows),
            Table("Placed", ["pending pod", "goes to"], list(self.placed.items())),
            Table("Pending", ["pending", "why"], list(self.pending.items())),
            Table("Overcommitted", ["node with too little", "of"], nodes),
            Table("Missing", ["no usage of"], [(pod,) for pod in self.missing]),
            Table("Unknown", ["not in the cluster"], [(row,) for row in self.unknown]),
            *heat_maps(self.before, self.after),
        ]


def requests(
    sources: Iterable[Source],
    usage: Usage,
    *,
    load: Callable[[Sequence[ReadObject]], Simulation] = Simulation.load,
    headroom: float = 0.0,
    reschedule: bool = False,
    stdin: BinaryIO | None = None,
    validate: Validation = "warn",
    on_end: OnEnd | None = None,
) -> Requests:
    """The changes if the pods of the cluster asked for what they use, and `headroom` percent more.

    `load` makes a simulation of objects, with the configuration that is wanted. Pods that are on nodes stay there, unless
    `reschedule` has all pods placed anew, in both clusters. `on_end` gets the second one at its end.
    """
    with load([]) as empty:
        objects, notes = read_objects(sources, empty.known_kinds, stdin, validate)
    changes = _Changes(objects, usage, 1 + headroom / 100)
    changed = [changes.applied(obj) for obj in objects]
    if reschedule:
        objects, changed = [unplaced(obj) for obj in objects], [unplaced(obj) for obj in changed]
    with load(objects) as simulation:
        before = simulation.run()
        now, totals_before = measure(simulation, before), _totals(simulation)
    with load(changed) as simulation:
        after = simulation.run()
        if on_end is not None:
            on_end(simulation)
        then, totals_after = measure(simulation, after), _totals(simulation)
    pending = {pod: place.message for pod, place in after.pending.items() if pod not in before.pending}
    overcommitted = _overcommitted(after)
    return Requests(
        fits=not pending and not overcommitted,
        workloads=tuple(_changed(totals_before, totals_after)),
        placed={
            pod: after.placements[pod].node
            for pod in before.pending
            if pod in after.placements and pod not in after.pending
        },
        pending=pending,
        overcommitted=overcommitted,
        now=now,
        then=then,
        missing=tuple(changes.missing),
        unknown=tuple(changes.unknown()),
        before=fractions(before),
        after=fractions(after),
        notes=(*notes, *after.notes),
    )


# -- applying usage ----------------------------------------------------------------------------------------------------


class _Changes:
    """Finds the usage of pods and templates, and writes it into them."""

    def __init__(self, objects: Iterable[ReadObject], usage: Usage, factor: float) -> None:
        self._usage = usage
        self._factor = factor
        self._used: set[ContainerName] = set()
        self.missing: list[str] = []
        objects = list(objects)
        #: Workloads by uid, for the way from a pod to the Deployment of its ReplicaSet.
        self._workloads = {obj.metadata.uid: obj for obj in objects if isinstance(obj, WORKLOADS)}
        #: Of every workload: container → resource → the greatest usage of its pods.
        self._of_siblings: dict[Owner, dict[str, dict[str, float]]] = {}
        for pod in objects:
            if isinstance(pod, api.Pod) and pod.status.phase not in FINISHED_PHASES:
                self._note_sibling(pod)

    def unknown(self) -> Iterable[str]:
        return (str(container) for container in self._usage if container not in self._used)

    def applied(self, obj: ReadObject) -> ReadObject:
        if isinstance(obj, api.Pod):
            return obj if obj.status.phase in FINISHED_PHASES else self._applied_to_pod(obj)
        if isinstance(obj, WORKLOADS) and obj.spec.template:
            owner, names = self._root(obj), _container_names(obj.spec.template)
            found, has_pods = self._of_workload(owner, names), owner in self._of_siblings
            if not found and not has_pods and owner[1:] == (obj.KIND, obj.metadata.name):
                self.missing.append(f"{owner[0]}/{obj.KIND} {obj.metadata.name}")
            if isinstance(obj, ROLLED) and has_pods:
                return obj
            template = _with_usage(obj.spec.template, found, self._factor)
            return _replace(obj, spec=_replace(obj.spec, template=template))
        return obj

    def _applied_to_pod(self, pod: api.Pod) -> api.Pod:
        names = [container.name for container in pod.spec.containers]
        found = self._of_pod(pod, names)
        owner = self._owner(pod)
        if owner is not None:
            shared = self._of_workload(owner, names)
            found = {name: found.get(name) or shared.get(name, {}) for name in names}
        if not any(found.values()):
            self.missing.append(api.key(pod))
            return pod
        containers = tuple(_raised(one, found.get(one.name, {}), self._factor) for one in pod.spec.containers)
        return _replace(
            pod, spec=_without_pod_level(_replace(pod.spec, containers=containers)), status=_without_resize(pod.status)
        )

    def _note_sibling(self, pod: api.Pod) -> None:
        owner = self._owner(pod)
        if owner is None:
            return
        greatest = self._of_siblings.setdefault(owner, {})
        for name, amounts in self._of_pod(pod, [container.name for container in pod.spec.containers]).items():
            known = greatest.setdefault(name, {})
            for resource, used in amounts.items():
                known[resource] = max(used, known.get(resource, 0.0))

    def _of_pod(self, pod: api.Pod, names: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """By container, what the file says about this very pod."""
        namespace = pod.metadata.namespace or "default"
        return self._looked_up(names, lambda name: ContainerName(namespace, pod.metadata.name, "", "", name))

    def _of_workload(self, owner: Owner, names: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """By container, what the file says about the workload, else the greatest usage of its pods."""
        namespace, kind, workload = owner
        told = self._looked_up(names, lambda name: ContainerName(namespace, "", kind, workload, name))
        told = told or self._looked_up(names, lambda name: ContainerName(namespace, "", "", workload, name))
        return told or dict(self._of_siblings.get(owner, {}))

    def _looked_up(self, names: Sequence[str], row: Callable[[str], ContainerName]) -> dict[str, Mapping[str, float]]:
        found: dict[str, Mapping[str, float]] = {}
        for name in names:
            rows = [row(name), row("")] if len(names) == 1 else [row(name)]
            for wanted in rows:
                if wanted in self._usage:
                    found[name] = self._usage[wanted]
                    self._used.add(wanted)
        return found

    def _owner(self, pod: api.Pod) -> Owner | None:
        """The workload that the pod is of, through its ReplicaSet where that is known."""
        reference = controller_of(pod)
        if reference is None:
            return None
        known = self._workloads.get(reference.uid)
        return (
            (pod.metadata.namespace or "default", reference.kind, reference.name)
            if known is None
            else self._root(known)
        )

    def _root(self, workload: api.Object) -> Owner:
        reference = controller_of(workload)
        above = None if reference is None else self._workloads.get(reference.uid)
        if above is not None:
            return self._root(above)
        if reference is not None:
            return workload.metadata.namespace or "default", reference.kind, reference.name
        return workload.metadata.namespace or "default", workload.KIND, workload.metadata.name


def _raised(container: api.Container, used: Mapping[str, float], factor: float) -> api.Container:
    """The container with its usage as requests, and no limit below them."""
    if not used:
        return container
    wanted = {name: _quantity(name, value * factor) for name, value in used.items()}
    resources = container.resources
    limits = {name: _larger(limit, wanted.get(name)) for name, limit in resources.limits.items()}
    changed = _replace(resources, requests={**resources.requests, **wanted}, limits=limits)
    return _replace(container, resources=changed)


def _with_usage(template: Mapping[str, Any], found: Mapping[str, Mapping[str, float]], factor: float) -> dict[str, Any]:
    spec = template.get("spec") or {}
    containers = []
    for document in spec.get("containers") or ():
        used = found.get(document.get("name", ""), {})
        wanted = {name: _quantity(name, value * factor) for name, value in used.items()}
        resources = document.get("resources") or {}
        limits = {name: _larger(limit, wanted.get(name)) for name, limit in (resources.get("limits") or {}).items()}
        changed = {**resources, "requests": {**(resources.get("requests") or {}), **wanted}}
        containers.append({**document, "resources": {**changed, "limits": limits} if limits else changed})
    return {**template, "spec": {**spec, "containers": containers}}


def _container_names(template: Mapping[str, Any]) -> list[str]:
    return [str(one.get("name", "")) for one in (template.get("spec") or {}).get("containers") or ()]


def _quantity(resource: str, value: float) -> str:
    """Rounded up: cpu to millicores, memory to bytes. A container that used nothing asks for a millicore or a byte."""
    return f"{max(1, math.ceil(round(value * 1000, 6)))}m" if resource == "cpu" else str(max(1, math.ceil(value)))


def _larger(limit: api.Quantity, wanted: str | None) -> api.Quantity:
    if wanted is None:
        return limit
    return wanted if api.quantity.compare(api.quantity.parse(wanted), api.quantity.parse(limit)) > 0 else limit


def _without_pod_level(spec: api.PodSpec) -> api.PodSpec:
    """Requests of the pod as a whole would take the place of those of its containers."""
    if spec.resources is None:
        return spec
    kept = {name: value for name, value in spec.resources.requests.items() if name not in RESOURCES}
    return _replace(spec, resources=_replace(spec.resources, requests=kept))


def _without_resize(status: api.PodStatus) -> api.PodStatus:
    """The status without amounts that were allocated before: they would count beside what is asked for now."""
    plain = tuple(_replace(one, allocated_resources={}, resources=None) for one in status.container_statuses)
    return _replace(status, container_statuses=plain, allocated_resources={}, resources=None, resize="")


# -- the answer --------------------------------------------------------------------------------------------------------


def _totals(simulation: Simulation) -> dict[str, tuple[int, int, int]]:
    """By workload: pods, millicores and bytes that they ask for."""
    found: dict[str, Counter[str]] = {}
    for pod in simulation.cluster.objects(api.Pod).values():
        if pod.status.phase in FINISHED_PHASES:
            continue
        name, asked = _workload_of(simulation, pod), pod_requests(pod)
        sums = found.setdefault(name, Counter())
        sums.update({"pods": 1, **{resource: asked.get(resource, 0) for resource in RESOURCES}})
    return {name: (sums["pods"], sums["cpu"], sums["memory"]) for name, sums in found.items()}


def _workload_of(simulation: Simulation, pod: api.Pod) -> str:
    """The Deployment or the like that the pod is of; the pod itself if it is of none."""
    owner = controller_of(pod)
    if owner is None:
        return api.key(pod)
    replica_set = simulation.cluster.find(api.ReplicaSet, f"{pod.metadata.namespace}/{owner.name}")
    above = controller_of(replica_set) if replica_set is not None and owner.kind == replica_set.KIND else None
    named = owner if above is None else above
    return f"{pod.metadata.namespace}/{named.kind} {named.name}"


def _changed(
    before: Mapping[str, tuple[int, int, int]], after: Mapping[str, tuple[int, int, int]]
) -> Iterable[Changed]:
    """The requests of every workload, before and after."""
    for name, (pods, cpu, memory) in before.items():
        _, cpu_after, memory_after = after.get(name, (0, 0, 0))
        yield Changed(name, pods, cpu, cpu_after, memory, memory_after)


def _overcommitted(result: Result) -> dict[str, list[str]]:
    return {
        node: short
        for node, usages in result.utilisation.nodes.items()
        if (
            short := [
                name for name in RESOURCES if name in usages and usages[name].requested > usages[name].allocatable
            ]
        )
    }


def _shown(one: Changed) -> tuple[str, str]:
    pairs = (("cpu", one.cpu_before, one.cpu_after), ("memory", one.memory_before, one.memory_after))
    first, second = (f"{amount(name, before)} → {amount(name, after)}" for name, before, after in pairs)
    return first, second


def _percent(before: int, after: int) -> str:
    return f"{(after - before) / before:+.0%}" if before else "new"
