# SPDX-License-Identifier: Apache-2.0
"""The timeline of a scenario: checked steps and their times. `actions` executes them."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import codec, quantity_checks, similar
from steersman.base import InputError
from steersman.cluster.controllers import HINT as CURVE_HINT, NOT_A_CURVE, parse_curve
from steersman.simulation.inputs.sources import Source
from steersman.simulation.scenario.actions import parse_taint
from steersman.simulation.scenario.document import ACTIONS, JsonObject, NewNodes, PriceChange, Rollout, Step
from steersman.simulation.scenario.targets import LOADED, ROLLABLE, SCALABLE, listed, parse_target
from steersman.simulation.scenario.times import seconds

NO_POOL: Final = "is not a pool of the scenario"


class PreparedStep(NamedTuple):
    """A checked step."""

    step: Step
    action: str
    path: str
    at: float
    every: float | None
    #: Sources of `apply`: paths, relative to the scenario's folder resolved, and objects.
    sources: list[Source]


class Timeline:
    """The pending steps in chronological order; ties in the order of the document."""

    def __init__(self, steps: Sequence[PreparedStep]) -> None:
        self._heap = [(step.at, index, 0) for index, step in enumerate(steps)]
        self._steps = steps
        heapq.heapify(self._heap)

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    @property
    def is_over(self) -> bool:
        """Whether only endlessly repeating steps are left."""
        return not any(self._is_awaited(index) for _, index, _ in self._heap)

    def due(self, now: float) -> list[PreparedStep]:
        found = []
        while self._heap and self._heap[0][0] <= now:
            at, index, count = heapq.heappop(self._heap)
            prepared = self._steps[index]
            found.append(prepared)
            if prepared.every is not None and (prepared.step.times is None or count + 1 < prepared.step.times):
                heapq.heappush(self._heap, (at + prepared.every, index, count + 1))
        return found

    def _is_awaited(self, index: int) -> bool:
        prepared = self._steps[index]
        return prepared.every is None or prepared.step.times is not None


def prepare_step(step: Step, index: int, base: Path, pools: Collection[str]) -> PreparedStep:
    """Check a step without a cluster. Raises `InputError` with the path of the field."""
    path = f"timeline[{index}]"
    actions = [
        field
        for field in msgspec.structs.fields(Step)
        if field.encode_name in ACTIONS and getattr(step, field.name) is not None
    ]
    if len(actions) != 1:
        names = ", ".join(field.encode_name for field in actions)
        message = f"has {len(actions)} actions: {names}" if actions else "has no action"
        hint = "write a step for each" if actions else f"write one of {', '.join(ACTIONS)}"
        raise InputError(message, field=path, hint=hint)
    action = actions[0].encode_name
    at = seconds(step.at, f"{path}.at")
    every = None if step.every is None else seconds(step.every, f"{path}.every")
    if every == 0:
        raise InputError("must be more than 0", field=f"{path}.every", value=step.every)
    if step.times is not None and every is None:
        raise InputError(
            "needs every", field=f"{path}.times", value=step.times, hint="write how long after one another"
        )
    _check_action(step, f"{path}.{action}", pools)
    return PreparedStep(step, action, f"{path}.{action}", at, every, sources(step.apply, base))


def sources(document: list[str | JsonObject] | str | JsonObject | None, base: Path) -> list[Source]:
    """Return the sources, with file paths joined to the scenario's folder."""
    items = document if isinstance(document, list) else [] if document is None else [document]
    return [str(base / item) if isinstance(item, str) else item for item in items]


def _check_action(step: Step, path: str, pools: Collection[str]) -> None:
    if step.scale is not None:
        parse_target(step.scale.target, f"{path}.target", SCALABLE)
    if step.delete is not None:
        for index, text in enumerate(listed(step.delete)):
            parse_target(text, path if isinstance(step.delete, str) else f"{path}[{index}]")
    if step.rollout is not None:
        _check_rollout(step.rollout, path)
    if step.add_nodes is not None:
        _check_new_nodes(step.add_nodes, path, pools)
    if step.taint is not None:
        for index, text in enumerate(step.taint.add):
            parse_taint(text, f"{path}.add[{index}]")
        if not (step.taint.add or step.taint.remove):
            raise InputError("changes nothing", field=path, hint="write add or remove")
    if step.price is not None:
        _check_price(step.price, path, pools)
    if step.load is not None:
        parse_target(step.load.target, f"{path}.target", LOADED)
        try:
            parse_curve(step.load.curve)
        except InputError as error:
            message = f"{NOT_A_CURVE}: {error}"
            raise InputError(message, field=f"{path}.curve", value=step.load.curve, hint=CURVE_HINT) from error


def _check_rollout(rollout: Rollout, path: str) -> None:
    target = parse_target(rollout.target, f"{path}.target", ROLLABLE)
    ways = ("image", "template", "restart", "undo")
    given_ways = [way for way in ways if getattr(rollout, way)]
    if len(given_ways) != 1:
        raise InputError(
            f"says {len(given_ways)} things: {', '.join(given_ways) or 'none'}",
            field=path,
            hint=f"write one of {', '.join(ways)}",
        )
    if rollout.undo and target.kind is not api.Deployment:
        raise InputError("is for Deployments only", field=f"{path}.undo", value=rollout.target)


def _check_new_nodes(new: NewNodes, path: str, pools: Collection[str]) -> None:
    if bool(new.pool) == (new.template is not None):
        raise InputError("needs a pool or a template", field=path, hint="write one of them")
    if new.pool:
        _check_pool(new.pool, f"{path}.pool", pools)
    else:
        try:
            quantity_checks.check_quantities(codec.convert(new.template, api.Node))
        except InputError as error:
            raise error.beneath(f"{path}.template") from error


def _check_price(price: PriceChange, path: str, pools: Collection[str]) -> None:
    if bool(price.pool) == bool(price.nodes):
        raise InputError("needs a pool or nodes", field=path, hint="write one of them")
    if price.pool and pools:
        _check_pool(price.pool, f"{path}.pool", pools)


def _check_pool(name: str, path: str, pools: Collection[str]) -> None:
    if name not in pools:
        raise InputError(NO_POOL, field=path, value=name, hint=similar(name, list(pools)))
