# SPDX-License-Identifier: Apache-2.0
"""`plan requests`: the changes if pods requested what they use.

All pods of a workload share a template and get the same requests: per container a percentile of the
usage over its pods (default: maximum), plus headroom. The full simulation runs with these values.
Pods without a workload get their own usage; without usage, requests stay, and the pod or owner is
reported. Limits below the new requests are raised to them, as the API requires.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, Final, TypeAlias

import msgspec

from steersman import api
from steersman.api import Validation
from steersman.base import InputError
from steersman.base.report import Cell, Figures, Section, Table
from steersman.cluster.controllers import controller_of
from steersman.framework import pod_requests
from steersman.plan.answer import OnEnd, Part, PlanAnswer, grouped
from steersman.plan.comparison import unplaced
from steersman.plan.inputs import ReadObject, read_objects
from steersman.plan.measures import Fractions, Measures, fractions, heat_maps, measure
from steersman.plan.usage import ContainerName, Usage, percentile_of
from steersman.scheduler.diagnosis import amount
from steersman.simulation import Result, Simulation, Source

RESOURCES: Final = ("cpu", "memory")
WORKLOADS: Final = (api.Deployment, api.ReplicaSet, api.StatefulSet, api.DaemonSet, api.Job, api.ReplicationController)
ROLLED: Final = (api.StatefulSet, api.DaemonSet)
"""Kinds whose controllers would roll existing pods to a changed template."""
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


class ContainerRequest(Part, frozen=True):
    """Requests to write into the template of a workload, as quantities; "" for none."""

    workload: str
    container: str
    pods: int
    cpu_now: str
    cpu_proposed: str
    memory_now: str
    memory_proposed: str


class Requests(PlanAnswer, frozen=True, kw_only=True):
    """The cluster now, and if its pods requested what they use."""

    KIND: ClassVar[str] = "Requests"

    #: Whether no pod becomes pending, and no node is overcommitted.
    fits: bool
    workloads: tuple[Changed, ...]
    #: Proposed requests per container of every workload with usage.
    containers: tuple[ContainerRequest, ...]
    #: Formerly pending pod → its node.
    placed: dict[str, str]
    #: Newly pending pod → the scheduler's message.
    pending: dict[str, str]
    #: Overcommitted node → resources.
    overcommitted: dict[str, list[str]]
    #: Measures before and after.
    now: Measures
    then: Measures
    #: Pods and workloads without usage; they keep their requests.
    missing: tuple[str, ...]
    #: Rows of the file without a matching pod or workload.
    unknown: tuple[str, ...]
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        return self.fits

    def question(self) -> str:
        return "What changes if pods request what they use?"

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
        """Return a row per container of a workload."""
        return [msgspec.to_builtins(one) for one in self.containers]

    def sections(self) -> list[Section]:
        figures: dict[str, Cell] = {
            f"{name} requests": _percent(before, after) for name, before, after in self._totals()
        }
        figures["nodes in use"] = f"{self.now.nodes_used} → {self.then.nodes_used}"
        largest_first = sorted(self.workloads, key=lambda one: -abs(one.cpu_before - one.cpu_after))
        rows = [(one.workload, one.pods, *_shown(one)) for one in largest_first]
        values = [
            (
                one.workload,
                one.container,
                _arrow(one.cpu_now, one.cpu_proposed),
                _arrow(one.memory_now, one.memory_proposed),
            )
            for one in self.containers
        ]
        nodes = [(node, ", ".join(names)) for node, names in self.overcommitted.items()]
        return [
            Figures("At a glance", figures),
            Table("Requests to write down", ["workload", "container", "cpu request", "memory request"], values),
            Table("Workloads", ["all pods of", "pods", "cpu", "memory"], rows),
            Table("Placed", ["pending pod", "goes to"], list(self.placed.items())),
            Table("Pending", ["pending", "why"], grouped(self.pending)),
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
    pod_percentile: float = 100.0,
    reschedule: bool = False,
    stdin: BinaryIO | None = None,
    validate: Validation = "warn",
    on_end: OnEnd | None = None,
) -> Requests:
    """Return the changes if pods requested their usage plus `headroom` percent.

    All pods of a workload get the same requests: the `pod_percentile` of their usage (100: max).
    `load` creates a simulation with the chosen configuration. Bound pods stay on their nodes unless
    `reschedule` places all pods again in both clusters. `on_end` gets the final second one.
    """
    with load([]) as empty:
        objects, notes = read_objects(sources, empty.scheduler.known_kinds, stdin, validate)
    if not 0 < pod_percentile <= 100:
        raise InputError("is not a percentile", value=pod_percentile, hint="use a number above 0, up to 100")
    changes = _Changes(objects, usage, 1 + headroom / 100, pod_percentile)
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
        containers=tuple(changes.proposed(totals_before)),
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
    """Converter that writes the usage of pods and templates into their requests."""

    def __init__(self, objects: Iterable[ReadObject], usage: Usage, factor: float, pod_percentile: float) -> None:
        self._usage = usage
        self._factor = factor
        self._used: set[ContainerName] = set()
        self.missing: list[str] = []
        #: (workload or pod, container) → requests now and proposed.
        self._proposed: dict[tuple[str, str], tuple[Mapping[str, api.Quantity], Mapping[str, str]]] = {}
        objects = list(objects)
        #: Workloads by uid, to find the Deployment of a pod's ReplicaSet.
        self._workloads = {obj.metadata.uid: obj for obj in objects if isinstance(obj, WORKLOADS)}
        samples: dict[Owner, dict[str, dict[str, list[float]]]] = {}
        for pod in objects:
            if isinstance(pod, api.Pod) and pod.status.phase not in api.FINISHED_PHASES:
                self._add_samples(pod, samples)
        #: Workload → container → resource → percentile of the usage of its pods.
        self._pods_usage = {
            owner: {
                name: {resource: percentile_of(sorted(used), pod_percentile) for resource, used in found.items()}
                for name, found in containers.items()
            }
            for owner, containers in samples.items()
        }

    def proposed(self, totals: Mapping[str, tuple[int, int, int]]) -> Iterable[ContainerRequest]:
        """Yield the written requests, with the number of pods of the workload."""
        for (workload, container), (now, then) in self._proposed.items():
            cpu, memory = (str(now.get(name, "")) for name in RESOURCES)
            pods = totals.get(workload, (0, 0, 0))[0]
            yield ContainerRequest(workload, container, pods, cpu, then.get("cpu", ""), memory, then.get("memory", ""))

    def unknown(self) -> Iterable[str]:
        return (str(container) for container in self._usage if container not in self._used)

    def applied(self, obj: ReadObject) -> ReadObject:
        if isinstance(obj, api.Pod):
            return obj if obj.status.phase in api.FINISHED_PHASES else self._applied_to_pod(obj)
        if isinstance(obj, WORKLOADS) and obj.spec.template:
            owner, names = self._root(obj), _container_names(obj.spec.template)
            found, has_pods = self._workload_usage(owner, names), owner in self._pods_usage
            if not found and not has_pods and owner[1:] == (obj.KIND, obj.metadata.name):
                self.missing.append(f"{owner[0]}/{obj.KIND} {obj.metadata.name}")
            if isinstance(obj, ROLLED) and has_pods:
                return obj
            template = self._with_usage(_name_of(owner), obj.spec.template, found)
            return _replace(obj, spec=_replace(obj.spec, template=template))
        return obj

    def _applied_to_pod(self, pod: api.Pod) -> api.Pod:
        names = [container.name for container in pod.spec.containers]
        owner = self._owner(pod)
        found = self._pod_usage(pod, names) if owner is None else self._workload_usage(owner, names)
        if not any(found.values()):
            self.missing.append(api.key(pod))
            return pod
        name = api.key(pod) if owner is None else _name_of(owner)
        containers = tuple(self._raised(name, one, found.get(one.name, {})) for one in pod.spec.containers)
        return _replace(
            pod, spec=_without_pod_level(_replace(pod.spec, containers=containers)), status=_without_resize(pod.status)
        )

    def _add_samples(self, pod: api.Pod, samples: dict[Owner, dict[str, dict[str, list[float]]]]) -> None:
        owner = self._owner(pod)
        if owner is None:
            return
        containers = samples.setdefault(owner, {})
        for name, amounts in self._pod_usage(pod, [container.name for container in pod.spec.containers]).items():
            for resource, used in amounts.items():
                containers.setdefault(name, {}).setdefault(resource, []).append(used)

    def _pod_usage(self, pod: api.Pod, names: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """Return the pod's own usage by container."""
        namespace = pod.metadata.namespace or api.DEFAULT_NAMESPACE
        return self._looked_up(names, lambda name: ContainerName(namespace, pod.metadata.name, "", "", name))

    def _workload_usage(self, owner: Owner, names: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """Return the workload's usage by container, else the percentile over its pods."""
        namespace, kind, workload = owner
        usages = self._looked_up(names, lambda name: ContainerName(namespace, "", kind, workload, name))
        usages = usages or self._looked_up(names, lambda name: ContainerName(namespace, "", "", workload, name))
        return usages or dict(self._pods_usage.get(owner, {}))

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
        """Return the workload of the pod, resolved through a known ReplicaSet, or None."""
        reference = controller_of(pod)
        if reference is None:
            return None
        known = self._workloads.get(reference.uid)
        return (
            (pod.metadata.namespace or api.DEFAULT_NAMESPACE, reference.kind, reference.name)
            if known is None
            else self._root(known)
        )

    def _root(self, workload: api.Object) -> Owner:
        reference = controller_of(workload)
        above = None if reference is None else self._workloads.get(reference.uid)
        if above is not None:
            return self._root(above)
        if reference is not None:
            return workload.metadata.namespace or api.DEFAULT_NAMESPACE, reference.kind, reference.name
        return workload.metadata.namespace or api.DEFAULT_NAMESPACE, workload.KIND, workload.metadata.name

    def _raised(self, workload: str, container: api.Container, used: Mapping[str, float]) -> api.Container:
        """Return the container with its usage as requests, and limits raised to them."""
        if not used:
            return container
        wanted, resources = self._wanted(used), container.resources
        self._proposed.setdefault((workload, container.name), (resources.requests, wanted))
        limits = {name: _larger(limit, wanted.get(name)) for name, limit in resources.limits.items()}
        changed = _replace(resources, requests={**resources.requests, **wanted}, limits=limits)
        return _replace(container, resources=changed)

    def _with_usage(
        self, workload: str, template: Mapping[str, Any], found: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        spec = template.get("spec") or {}
        containers = []
        for document in spec.get("containers") or ():
            wanted = self._wanted(found.get(document.get("name", ""), {}))
            resources = document.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            if wanted:
                self._proposed.setdefault((workload, str(document.get("name", ""))), (requests, wanted))
            limits = {name: _larger(limit, wanted.get(name)) for name, limit in limits.items()}
            changed = {**resources, "requests": {**requests, **wanted}}
            containers.append({**document, "resources": {**changed, "limits": limits} if limits else changed})
        return {**template, "spec": {**spec, "containers": containers}}

    def _wanted(self, used: Mapping[str, float]) -> dict[str, str]:
        return {name: _quantity(name, value * self._factor) for name, value in used.items()}


def _name_of(owner: Owner) -> str:
    namespace, kind, name = owner
    return f"{namespace}/{kind} {name}"


def _arrow(now: str, proposed: str) -> str | None:
    return f"{now or 'none'} → {proposed}" if proposed else None


def _container_names(template: Mapping[str, Any]) -> list[str]:
    return [str(one.get("name", "")) for one in (template.get("spec") or {}).get("containers") or ()]


def _quantity(resource: str, value: float) -> str:
    """Return the quantity, rounded up to at least one millicore of CPU or MiB of memory."""
    if resource == "cpu":
        return f"{max(1, math.ceil(round(value * 1000, 6)))}m"
    return f"{max(1, math.ceil(round(value / 2**20, 6)))}Mi"


def _larger(limit: api.Quantity, wanted: str | None) -> api.Quantity:
    if wanted is None:
        return limit
    return wanted if api.quantity.compare(api.quantity.parse(wanted), api.quantity.parse(limit)) > 0 else limit


def _without_pod_level(spec: api.PodSpec) -> api.PodSpec:
    """Return the spec without pod-level requests, which would override those of containers."""
    if spec.resources is None:
        return spec
    kept = {name: value for name, value in spec.resources.requests.items() if name not in RESOURCES}
    return _replace(spec, resources=_replace(spec.resources, requests=kept))


def _without_resize(status: api.PodStatus) -> api.PodStatus:
    """Return the status without allocated resources, which would count besides the new requests."""
    plain = tuple(_replace(one, allocated_resources={}, resources=None) for one in status.container_statuses)
    return _replace(status, container_statuses=plain, allocated_resources={}, resources=None, resize="")


# -- the answer --------------------------------------------------------------------------------------------------------


def _totals(simulation: Simulation) -> dict[str, tuple[int, int, int]]:
    """Return by workload the number of pods, and their requested millicores and bytes."""
    found: dict[str, Counter[str]] = {}
    for pod in simulation.cluster.objects(api.Pod).values():
        if pod.status.phase in api.FINISHED_PHASES:
            continue
        name, requested = _workload_of(simulation, pod), pod_requests(pod)
        sums = found.setdefault(name, Counter())
        sums.update({"pods": 1, **{resource: requested.get(resource, 0) for resource in RESOURCES}})
    return {name: (sums["pods"], sums["cpu"], sums["memory"]) for name, sums in found.items()}


def _workload_of(simulation: Simulation, pod: api.Pod) -> str:
    """Return the name of the pod's workload, or of the pod itself without one."""
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
    """Yield the requests of every workload, before and after."""
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
