# SPDX-License-Identifier: Apache-2.0
"""`plan capacity`: the number of additional pods that fit, their nodes, and the limiting factors.

Pending pods of the cluster are placed first. Then pods of the templates are placed one by one at
one time, until one does not fit (`simulation.fill`), as in a simulation with all of them at once.
They do not preempt, and nodes that would evict them later do not count. The number with preemption
is found on another fork by full simulation, pod by pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.api import NO_EXECUTE, NO_SCHEDULE, find_untolerated_taint
from steersman.base import InputError, counted
from steersman.base.report import BarChart, Cell, Figures, Section, Table
from steersman.cluster.store import DEFAULT_TOLERATIONS
from steersman.plan.answer import OnEnd, Part, PlanAnswer
from steersman.plan.gangs import ALONE, WITHOUT_PREEMPTION, Gangs, fill_with_gangs, group_of
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.plan.pod_templates import PlannedPods, PodSource, load_pods, mixed
from steersman.simulation import FillResult, NewPod, Result, Simulation, Trial, fill_nodes, pool_of, show_owner

MOST: Final = 1_000_000
"""Maximum number of tried pods, because pods without requests may fit without limit."""
SHORT_STAY: Final = "plan.steersman.dev/evicts-pods"
UNLIMITED: Final = "more than {:,} fit: the search ended there"
EVICTING: Final = "{} of {} nodes {} not counted: {} NoExecute taints that the pods tolerate only for a limited time"

_replace = msgspec.structs.replace


class Preempting(Part, frozen=True):
    """The number of pods where those of lower priority may be preempted."""

    fits: int
    #: Preempted pod of the cluster → its former node.
    preempted: dict[str, str]
    #: The scheduler's message about the first pod that does not fit.
    message: str


class Capacity(PlanAnswer, frozen=True, kw_only=True):
    """Number of additional pods that fit, by template and node, and what limits them."""

    KIND: ClassVar[str] = "Capacity"

    #: Number of pods that fit, of all templates.
    fits: int
    #: template → pods that fit.
    per_template: dict[str, int]
    #: node → pods that would be placed there, for every node.
    per_node: dict[str, int]
    per_zone: dict[str, int]
    per_pool: dict[str, int]
    #: reason → nodes that reject the first unfitting pod; no nodes for reasons of the pod itself.
    limits: dict[str, list[str]]
    #: The template of that pod, and the scheduler's message.
    limited: str
    message: str
    #: Only if requested.
    with_preemption: Preempting | None = None
    #: Only for a pod group.
    gangs: Gangs | None = None
    #: Requested number of pods, or of pod groups; the answer is positive if they fit.
    at_least: int = 1
    #: resource → node → requested share, 0 to 1: now, and with the pods.
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        if self.gangs is not None:
            return self.gangs.fits >= self.at_least
        best = self.fits if self.with_preemption is None else max(self.fits, self.with_preemption.fits)
        return best >= self.at_least

    def sentence(self) -> str:
        pods = "pod fits" if self.fits == 1 else "pods fit"
        text = f"{self.fits} more {pods}" if self.gangs is None else _gangs_sentence(self.gangs)
        if self.with_preemption is not None:
            text += f", {self.with_preemption.fits} with preemption"
        return f"{text}; {self.reason()}" if self.reason() else text

    def reason(self) -> str:
        """Return the limiting factor: the reason of most nodes."""
        if not self.limits:
            return ""
        reason, nodes = max(self.limits.items(), key=lambda item: (len(item[1]), item[0]))
        return f"{len(nodes)} of {len(self.per_node)} nodes: {reason}" if nodes else reason

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per node."""
        why: dict[str, list[str]] = {}
        for reason, nodes in self.limits.items():
            for node in nodes:
                why.setdefault(node, []).append(reason)
        return [
            {"node": node, "fits": count, "limits": "; ".join(why.get(node, ()))}
            for node, count in self.per_node.items()
        ]

    def question(self) -> str:
        return f"How many more pods of {', '.join(self.per_template)} fit?"

    def sections(self) -> list[Section]:
        reasons = [(reason, len(nodes), _some(nodes)) for reason, nodes in self.limits.items()]
        names, counts = list(self.limits), [float(len(nodes)) for nodes in self.limits.values()]
        groups = [("zone", group, count) for group, count in self.per_zone.items()]
        groups += [("pool", group, count) for group, count in self.per_pool.items()]
        fullest_first = sorted(self.rows(), key=lambda row: -row["fits"])
        sections: list[Section] = [Figures("At a glance", self._figures())]
        if names:
            sections.append(BarChart("What limits", names, {"nodes": counts}, "nodes"))
            sections.append(Table(f"Limits of {self.limited}", ["what limits", "nodes", "which"], reasons))
        if self.gangs is not None and self.gangs.per_domain:
            domains = list(self.gangs.per_domain.items())
            sections.append(Table("Domains", [self.gangs.topology_key, f"more of {self.gangs.group}"], domains))
        if len(self.per_template) > 1:
            sections.append(Table("Templates", ["template", "more pods"], list(self.per_template.items())))
        if self.with_preemption is not None and self.with_preemption.preempted:
            gone = list(self.with_preemption.preempted.items())
            sections.append(Table("Preempted", ["preempted", "node"], gone))
        if groups:
            sections.append(Table("Zones and pools", ["by", "name", "more pods"], groups))
        sections.append(
            Table("Nodes", ["node", "more pods", "what limits"], [tuple(row.values()) for row in fullest_first])
        )
        return [*sections, *heat_maps(self.before, self.after)]

    def _figures(self) -> dict[str, Cell]:
        figures: dict[str, Cell] = {"nodes": len(self.per_node), "more pods": self.fits}
        if self.gangs is not None:
            figures[f"more of {self.gangs.group}"] = self.gangs.fits
        if self.with_preemption is not None:
            figures["with preemption"] = self.with_preemption.fits
        return figures


def capacity(
    simulation: Simulation,
    pods: Sequence[PodSource | tuple[PodSource, int] | PlannedPods],
    *,
    preemption: bool = False,
    at_least: int = 1,
    most: int = MOST,
    on_end: OnEnd | None = None,
) -> Capacity:
    """Return how many more of these pods fit on the simulated cluster, which is not changed.

    `pods` are files, objects, or pairs of these with a weight; pods of a mix alternate by weight.
    `preemption` also finds the number for preempting pods, which is slower. `on_end` gets the full
    cluster with a further pod per template (`default/plan-web-next`). Pods of a PodGroup in the
    same file are counted by groups of `minCount` pods, and so is `at_least`. Raises `InputError`.
    """
    templates = _named_apart([_template(given) for given in pods])
    if not templates:
        raise InputError("no pods to ask about", hint="give a file with a Pod, a Deployment or the like")
    group = _group(templates, preemption=preemption)
    if group is not None:
        return _capacity_for_groups(simulation, templates[0], group, at_least, most, on_end)
    with simulation.fork() as trial:
        evicting = _evicting_note(trial.cluster.objects(api.Node).values(), templates)
        before = _prepare(trial, templates)
        taken = frozenset(trial.cluster.objects(api.Pod))
        filled = fill_nodes(trial, islice(mixed(templates, taken), most))
        nodes = dict(trial.cluster.objects(api.Node))
        after = fractions(trial.result())
        if on_end is not None:
            _add(trial, [_next_pod(index, planned) for index, planned in enumerate(templates)]).run()
            on_end(trial)
    preempting = None
    if preemption:
        with simulation.fork() as trial:
            _prepare(trial, templates)
            preempting = _with_preemption(trial, templates, taken, len(filled.placed), most)
    answer = _answer(filled, templates, nodes, preempting, at_least, most, before, after)
    return _replace(answer, notes=(*evicting, *answer.notes))


def _group(templates: Sequence[PlannedPods], *, preemption: bool) -> api.PodGroup | None:
    """Return the PodGroup of the template, if there is one."""
    groups = [group for group in map(group_of, templates) if group is not None]
    if groups and len(templates) > 1:
        raise InputError(ALONE, object=f"PodGroup {groups[0].metadata.name}", hint="use one --pod")
    if groups and preemption:
        raise InputError(WITHOUT_PREEMPTION, object=f"PodGroup {groups[0].metadata.name}", hint="omit --preemption")
    return groups[0] if groups else None


def _capacity_for_groups(
    simulation: Simulation, planned: PlannedPods, group: api.PodGroup, at_least: int, most: int, on_end: OnEnd | None
) -> Capacity:
    planned = _replace(planned, others=tuple(other for other in planned.others if other is not group))
    with simulation.fork() as trial:
        evicting = _evicting_note(trial.cluster.objects(api.Node).values(), [planned])
        before = _prepare(trial, [planned])
        filled = fill_with_gangs(trial, planned, group, most)
        nodes, after = dict(trial.cluster.objects(api.Node)), fractions(trial.result())
        if on_end is not None:
            on_end(trial)
    placed = [(0, node) for node, count in filled.per_node.items() for _ in range(count)]
    refused = 0 if filled.message else None
    reasons: dict[str, list[str]] = {filled.message: []} if filled.message else {}
    as_pods = FillResult(placed, refused, filled.message, reasons)
    answer = _answer(as_pods, [planned], nodes, None, at_least, most, before, after)
    return _replace(answer, gangs=filled.gangs, notes=(*evicting, *answer.notes))


def _gangs_sentence(gangs: Gangs) -> str:
    verb = "fits" if gangs.fits == 1 else "fit"
    return f"{gangs.fits} more of {gangs.group} {verb}, with {counted(gangs.size, 'pod')} each"


def _template(given: PodSource | tuple[PodSource, int] | PlannedPods) -> PlannedPods:
    if isinstance(given, PlannedPods):
        return given
    if isinstance(given, tuple):
        return load_pods(given[0], given[1])
    return load_pods(given)


def _named_apart(templates: Sequence[PlannedPods]) -> list[PlannedPods]:
    """Return the templates with unique names, from which pod names derive."""
    seen: Counter[str] = Counter()
    apart = []
    for planned in templates:
        seen[planned.name] += 1
        name = planned.name if seen[planned.name] == 1 else f"{planned.name}-{seen[planned.name]}"
        metadata = _replace(planned.pod.metadata, name=f"plan-{name}")
        apart.append(_replace(planned, name=name, pod=_replace(planned.pod, metadata=metadata)))
    return apart


def _prepare(trial: Trial, templates: Sequence[PlannedPods]) -> Result:
    """Place pending pods and add the templates' objects; return the result before the latter."""
    _close_short_stays(trial, templates)
    before = trial.run()
    for planned in templates:
        for other in planned.others:
            if trial.cluster.find(type(other), _key(other)) is None:
                trial.add(other)
        owner = planned.owner
        if owner is not None and trial.cluster.find(type(owner), _key(owner)) is None:
            show_owner(trial, owner)
    return before


def _close_short_stays(trial: Simulation, templates: Sequence[PlannedPods]) -> None:
    """Exclude nodes with NoExecute taints that no template tolerates forever, because they would
    evict the pods later. Admission makes every pod tolerate unready nodes for 300 seconds."""
    lasting = _lasting_tolerations(templates)
    for name, node in trial.cluster.objects(api.Node).items():
        taints = node.spec.taints
        if find_untolerated_taint(taints, lasting, {NO_EXECUTE}) is not None:
            closed = (*taints, api.Taint(key=SHORT_STAY, effect=NO_SCHEDULE))
            trial.patch(f"node/{name}", {"spec": {"taints": [msgspec.to_builtins(each) for each in closed]}})


def _lasting_tolerations(templates: Iterable[PlannedPods]) -> list[api.Toleration]:
    tolerations = (each for planned in templates for each in planned.pod.spec.tolerations)
    return [each for each in tolerations if each.toleration_seconds is None]


def _evicting_note(nodes: Collection[api.Node], templates: Sequence[PlannedPods]) -> tuple[str, ...]:
    """Return a note with the number of nodes that admit the pods and evict them later, if any."""
    lasting = _lasting_tolerations(templates)
    admitting = [[*planned.pod.spec.tolerations, *DEFAULT_TOLERATIONS] for planned in templates]
    count = sum(
        find_untolerated_taint(node.spec.taints, lasting, {NO_EXECUTE}) is not None
        and any(find_untolerated_taint(node.spec.taints, own, {NO_SCHEDULE, NO_EXECUTE}) is None for own in admitting)
        for node in nodes
    )
    are, have = ("is", "it has") if count == 1 else ("are", "they have")
    return (EVICTING.format(count, len(nodes), are, have),) if count else ()


def _key(obj: api.Object) -> str:
    meta = obj.metadata
    return f"{meta.namespace or 'default'}/{meta.name}" if obj.NAMESPACED else meta.name


def _with_preemption(
    trial: Simulation, templates: Sequence[PlannedPods], taken: frozenset[str], at_once: int, most: int
) -> Preempting:
    """Add the pods that fit without preemption, then others one by one, each run to rest."""
    coming = mixed(templates, taken)
    present = {api.key(pod): pod.spec.node_name for pod in trial.cluster.objects(api.Pod).values()}
    _add(trial, islice(coming, at_once))
    trial.run()
    fits, message = at_once, ""
    for new in islice(coming, most - at_once):
        _add(trial, [new])
        result = trial.run()
        placement = result.placements.get(api.key(new.pod))
        if placement is None or placement.is_pending:
            message = "" if placement is None else placement.message
            break
        fits += 1
    gone = [victim.pod for victim in trial.result().preempted if victim.pod in present]
    return Preempting(fits, {pod: present[pod] for pod in gone}, message)


def _add(trial: Simulation, pods: Iterable[NewPod]) -> Simulation:
    return trial.add([obj for new in pods for obj in (*new.claims, new.pod)])


def _next_pod(index: int, planned: PlannedPods) -> NewPod:
    """Return a pod of the template in addition to those that fit."""
    new = planned.new_pod(index, MOST)
    name = f"{planned.pod.metadata.name}-next"
    return _replace(new, pod=_replace(new.pod, metadata=_replace(new.pod.metadata, name=name)))


def _answer(
    filled: FillResult,
    templates: Sequence[PlannedPods],
    nodes: Mapping[str, api.Node],
    preempting: Preempting | None,
    at_least: int,
    most: int,
    before: Result,
    after: Fractions,
) -> Capacity:
    by_node = Counter(node for _, node in filled.placed)
    by_template = Counter(template for template, _ in filled.placed)
    ended = (UNLIMITED.format(most),) if filled.refused is None else ()
    return Capacity(
        fits=len(filled.placed),
        per_template={planned.name: by_template[index] for index, planned in enumerate(templates)},
        per_node={name: by_node[name] for name in nodes},
        per_zone=_summed(by_node, {name: node.metadata.labels.get(api.ZONE_LABEL, "") for name, node in nodes.items()}),
        per_pool=_summed(by_node, {name: pool_of(node) for name, node in nodes.items()}),
        limits=filled.reasons,
        limited="" if filled.refused is None else templates[filled.refused].name,
        message=filled.message,
        with_preemption=preempting,
        at_least=at_least,
        before=fractions(before),
        after=after,
        notes=(*ended, *_pending_note(before), *((before.stopped,) if before.stopped else ()), *before.notes),
    )


def _summed(by_node: Mapping[str, int], groups: Mapping[str, str]) -> dict[str, int]:
    """Return the number of pods by group; empty if no node belongs to one."""
    totals: Counter[str] = Counter()
    for node, group in groups.items():
        totals[group] += by_node.get(node, 0)
    return dict(sorted(totals.items())) if set(totals) - {""} else {}


def _pending_note(before: Result) -> tuple[str, ...]:
    count = len(before.pending)
    are = (
        "pod of the cluster is pending already, and waits"
        if count == 1
        else "pods of the cluster are pending already, and wait"
    )
    return (f"{count} {are} on",) if count else ()


def _some(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names as text."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
