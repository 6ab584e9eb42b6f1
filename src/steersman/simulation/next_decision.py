# SPDX-License-Identifier: Apache-2.0
"""The next decision before it is made: the pod, its feasible nodes, and reasons against others.

`Simulation.next_decision` creates it from an evaluation by the scheduler's engine, which assumes
nothing and draws no random numbers. `Simulation.decide` then places the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from steersman.base import InputError
from steersman.scheduler.assembly import Preview
from steersman.scheduler.engine import Evaluation


class NextDecision(msgspec.Struct, frozen=True):
    """A pod and its choices as plain values, independent of later changes of the simulation."""

    #: The pod's `namespace/name`.
    pod: str
    #: Names of the nodes that pass every filter, in no particular order.
    feasible: tuple[str, ...]
    #: Feasible node → weighted sum of all plugins' scores; 0 for a single feasible node.
    scores: Mapping[str, int]
    #: Plugin → feasible node → weighted score.
    scores_by_plugin: Mapping[str, Mapping[str, int]]
    #: Rejected node → message of the first plugin that rejected it.
    verdicts: Mapping[str, str]
    #: Error if the pod cannot be evaluated (no nodes, or a broken plugin), or "".
    message: str = ""

    @property
    def best(self) -> tuple[str, ...]:
        """The nodes with the highest score, one of which the scheduler chooses."""
        greatest = max(self.scores.values(), default=0)
        return tuple(node for node, score in self.scores.items() if score == greatest)

    def __repr__(self) -> str:
        counts = f"feasible={len(self.feasible)} nodes, rejected={len(self.verdicts)}"
        return f"NextDecision(pod={self.pod!r}, {counts}, best={self.best[:3]!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {**document, "best": list(self.best)}


def next_decision(preview: Preview) -> NextDecision:
    """Return the next decision as plain values, from the evaluation of its pod."""
    evaluation = preview.evaluation
    if evaluation is None:
        return NextDecision(preview.pod.key, (), {}, {}, {}, preview.message)
    feasible = tuple(evaluation.feasible()) if evaluation.feasible_count else ()
    scores, by_plugin = _scores(evaluation, feasible)
    return NextDecision(preview.pod.key, feasible, scores, by_plugin, _verdicts(evaluation))


def check_feasible(preview: Preview, node: str) -> None:
    """Raise `InputError` unless the node is feasible for the pod."""
    evaluation, pod = preview.evaluation, f"Pod {preview.pod.key}"
    if evaluation is None:
        raise InputError(f"cannot be placed: {preview.message}", object=pod)
    if evaluation.feasible_count and node in evaluation.feasible():
        return
    rejected = evaluation.pre_filter.status or evaluation.statuses().status_of(node)
    why = "there is no such node" if rejected is None else rejected.message
    hint = "next_decision().feasible has those that it fits on"
    raise InputError(f'cannot be placed on node "{node}": {why}', object=pod, hint=hint)


def _scores(evaluation: Evaluation, feasible: tuple[str, ...]) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    table = evaluation.scores() if feasible else None
    if table is None:
        return dict.fromkeys(feasible, 0), {}
    by_plugin = {
        plugin.name: {
            node: int(score) * plugin.weight for node, score in zip(table.nodes, plugin.normalised, strict=True)
        }
        for plugin in table.plugins
    }
    return {node: int(total) for node, total in zip(table.nodes, table.total, strict=True)}, by_plugin


def _verdicts(evaluation: Evaluation) -> dict[str, str]:
    rejected = evaluation.pre_filter.status
    found = {name: status.message for status, names in evaluation.statuses().groups.items() for name in names}
    return found or ({} if rejected is None else {"*": rejected.message})
