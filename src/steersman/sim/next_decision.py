# SPDX-License-Identifier: Apache-2.0
"""The next decision, before it is made: the pod whose turn it is, the nodes that it fits on, and what speaks against others.

`Simulation.next_decision` makes it of an evaluation by the scheduler's own engine; nothing is assumed by that, and no random
number is drawn. `Simulation.decide` then places the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from steersman.assembly.scheduler import Preview
from steersman.engine.evaluation import Evaluation
from steersman.errors import InputError


class NextDecision(msgspec.Struct, frozen=True):
    """A pod and its choices. Plain values: it stays as it is when the simulation goes on."""

    #: `namespace/name`.
    pod: str
    #: Names of the nodes that pass every filter, in no particular order.
    feasible: tuple[str, ...]
    #: By feasible node: the sum of all plugins' scores, each with its weight. All are 0 where there is but one.
    scores: Mapping[str, int]
    #: By plugin and feasible node: the score with its weight.
    scores_by_plugin: Mapping[str, Mapping[str, int]]
    #: By node that does not pass: what the first plugin said that rejected it.
    verdicts: Mapping[str, str]
    #: What the pod fails with if nothing can be tried at all: there is no node, or a plugin is broken; "" otherwise.
    message: str = ""

    @property
    def best(self) -> tuple[str, ...]:
        """The nodes with the greatest score: the scheduler takes one of them."""
        greatest = max(self.scores.values(), default=0)
        return tuple(node for node, score in self.scores.items() if score == greatest)

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {**document, "best": list(self.best)}


def next_decision(preview: Preview) -> NextDecision:
    """The decision that is next, in plain values, made of an evaluation of its pod."""
    evaluation = preview.evaluation
    if evaluation is None:
        return NextDecision(preview.pod.key, (), {}, {}, {}, preview.message)
    feasible = tuple(evaluation.feasible()) if evaluation.feasible_count else ()
    scores, by_plugin = _scores(evaluation, feasible)
    return NextDecision(preview.pod.key, feasible, scores, by_plugin, _verdicts(evaluation))


def check_feasible(preview: Preview, node: str) -> None:
    """Raises `InputError` unless the pod fits on the node."""
    evaluation, pod = preview.evaluation, f"Pod {preview.pod.key}"
    if evaluation is None:
        raise InputError(f"cannot be placed: {preview.message}", object=pod)
    if evaluation.feasible_count and node in evaluation.feasible():
        return
    rejected = evaluation.pre_filter.status or evaluation.statuses().of(node)
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
