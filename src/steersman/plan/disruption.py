# SPDX-License-Identifier: Apache-2.0
"""`plan drain`, `plan lose`, `plan taint`: where every pod would go, and what stands in the way.

The nodes of a fork are really drained, deleted or tainted, and the whole simulation runs until nothing changes any more:
controllers replace pods, budgets hold evictions up, kubelets let pods end, the scheduler places and preempts. The answer is
the difference between the cluster before and after, with pods matched by their owners (`pod_succession`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.api.label_syntax import key_errors, value_errors
from steersman.embedded.eviction import budgets_of
from steersman.errors import InputError
from steersman.plan.answer import OnEnd, Part, PlanAnswer
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.plan.node_choice import chosen_nodes
from steersman.plan.pod_succession import DAEMON_SET, Picture, picture, successors
from steersman.report import Cell, Figures, Section, Table
from steersman.sim import Result, Simulation
from steersman.sim.disruptions import drain_rounds, rejecting_plugins

HOSTNAME: Final = "kubernetes.io/hostname"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
VOLUME_PLUGINS: Final = frozenset({"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"})
DEVICE_PLUGINS: Final = frozenset({"DynamicResources"})
NOBODY: Final = "nobody recreates it: it has no controller"
NO_OWNER: Final = "its {} {} is not in the input, so nobody recreates it"
NOT_RECREATED: Final = "its {} {} has not recreated it"

_replace = msgspec.structs.replace


class DisruptionStep(Part, frozen=True):
    """One node of a rolling replacement."""

    node: str
    #: Rounds of evictions that `kubectl drain` would need.
    rounds: int
    #: Pods that left the node.
    evicted: int
    #: Pods that wait for a node when it is drained.
    pending: int
    #: The node that took its place; "" if the node could not be emptied.
    replacement: str


class Disruption(PlanAnswer, frozen=True, kw_only=True):
    """Where pods go when nodes are drained, lost or tainted."""

    #: Nothing is pending, blocked or lost because of the disruption.
    fits: bool
    #: The nodes that it is about.
    nodes: tuple[str, ...]
    #: pod → the node of the pod that came for it. The name is the one before the disruption.
    moved: dict[str, str]
    #: pod → what the scheduler says about it, or about its successor. Pods that were pending before are left out.
    pending: dict[str, str]
    #: pod that could not be evicted → its disruption budget.
    blocked: dict[str, str]
    #: pod that had to make room → the pod that it made room for.
    preempted: dict[str, str]
    #: pod that is gone and that nobody recreates → why.
    lost: dict[str, str]
    #: pending pod → "volumes" or "devices", where these hold it back.
    held_by: dict[str, list[str]]
    #: pod → the pod that came for it, where it has another name.
    successors: dict[str, str]
    #: node → rounds of evictions that `kubectl drain` would need.
    rounds: dict[str, int] = {}
    #: Of a rolling replacement, node after node.
    steps: tuple[DisruptionStep, ...] = ()
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
        parts = [f"{_count(len(self.moved), 'pod')} would move"]
        parts += [f"{_count(len(self.preempted), 'pod')} preempted"] if self.preempted else []
        parts.append(f"{len(self.pending)} pending")
        parts += [f"{len(self.blocked)} blocked by budgets"] if self.blocked else []
        parts += [f"{len(self.lost)} lost"] if self.lost else []
        return f"{', '.join(parts)}: {'everything fits' if self.fits else 'not everything fits'}"

    def rows(self) -> list[dict[str, Any]]:
        """A row per pod that something happens to."""
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
        steps = [(step.node, step.rounds, step.evicted, step.pending, step.replacement) for step in self.steps]
        return [
            Figures("At a glance", figures),
            Table("Steps", ["node", "rounds", "evicted", "pending", "replaced by"], steps),
            Table("Rounds", ["drained node", "rounds"], [] if steps else list(self.rounds.items())),
            Table("Moved", ["pod", "goes to", "as"], [(p, n, self.successors.get(p)) for p, n in self.moved.items()]),
            Table("Preempted", ["preempted", "by"], list(self.preempted.items())),
            Table("Blocked", ["blocked", "budget"], list(self.blocked.items())),
            Table("Pending", ["pending", "held by", "why"], [self._pending_row(pod) for pod in self.pending]),
            Table("Lost", ["lost", "why"], list(self.lost.items())),
            *heat_maps(self.before, self.after),
        ]

    def _pending_row(self, pod: str) -> tuple[str, str | None, str]:
        return pod, ", ".join(self.held_by.get(pod, ())) or None, self.pending[pod]


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
    simulation: Simulation, nodes: Sequence[str], *, one_by_one: bool = False, on_end: OnEnd | None = None
) -> Drain:
    """The disruption if the nodes are drained as `kubectl drain` does, all of them at once.

    `nodes` are names, label selectors and `pool/NAME`. With `one_by_one` it is a rolling replacement: a node is drained, goes,
    and a new one like it comes, before the next; it ends at a node that cannot be emptied. `on_end` gets the
    simulation at its end. Raises `InputError`.
    """
    with simulation.fork() as trial:
        trial.run()
        names, before = chosen_nodes(trial, nodes), trial.result()
        seen = picture(trial)
        if one_by_one:
            steps, result = _replaced_one_by_one(trial, names)
        else:
            for name in names:
                trial.drain(name)
            steps, result = [], trial.run()
        rounds = {name: _rounds(trial, name) for name in names if drain_rounds(trial, name)}
        fields = _difference(trial, seen, before, result, on_end)
        blocked = _blocked(trial, names)
        fits = fields.pop("fits") and not blocked and not any(not step.replacement for step in steps)
        return Drain(nodes=tuple(names), fits=fits, blocked=blocked, rounds=rounds, steps=tuple(steps), **fields)


def lose(simulation: Simulation, nodes: Sequence[str], *, on_end: OnEnd | None = None) -> Loss:
    """The disruption if the nodes are gone, all of them at once. `nodes` and `on_end` as for `drain`."""
    with simulation.fork() as trial:
        trial.run()
        names, before = chosen_nodes(trial, nodes), trial.result()
        seen = picture(trial)
        trial.delete(*(f"node/{name}" for name in names))
        result = trial.run()
        return Loss(nodes=tuple(names), blocked={}, **_difference(trial, seen, before, result, on_end))


def taint(
    simulation: Simulation, nodes: Sequence[str], taints: Sequence[str], *, on_end: OnEnd | None = None
) -> NodeTainting:
    """The disruption if the nodes get the taints, `key=value:Effect` or `key:Effect`. `nodes` and `on_end` as for `drain`.

    Pods that do not tolerate a NoExecute taint are evicted, after as long as they tolerate it; budgets are not asked, as in a
    cluster. Other effects move nobody by themselves.
    """
    added = [parse_taint(text) for text in taints]
    if not added:
        raise InputError("no taint is named", hint="use key=value:NoExecute, or key:NoSchedule")
    with simulation.fork() as trial:
        trial.run()
        names, before = chosen_nodes(trial, nodes), trial.result()
        seen = picture(trial)
        for name in names:
            present = trial.cluster.get(api.Node, name).spec.taints
            kept = [known for known in present if (known.key, known.effect) not in {(t.key, t.effect) for t in added}]
            trial.patch(f"node/{name}", {"spec": {"taints": [msgspec.to_builtins(one) for one in (*kept, *added)]}})
        result = trial.run()
        return NodeTainting(nodes=tuple(names), blocked={}, **_difference(trial, seen, before, result, on_end))


def parse_taint(text: str) -> api.Taint:
    """`key=value:Effect`, as kubectl writes it. Raises `InputError`."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if effect not in EFFECTS or key_errors(key) or value_errors(value):
        raise InputError("is no taint", value=text, hint=f"use key=value:EFFECT; effects are {', '.join(EFFECTS)}")
    return api.Taint(key=key, value=value, effect=effect)


# -- rolling replacement -----------------------------------------------------------------------------------------------


def _replaced_one_by_one(trial: Simulation, names: Iterable[str]) -> tuple[list[DisruptionStep], Result]:
    steps, result = list[DisruptionStep](), trial.result()
    for name in names:
        trial.drain(name)
        result = trial.run()
        rounds = drain_rounds(trial, name)
        evicted, is_empty = sum(len(each.evicted) for each in rounds), not rounds[-1].refused
        replacement = _replace_node(trial, name) if is_empty else ""
        if is_empty:
            result = trial.run()
        steps.append(DisruptionStep(name, _rounds(trial, name), evicted, len(result.pending), replacement))
        if not is_empty:
            break
    return steps, result


def _replace_node(trial: Simulation, name: str) -> str:
    """The node goes, and one that is like it comes."""
    node = trial.cluster.get(api.Node, name)
    new = f"{name}-new"
    labels = {**node.metadata.labels}
    if labels.get(HOSTNAME) == name:
        labels[HOSTNAME] = new
    metadata = api.ObjectMeta(name=new, labels=labels, annotations=node.metadata.annotations)
    taints = tuple(known for known in node.spec.taints if not known.key.startswith("node.kubernetes.io/"))
    spec = _replace(node.spec, unschedulable=False, taints=taints)
    status = api.NodeStatus(capacity=node.status.capacity, allocatable=node.status.allocatable)
    trial.delete(f"node/{name}")
    trial.add(_replace(node, metadata=metadata, spec=spec, status=status))
    return new


# -- the answer --------------------------------------------------------------------------------------------------------


def _difference(
    trial: Simulation, seen: Picture, before: Result, result: Result, on_end: OnEnd | None
) -> dict[str, Any]:
    """The fields that all disruptions share: the cluster now beside how it was."""
    now = picture(trial)
    follows = successors(seen, now)
    nodes = trial.cluster.objects(api.Node)
    moved = {pod: now[new].node for pod, new in follows.items() if now[new].node in nodes}
    origin = {new: pod for pod, new in follows.items()}
    waiting = {key: place for key, place in result.pending.items() if key not in before.pending}
    named = {origin.get(key, key): key for key in waiting if key in now and not now[key].node}
    lost = dict(_lost(trial, seen, now, follows))
    preempted = {one.pod: one.preemptor for one in result.preempted if one not in before.preempted}
    if on_end is not None:
        on_end(trial)
    return {
        "fits": not named and not lost,
        "moved": moved,
        "pending": {pod: waiting[key].message for pod, key in named.items()},
        "preempted": preempted,
        "lost": {pod: why for pod, why in lost.items() if pod not in preempted},
        "held_by": {pod: held for pod, key in named.items() if (held := _held_by(trial, key))},
        "successors": {pod: new for pod, new in follows.items() if pod != new},
        "seconds": round(result.summary.seconds - before.summary.seconds, 3),
        "before": fractions(before),
        "after": fractions(result),
        "notes": (*_notes(before, result, seen, now), *result.notes),
    }


def _lost(trial: Simulation, seen: Picture, now: Picture, follows: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    nodes = trial.cluster.objects(api.Node)
    owners = {obj.metadata.uid for kind in trial.cluster.kinds for obj in trial.cluster.objects(kind).values()}
    for key, pod in seen.items():
        is_there = key in now and now[key].uid == pod.uid and (not pod.node or now[key].node in nodes)
        if is_there or key in follows or pod.owner_kind == DAEMON_SET:
            continue
        if not pod.owner:
            yield key, NOBODY
        else:
            why = NOT_RECREATED if pod.owner in owners else NO_OWNER
            yield key, why.format(pod.owner_kind, pod.owner_name)


def _held_by(trial: Simulation, pod: str) -> list[str]:
    plugins = rejecting_plugins(trial, pod)
    held = {"volumes": VOLUME_PLUGINS, "devices": DEVICE_PLUGINS}
    return [what for what, those in held.items() if plugins & those]


def _blocked(trial: Simulation, names: Iterable[str]) -> dict[str, str]:
    """Pods that the last round of a drain could not evict, with their budgets."""
    blocked: dict[str, str] = {}
    for name in names:
        rounds = drain_rounds(trial, name)
        for pod, message in (rounds[-1].refused if rounds else {}).items():
            found = trial.cluster.find(api.Pod, pod)
            budgets = [] if found is None else [api.key(budget) for budget in budgets_of(trial.cluster, found)]
            blocked[pod] = ", ".join(budgets) or message
    return blocked


def _rounds(trial: Simulation, node: str) -> int:
    """Rounds in which something was evicted or refused; those that only wait for pods to end are none."""
    return sum(bool(each.evicted or each.refused) for each in drain_rounds(trial, node))


def _notes(before: Result, result: Result, seen: Picture, now: Picture) -> Iterator[str]:
    if result.stopped:
        yield result.stopped
    pending = len(before.pending)
    if pending:
        yield f"{_count(pending, 'pod')} of the cluster {'was' if pending == 1 else 'were'} pending before"
    kinds = Counter(pod.owner_kind for key, pod in seen.items() if key not in now)
    if kinds[DAEMON_SET]:
        yield f"{_count(kinds[DAEMON_SET], 'pod')} of DaemonSets {'goes' if kinds[DAEMON_SET] == 1 else 'go'} with the node"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _some(names: Sequence[str], most: int = 3) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {_count(more, 'more node')}" if more > 0 else "")
