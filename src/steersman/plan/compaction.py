# SPDX-License-Identifier: Apache-2.0
"""`plan compact`: a few moves, in an order that budgets allow, that make pending pods fit or empty nodes.

A move is an eviction: the pod's controller makes another one, and the scheduler places that one where it wants to. So moves
are not calculated but tried: on a fork, one at a time, each of which comes to rest before the next. A move counts only if its
budget allows it, the pod's successor is placed, and no pod is pending or preempted that was not before. What fails is dropped
with its fork.

To make a pending pod fit, pods are moved off a node on which nothing but room is missing, the largest first, until the pod is
there. To empty a node, it is cordoned and all of its pods are moved, those of DaemonSets and static ones aside; nodes with the
fewest pods to move are tried first, of those the dearest. Nodes with pods that nobody would recreate are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.controllers.controller import controller_of
from steersman.errors import InputError
from steersman.framework.pod_resources import pod_requests
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.kubelets.drain import MIRROR_POD
from steersman.plan.answer import OnEnd, Part, PlanAnswer
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.plan.pod_succession import DAEMON_SET, picture, successors
from steersman.report import Cell, Figures, Section, Table
from steersman.sim import Result, Simulation
from steersman.sim.node_costs import price_of

BUDGET: Final = 20
TRIES: Final = 100
"""So many nodes are tried, at most, for a pending pod, and so many to be emptied."""
ROOM: Final = frozenset({"NodeResourcesFit"})
MAKES_FIT: Final = "makes room for {}"
EMPTIES: Final = "empties {}"


class Move(Part, frozen=True):
    """One eviction, and where its successor goes."""

    pod: str
    from_: str = msgspec.field(name="from")
    to: str
    #: The pod that came for it.
    successor: str
    why: str


class Compaction(PlanAnswer, frozen=True, kw_only=True):
    """Moves that make pending pods fit or empty nodes, in their order."""

    KIND: ClassVar[str] = "Compaction"

    #: A pending pod fits, or a node is empty, after the moves.
    fits: bool
    moves: tuple[Move, ...]
    #: Pod that was pending → the node that it gets.
    placed: dict[str, str]
    #: Nodes that can go, in the order in which they are cordoned and emptied; those that are empty already come first.
    emptied: tuple[str, ...]
    #: Pod that is still pending → what the scheduler says about it.
    pending: dict[str, str]
    #: What the emptied nodes cost per hour.
    saved: float
    #: Node that could not be emptied → why.
    kept: dict[str, str]
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        return self.fits

    def question(self) -> str:
        return "Which moves make pending pods fit, or empty nodes?"

    def sentence(self) -> str:
        if not self.fits:
            return "no moves were found that make a pending pod fit or empty a node"
        parts = [f"make {_count(len(self.placed), 'pending pod')} fit"] if self.placed else []
        parts += [f"empty {_count(len(self.emptied), 'node')}"] if self.emptied else []
        saved = f", which {'costs' if len(self.emptied) == 1 else 'cost'} {self.saved:g} per hour" if self.saved else ""
        return f"{_count(len(self.moves), 'move')} would {' and '.join(parts)}{saved}"

    def rows(self) -> list[dict[str, Any]]:
        """A row per move, in their order."""
        return [{"step": step, **msgspec.to_builtins(move)} for step, move in enumerate(self.moves, 1)]

    def sections(self) -> list[Section]:
        figures: dict[str, Cell] = {
            "moves": len(self.moves),
            "emptied nodes": len(self.emptied),
            "pods placed": len(self.placed),
        }
        moves = [(step, m.pod, m.from_, m.to, m.why) for step, m in enumerate(self.moves, 1)]
        return [
            Figures("At a glance", figures),
            Table("Moves", ["step", "evict", "from", "to", "why"], moves),
            Table("Placed", ["pending pod", "goes to"], list(self.placed.items())),
            Table("Still pending", ["still pending", "why"], list(self.pending.items())),
            Table("Not emptied", ["not emptied", "why"], list(self.kept.items())),
            *heat_maps(self.before, self.after),
        ]


def compact(
    simulation: Simulation,
    *,
    budget: int = BUDGET,
    pods: Sequence[str] | None = None,
    tries: int = TRIES,
    on_end: OnEnd | None = None,
) -> Compaction:
    """At most `budget` moves that make pending pods fit, and with those that are left, that empty nodes.

    `pods` are the pending pods to care for, as `namespace/name`: then no nodes are emptied. `tries` nodes are looked at for
    each. `on_end` gets the simulation after the moves. Raises `InputError` for a pod that is not pending.
    """
    trial = simulation.fork()
    before = trial.run()
    search = _Search(trial, budget, tries)
    for pod in _wanted(before, pods):
        search.make_fit(pod)
    kept = search.empty_nodes() if pods is None else {}
    result = search.trial.result()
    if on_end is not None:
        on_end(search.trial)
    nodes = search.trial.cluster.objects(api.Node)
    answer = Compaction(
        fits=bool(search.placed or search.emptied),
        moves=tuple(search.moves),
        placed=search.placed,
        emptied=tuple(search.emptied),
        pending={pod: place.message for pod, place in result.pending.items()},
        saved=round(sum(price_of(nodes[name]) for name in search.emptied), 6),
        kept=kept,
        before=fractions(before),
        after=fractions(result),
        notes=(*_idle_note(search), *((before.stopped,) if before.stopped else ()), *before.notes),
    )
    search.trial.close()
    return answer


def _idle_note(search: _Search) -> Iterator[str]:
    sources = {move.from_ for move in search.moves}
    idle = [name for name in search.emptied if name not in sources]
    if idle:
        yield f"{_count(len(idle), 'node')} without pods, cordoned before anything moves: {', '.join(idle[:5])}"


def _wanted(before: Result, pods: Sequence[str] | None) -> list[str]:
    pending = [pod for pod, place in before.pending.items() if place.reason == "Unschedulable"]
    if pods is None:
        return pending
    names = [pod if "/" in pod else f"default/{pod}" for pod in pods]
    for name in names:
        if name not in pending:
            hint = f"pending are: {', '.join(pending[:5]) or 'none'}"
            raise InputError("is not pending because it fits nowhere", object=f"Pod {name}", hint=hint)
    return names


class _Search:
    """The cluster as far as moves have brought it, and those moves."""

    def __init__(self, trial: Simulation, budget: int, tries: int) -> None:
        self.trial = trial
        self._left = budget
        self._tries = tries
        self.moves: list[Move] = []
        self.placed: dict[str, str] = {}
        self.emptied: list[str] = []

    # -- pending pods ------------------------------------------------------------------------------------------------

    def make_fit(self, pod: str) -> None:
        """Moves pods off a node for the pending pod, if any node will do; it may have got one by earlier moves."""
        node = self._node_of(self.trial, pod)
        if node:
            self.placed[pod] = node
            return
        for movable in self._pods_in_the_way(pod):
            if self._tried(partial(self._moved_until_placed, movable=movable, pod=pod)) is not None:
                self.placed[pod] = self._node_of(self.trial, pod)
                return

    def _pods_in_the_way(self, pod: str) -> list[list[str]]:
        """For every node on which nothing but room is missing, the pods to move, largest first; fewest moves first."""
        explanation = self.trial.result().explain(pod)
        wanted = pod_requests(self.trial.cluster.get(api.Pod, pod))
        found = []
        usages = self.trial.result().utilisation.nodes
        for node in explanation.nodes:
            if node.fits or {verdict.plugin for verdict in node.verdicts} - ROOM:
                continue
            free = {name: usage.allocatable - usage.requested for name, usage in usages[node.node].items()}
            missing = {
                name: amount - free.get(name, 0) for name, amount in wanted.items() if amount > free.get(name, 0)
            }
            movable = self._movable(node.node, missing)
            if movable is not None and len(movable) <= self._left:
                found.append(movable)
        found.sort(key=len)
        return found[: self._tries]

    def _movable(self, node: str, missing: Mapping[str, int]) -> list[str] | None:
        """Pods of the node that have to go until nothing is missing, largest first; None if all of them are not enough."""
        left, chosen = dict(missing), list[str]()
        pods = [pod for pod in _pods_on(self.trial, node) if _is_recreated(self.trial, pod) and not _stays(pod)]
        sizes = {api.key(pod): pod_requests(pod) for pod in pods}
        for key in sorted(sizes, key=lambda key: (-_size(sizes[key], missing), key)):
            if all(amount <= 0 for amount in left.values()):
                break
            chosen.append(key)
            left = {name: amount - sizes[key].get(name, 0) for name, amount in left.items()}
        return chosen if all(amount <= 0 for amount in left.values()) else None

    def _moved_until_placed(self, trial: Simulation, movable: Sequence[str], pod: str) -> list[Move] | None:
        moves: list[Move] = []
        for key in movable:
            move = _move(trial, key, MAKES_FIT.format(pod), pod)
            if move is None:
                return None
            moves.append(move)
            if self._node_of(trial, pod):
                return moves
        return moves if self._node_of(trial, pod) else None

    # -- empty nodes -------------------------------------------------------------------------------------------------

    def empty_nodes(self) -> dict[str, str]:
        """Empties nodes one after the other; those that cannot be, and why."""
        kept: dict[str, str] = {}
        for name in self._candidates()[: self._tries]:
            pods = [pod for pod in _pods_on(self.trial, name) if not _stays(pod)]
            alone = next((api.key(pod) for pod in pods if not _is_recreated(self.trial, pod)), "")
            if alone:
                kept[name] = f"nobody would recreate pod {alone}"
            elif len(pods) > self._left:
                kept[name] = f"takes {_count(len(pods), 'move')}, of which {self._left} are left"
            else:
                why = self._emptied(name, [api.key(pod) for pod in pods])
                if why:
                    kept[name] = why
                else:
                    self.emptied.append(name)
        return kept

    def _candidates(self) -> list[str]:
        """Nodes that pods can be scheduled on, those with the fewest pods to move first, of these the dearest."""
        nodes = self.trial.cluster.objects(api.Node).values()
        counts = {node.metadata.name: 0 for node in nodes if not node.spec.unschedulable}
        for pod in self.trial.cluster.objects(api.Pod).values():
            if pod.spec.node_name in counts and not _stays(pod) and pod.status.phase not in FINISHED_PHASES:
                counts[pod.spec.node_name] += 1
        prices = {node.metadata.name: price_of(node) for node in nodes}
        return sorted(counts, key=lambda name: (counts[name], -prices[name], name))

    def _emptied(self, node: str, pods: Sequence[str]) -> str:
        """Why the node could not be emptied; "" if it was."""
        failed = ""

        def empty(trial: Simulation) -> list[Move] | None:
            nonlocal failed
            trial.cordon(node)
            moves: list[Move] = []
            for key in sorted(pods, key=lambda key: -_size(pod_requests(trial.cluster.get(api.Pod, key)), {})):
                move = _move(trial, key, EMPTIES.format(node))
                if move is None:
                    failed = f"pod {key} cannot move"
                    return None
                moves.append(move)
            return moves

        return failed if self._tried(empty) is None else ""

    # -- both --------------------------------------------------------------------------------------------------------

    def _tried(self, attempt: Callable[[Simulation], list[Move] | None]) -> list[Move] | None:
        """The moves of an attempt on a fork, which takes the cluster's place if there are any; None: it came to nothing."""
        trial = self.trial.fork()
        moves = attempt(trial)
        if moves is None:
            trial.close()
            return None
        self.trial.close()
        self.trial = trial
        self.moves += moves
        self._left -= len(moves)
        return moves

    def _node_of(self, trial: Simulation, pod: str) -> str:
        found = trial.cluster.find(api.Pod, pod)
        return "" if found is None else found.spec.node_name


def _move(trial: Simulation, pod: str, why: str, may_wait: str = "") -> Move | None:
    """Evicts the pod and lets everything come to rest; None if its budget forbids that, or if somebody is worse off.

    `may_wait` is the pod for which room is made: it may still be pending.
    """
    before, seen = trial.result(), picture(trial)
    try:
        trial.evict(pod)
    except InputError:
        return None
    result, now = trial.run(), picture(trial)
    if result.stopped or set(result.pending) - set(before.pending) - {may_wait}:
        return None
    if len(result.preempted) > len(before.preempted):
        return None
    new = successors(seen, now).get(pod, "")
    node = now[new].node if new else ""
    return Move(pod, from_=seen[pod].node, to=node, successor=new, why=why) if node and node != seen[pod].node else None


def _pods_on(trial: Simulation, node: str) -> Iterator[api.Pod]:
    pods = trial.cluster.objects(api.Pod).values()
    return (pod for pod in pods if pod.spec.node_name == node and pod.status.phase not in FINISHED_PHASES)


def _stays(pod: api.Pod) -> bool:
    """Pods of DaemonSets and static pods belong to their node."""
    owner = controller_of(pod)
    return MIRROR_POD in pod.metadata.annotations or (owner is not None and owner.kind == DAEMON_SET)


def _is_recreated(trial: Simulation, pod: api.Pod) -> bool:
    owner = controller_of(pod)
    if owner is None:
        return False
    kind = api.KINDS.get(owner.kind)
    found = None if kind is None else trial.cluster.find(kind, f"{pod.metadata.namespace}/{owner.name}")
    return found is not None and found.metadata.uid == owner.uid


def _size(requests: Mapping[str, int], missing: Mapping[str, int]) -> float:
    """How much of what is missing the pod has; of cpu and memory if nothing is."""
    if missing:
        return sum(min(1.0, requests.get(name, 0) / amount) for name, amount in missing.items() if amount > 0)
    return requests.get("cpu", 0) / 1000 + requests.get("memory", 0) / 2**32


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
