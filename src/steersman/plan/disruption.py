# SPDX-License-Identifier: Apache-2.0
"""`plan drain`, `plan lose`, `plan taint`: new nodes of all affected pods, and obstacles.

The nodes of a fork are drained, deleted or tainted, and the full simulation runs to rest, including
controllers, budgets, kubelets and the scheduler. The answer is the difference of the cluster, with
pods matched by owner (`simulation.probes.pod_moves`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.api import key_errors, value_errors
from steersman.base import InputError, counted
from steersman.base.report import Cell, Figures, Section, Table
from steersman.cluster.controllers import awaited_predecessor
from steersman.cluster.kubelets import ROUND_SECONDS
from steersman.cluster.store import budgets_of
from steersman.plan.answer import OnEnd, Part, PlanAnswer, grouped
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.plan.node_choice import chosen_nodes
from steersman.simulation import (
    PodPlace,
    PodSnapshot,
    Result,
    Simulation,
    Trial,
    match_replacements,
    pod_snapshot,
    rejecting_plugins,
)

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
VOLUME_PLUGINS: Final = frozenset({"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"})
DEVICE_PLUGINS: Final = frozenset({"DynamicResources"})
NO_CONTROLLER: Final = "not recreated: it has no controller"
NO_OWNER: Final = "its {} {} is not in the input and cannot recreate it"
NOT_RECREATED: Final = "its {} {} has not recreated it"
WAITS_IN_ORDER: Final = "StatefulSet {} creates its pods in order, and waits for {}"

_replace = msgspec.structs.replace


class DisruptionStep(Part, frozen=True):
    """One node of a rolling replacement."""

    node: str
    #: Rounds of evictions that `kubectl drain` would need.
    rounds: int
    #: Pods that left the node.
    evicted: int
    #: Number of pending pods after its drain.
    pending: int
    #: The replacement of the node; "" if it could not be emptied.
    replacement: str
    #: Estimated time to empty the node: grace periods, and budgets that wait for ready pods.
    minutes: float = 0.0


class Disruption(PlanAnswer, frozen=True, kw_only=True):
    """Where pods go when nodes are drained, lost or tainted."""

    #: Whether the disruption leaves no pod pending, blocked or lost.
    fits: bool
    #: The disrupted nodes.
    nodes: tuple[str, ...]
    #: pod (by its name before the disruption) → node of its replacement.
    moved: dict[str, str]
    #: pod → the scheduler's message about the pod or its replacement; without pods that were
    #: pending before.
    pending: dict[str, str]
    #: pod that could not be evicted → its disruption budget.
    blocked: dict[str, str]
    #: preempted pod → its preemptor.
    preempted: dict[str, str]
    #: deleted pod that is not recreated → reason.
    lost: dict[str, str]
    #: pending pod → "volumes" or "devices", if these prevent its scheduling.
    held_by: dict[str, list[str]]
    #: pod → its replacement, if that has another name.
    successors: dict[str, str]
    #: node → rounds of evictions that `kubectl drain` would need.
    rounds: dict[str, int] = {}
    #: Steps of a rolling replacement by node.
    steps: tuple[DisruptionStep, ...] = ()
    #: Estimated time of drains, without the start of new machines.
    minutes: float = 0.0
    #: Virtual seconds until the cluster came to rest.
    seconds: float = 0.0
    before: Fractions = {}
    after: Fractions = {}

    VERB: ClassVar[str] = "disrupted"

    @property
    def is_met(self) -> bool:
        return self.fits

    def question(self) -> str:
        return f"What happens if {_some(self.nodes)} {'is' if len(self.nodes) == 1 else 'are'} {self.VERB}?"

    def sentence(self) -> str:
        parts = [f"{counted(len(self.moved), 'pod')} would move"]
        parts += [f"{counted(len(self.preempted), 'pod')} preempted"] if self.preempted else []
        parts.append(f"{len(self.pending)} pending")
        parts += [f"{len(self.blocked)} blocked by budgets"] if self.blocked else []
        parts += [f"{len(self.lost)} lost"] if self.lost else []
        took = f", in about {counted(max(1, round(self.minutes)), 'minute')}" if self.steps else ""
        return f"{', '.join(parts)}{took}: {'everything fits' if self.fits else 'not everything fits'}"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per affected pod."""
        return [
            {"pod": pod, "outcome": outcome, "node": node, "detail": detail}
            for pod, outcome, node, detail in self._outcomes()
        ]

    def _outcomes(self) -> Iterator[tuple[str, str, str, str]]:
        for pod, node in self.moved.items():
            yield pod, "moved", node, self.successors.get(pod, "")
        for pod, message in self.pending.items():
            yield pod, "pending", "", message
        for pod, budget in self.blocked.items():
            yield pod, "blocked", "", budget
        for pod, preemptor in self.preempted.items():
            yield pod, "preempted", "", preemptor
        for pod, why in self.lost.items():
            yield pod, "lost", "", why

    def sections(self) -> list[Section]:
        figures: dict[str, Cell] = {
            "nodes": len(self.nodes),
            "moved": len(self.moved),
            "pending": len(self.pending),
            "blocked": len(self.blocked),
            "preempted": len(self.preempted),
            "lost": len(self.lost),
        }
        if self.minutes:
            figures["minutes"] = self.minutes
        steps = [
            (s.node, s.rounds, s.minutes, s.evicted, s.pending, s.replacement or "not emptied") for s in self.steps
        ]
        return [
            Figures("At a glance", figures),
            Table("Steps", ["node", "rounds", "minutes", "evicted", "pending", "replaced by"], steps),
            Table("Rounds", ["drained node", "rounds"], [] if steps else list(self.rounds.items())),
            Table("Moved", ["pod", "goes to", "as"], [(p, n, self.successors.get(p)) for p, n in self.moved.items()]),
            Table("Preempted", ["preempted", "by"], list(self.preempted.items())),
            Table("Blocked", ["blocked", "budget"], list(self.blocked.items())),
            Table("Pending", ["pending", "held by", "why"], list(self._pending_rows())),
            Table("Lost", ["lost", "why"], list(self.lost.items())),
            *heat_maps(self.before, self.after),
        ]

    def _pending_rows(self) -> Iterator[tuple[str, str | None, str]]:
        for pods, why in grouped(self.pending):
            held = self.held_by.get(pods.partition(" ")[0], ())
            yield pods, ", ".join(held) or None, why


class Drain(Disruption, frozen=True, kw_only=True):
    """Where pods go when nodes are drained, and which budgets block."""

    KIND: ClassVar[str] = "Drain"
    VERB: ClassVar[str] = "drained"


class Loss(Disruption, frozen=True, kw_only=True):
    """Where pods go when nodes are gone."""

    KIND: ClassVar[str] = "Loss"
    VERB: ClassVar[str] = "lost"


class NodeTainting(Disruption, frozen=True, kw_only=True):
    """Where pods go when nodes are tainted."""

    KIND: ClassVar[str] = "Tainting"
    VERB: ClassVar[str] = "tainted"


# -- the questions -----------------------------------------------------------------------------------------------------


def drain(
    simulation: Simulation,
    nodes: Sequence[str],
    *,
    one_by_one: bool = False,
    at_a_time: int = 1,
    keep_going: bool = False,
    on_end: OnEnd | None = None,
) -> Drain:
    """Return the disruption if the nodes are drained as with `kubectl drain`, all at once.

    `nodes` are names, label selectors and `pool/NAME`. `one_by_one` simulates a rolling
    replacement: each node is drained and replaced by an equal one before the next, or `at_a_time`
    nodes at once. It ends at a node that cannot be emptied; with `keep_going` that node is
    uncordoned instead. `on_end` gets the final simulation. Raises `InputError`.
    """
    with simulation.fork() as trial:
        trial.run()
        names, before = chosen_nodes(trial, nodes), trial.result()
        seen = pod_snapshot(trial)
        if one_by_one or at_a_time > 1:
            steps, result = _replaced_in_waves(trial, names, at_a_time, keep_going)
        else:
            for name in names:
                trial.drain(name)
            steps, result = [], trial.run()
        rounds = {name: _rounds(trial, name) for name in names if trial.drain_rounds(name)}
        fields = _difference(trial, seen, before, result, on_end)
        blocked = _blocked(trial, names)
        fits = fields.pop("fits") and not blocked and not any(not step.replacement for step in steps)
        if steps and len(steps) < len(names):
            left = counted(len(names) - len(steps), "node")
            fields["notes"] = (
                f"{left} after the one that could not be emptied: --keep-going continues",
                *fields["notes"],
            )
        fields["minutes"] = _wave_minutes([step.minutes for step in steps], at_a_time) or max(_minutes(trial, names))
        return Drain(nodes=tuple(names), fits=fits, blocked=blocked, rounds=rounds, steps=tuple(steps), **fields)


def lose(simulation: Simulation, nodes: Sequence[str], *, on_end: OnEnd | None = None) -> Loss:
    """Return the disruption if all nodes are deleted. `nodes` and `on_end` as for `drain`."""
    with simulation.fork() as trial:
        trial.run()
        names, before = chosen_nodes(trial, nodes), trial.result()
        seen = pod_snapshot(trial)
        trial.delete(*(f"node/{name}" for name in names))
        result = trial.run()
        return Loss(nodes=tuple(names), blocked={}, **_difference(trial, seen, before, result, on_end))


def taint(
    simulation: Simulation, nodes: Sequence[str], taints: Sequence[str], *, on_end: OnEnd | None = None
) -> NodeTainting:
    """Return the disruption if the nodes get the taints, `key=value:Effect` or `key:Effect`.

    Pods that do not tolerate a NoExecute taint are evicted after their toleration time, regardless
    of budgets; other effects evict no pods. `nodes` and `on_end` as for `drain`.
    """
    added = [parse_taint(text) for text in taints]
    if not added:
        raise InputError("no taint is named", hint="use key=value:NoExecute, or key:NoSchedule")
    with simulation.fork() as trial:
        trial.run()
        names, before = chosen_nodes(trial, nodes), trial.result()
        seen = pod_snapshot(trial)
        for name in names:
            present = trial.cluster.get(api.Node, name).spec.taints
            kept = [known for known in present if (known.key, known.effect) not in {(t.key, t.effect) for t in added}]
            trial.patch(f"node/{name}", {"spec": {"taints": [msgspec.to_builtins(one) for one in (*kept, *added)]}})
        result = trial.run()
        return NodeTainting(nodes=tuple(names), blocked={}, **_difference(trial, seen, before, result, on_end))


def parse_taint(text: str) -> api.Taint:
    """Parse `key=value:Effect` as kubectl does. Raises `InputError`."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if effect not in EFFECTS or key_errors(key) or value_errors(value):
        raise InputError("is not a taint", value=text, hint=f"use key=value:EFFECT; effects are {', '.join(EFFECTS)}")
    return api.Taint(key=key, value=value, effect=effect)


# -- rolling replacement -----------------------------------------------------------------------------------------------


def _replaced_in_waves(
    trial: Trial, names: Sequence[str], size: int, keep_going: bool
) -> tuple[list[DisruptionStep], Result]:
    """Drain and replace `size` nodes at a time; stop on failure unless `keep_going`."""
    steps, result = list[DisruptionStep](), trial.result()
    for start in range(0, len(names), size):
        wave = names[start : start + size]
        for name in wave:
            trial.drain(name)
        trial.run()
        replacements: dict[str, str] = {}
        while empty := [name for name in wave if name not in replacements and not trial.drain_rounds(name)[-1].refused]:
            replacements |= {name: _replace_node(trial, name) for name in empty}
            trial.run()  # budgets may allow more with the room of the new nodes
        for name in wave if keep_going else ():
            if name not in replacements:
                trial.uncordon(name)
        result = trial.run()
        steps += (_step(trial, name, len(result.pending), replacements.get(name, "")) for name in wave)
        if len(replacements) < len(wave) and not keep_going:
            break
    return steps, result


def _step(trial: Trial, name: str, pending: int, replacement: str) -> DisruptionStep:
    evicted = sum(len(each.evicted) for each in trial.drain_rounds(name))
    return DisruptionStep(name, _rounds(trial, name), evicted, pending, replacement, *_minutes(trial, [name]))


def _minutes(trial: Trial, names: Iterable[str]) -> list[float]:
    """Return the duration of each node's drain."""
    rounds = [len(trial.drain_rounds(name)) for name in names]
    return [round(max(0, count - 1) * ROUND_SECONDS / 60, 1) for count in rounds]


def _wave_minutes(minutes: Sequence[float], size: int) -> float:
    """Return the total duration of consecutive waves of `size` nodes."""
    return round(sum(max(minutes[start : start + size]) for start in range(0, len(minutes), size)), 1)


def _replace_node(trial: Trial, name: str) -> str:
    """Replace the node by an equal one, and return its name."""
    node = trial.cluster.get(api.Node, name)
    new = f"{name}-new"
    labels = {**node.metadata.labels}
    if labels.get(api.HOSTNAME_LABEL) == name:
        labels[api.HOSTNAME_LABEL] = new
    metadata = api.ObjectMeta(name=new, labels=labels, annotations=node.metadata.annotations)
    taints = tuple(known for known in node.spec.taints if not known.key.startswith("node.kubernetes.io/"))
    spec = _replace(node.spec, unschedulable=False, taints=taints)
    status = api.NodeStatus(capacity=node.status.capacity, allocatable=node.status.allocatable)
    trial.delete(f"node/{name}")
    trial.add(_replace(node, metadata=metadata, spec=spec, status=status))
    return new


# -- the answer --------------------------------------------------------------------------------------------------------


def _difference(
    trial: Trial, seen: PodSnapshot, before: Result, result: Result, on_end: OnEnd | None
) -> dict[str, Any]:
    """Return the common fields of disruptions: the differences of the cluster since `before`."""
    now = pod_snapshot(trial)
    follows = match_replacements(seen, now)
    nodes = trial.cluster.objects(api.Node)
    moved = {pod: now[new].node for pod, new in follows.items() if now[new].node in nodes}
    origin = {new: pod for pod, new in follows.items()}
    waiting = {key: place for key, place in result.pending.items() if key not in before.pending}
    named = {origin.get(key, key): key for key in waiting if key in now and not now[key].node}
    lost = dict(_lost(trial, seen, now, follows))
    ordered = {pod: why for pod in lost if (why := _waits_in_order(trial, pod, seen[pod]))}
    lost = {pod: why for pod, why in lost.items() if pod not in ordered}
    preempted = {one.pod: one.preemptor for one in result.preempted if one not in before.preempted}
    if on_end is not None:
        on_end(trial)
    return {
        "fits": not (named or lost or ordered),
        "moved": moved,
        "pending": {pod: waiting[key].message for pod, key in named.items()} | ordered,
        "preempted": preempted,
        "lost": {pod: why for pod, why in lost.items() if pod not in preempted},
        "held_by": {pod: held for pod, key in named.items() if (held := _held_by(trial, key))},
        "successors": {pod: new for pod, new in follows.items() if pod != new},
        "seconds": round(result.summary.seconds - before.summary.seconds, 3),
        "before": fractions(before),
        "after": fractions(result),
        "notes": (*_notes(before, result, seen, now), *result.notes),
    }


def _lost(trial: Trial, seen: PodSnapshot, now: PodSnapshot, follows: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    nodes = trial.cluster.objects(api.Node)
    owners = {obj.metadata.uid for kind in trial.cluster.kinds for obj in trial.cluster.objects(kind).values()}
    for key, pod in seen.items():
        is_there = key in now and now[key].uid == pod.uid and (not pod.node or now[key].node in nodes)
        if is_there or key in follows or pod.owner_kind == api.DaemonSet.KIND:
            continue
        if not pod.owner:
            yield key, NO_CONTROLLER
        else:
            why = NOT_RECREATED if pod.owner in owners else NO_OWNER
            yield key, why.format(pod.owner_kind, pod.owner_name)


def _waits_in_order(trial: Trial, key: str, pod: PodPlace) -> str:
    """Return the reason if a pod of an ordered StatefulSet waits for a predecessor, or ""."""
    owner = trial.cluster.find(api.StatefulSet, f"{key.partition('/')[0]}/{pod.owner_name}")
    if pod.owner_kind != api.StatefulSet.KIND or owner is None or owner.metadata.uid != pod.owner:
        return ""
    predecessor = awaited_predecessor(trial.cluster, owner, key)
    return WAITS_IN_ORDER.format(api.key(owner), predecessor) if predecessor else ""


def _held_by(trial: Trial, pod: str) -> list[str]:
    plugins = rejecting_plugins(trial, pod)
    held = {"volumes": VOLUME_PLUGINS, "devices": DEVICE_PLUGINS}
    return [what for what, those in held.items() if plugins & those]


def _blocked(trial: Trial, names: Iterable[str]) -> dict[str, str]:
    """Return the pods that the last round of a drain could not evict, with their budgets."""
    blocked: dict[str, str] = {}
    for name in names:
        rounds = trial.drain_rounds(name)
        for pod, message in (rounds[-1].refused if rounds else {}).items():
            found = trial.cluster.find(api.Pod, pod)
            budgets = [] if found is None else [api.key(budget) for budget in budgets_of(trial.cluster, found)]
            blocked[pod] = ", ".join(budgets) or message
    return blocked


def _rounds(trial: Trial, node: str) -> int:
    """Return the number of rounds with evictions or refusals, without mere waiting."""
    return sum(bool(each.evicted or each.refused) for each in trial.drain_rounds(node))


def _notes(before: Result, result: Result, seen: PodSnapshot, now: PodSnapshot) -> Iterator[str]:
    if result.stopped:
        yield result.stopped
    pending = len(before.pending)
    if pending:
        yield f"{counted(pending, 'pod')} of the cluster {'was' if pending == 1 else 'were'} pending before"
    daemons = sum(pod.owner_kind == api.DaemonSet.KIND for key, pod in seen.items() if key not in now)
    if daemons:
        yield f"{counted(daemons, 'pod')} of DaemonSets {'goes' if daemons == 1 else 'go'} with the node"


def _some(names: Sequence[str], most: int = 3) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {counted(more, 'more node')}" if more > 0 else "")
