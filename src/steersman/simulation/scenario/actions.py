# SPDX-License-Identifier: Apache-2.0
"""Execution of timeline steps on a simulation.

`timeline` checks and schedules them; `perform` executes one and returns a line about it. Failures
are `InputError`s with the path of the field in the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError
from steersman.simulation.node_pools import PRICE_ANNOTATION, ClusterPools, pool_of
from steersman.simulation.scenario.document import NewNodes, NodeChoice, PriceChange, Step, Tainting
from steersman.simulation.scenario.targets import (
    LOADED,
    ROLLABLE,
    SCALABLE,
    chosen_nodes,
    listed,
    load_patch,
    parse_target,
    rollout_patch,
)
from steersman.simulation.simulation import Simulation

NODE_ACTIONS: Final[dict[str, tuple[Callable[[Simulation, str], object], str]]] = {
    "crash": (Simulation.crash, "crashed"),
    "recover": (Simulation.recover, "back"),
    "reboot": (Simulation.reboot, "rebooting"),
    "delete_nodes": (lambda sim, name: sim.delete(f"node/{name}"), "deleted"),
    "cordon": (Simulation.cordon, "cordoned"),
    "uncordon": (Simulation.uncordon, "uncordoned"),
    "drain": (Simulation.drain, "drained"),
}
MAX_NAMES: Final = 3
"""Number of names shown in messages."""
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_replace = msgspec.structs.replace


class Actions:
    """Executor of steps on one simulation."""

    def __init__(self, simulation: Simulation, pools: ClusterPools) -> None:
        self._simulation = simulation
        self._pools = pools
        self._arrived: dict[str, int] = {}

    def perform(self, step: Step, objects: Sequence[api.Object], path: str) -> str:
        """Execute the step and describe it; `objects` are those of `apply`. Raises `InputError`."""
        try:
            return self._perform(step, objects, path)
        except InputError as error:
            raise error if error.field and error.field.startswith(path) else error.located(field=path) from error

    def _perform(self, step: Step, objects: Sequence[api.Object], path: str) -> str:
        for field, (act, verb) in NODE_ACTIONS.items():
            choice: NodeChoice | None = getattr(step, field)
            if choice is not None:
                return self._act_on_nodes(choice, act, verb, path)
        if step.apply is not None:
            self._simulation.apply(objects)
            return f"applied {_named([_name(obj) for obj in objects])}"
        if step.delete is not None:
            targets = [parse_target(text, path) for text in listed(step.delete)]
            self._simulation.delete(*(target.reference for target in targets))
            return f"deleted {_named([str(target) for target in targets])}"
        if step.add_nodes is not None:
            return self._add_nodes(step.add_nodes)
        if step.taint is not None:
            return self._taint(step.taint, f"{path}.nodes")
        if step.price is not None:
            return self._price(step.price, f"{path}.nodes")
        return self._change_workload(step, path)

    def _change_workload(self, step: Step, path: str) -> str:
        simulation = self._simulation
        if step.scale is not None:
            target = parse_target(step.scale.target, f"{path}.target", SCALABLE)
            before = getattr(getattr(simulation.cluster.find(target.kind, target.key), "spec", None), "replicas", None)
            simulation.patch(target.reference, {"spec": {"replicas": step.scale.replicas}})
            return f"scaled {target} from {before} to {step.scale.replicas}"
        if step.rollout is not None:
            target = parse_target(step.rollout.target, f"{path}.target", ROLLABLE)
            simulation.patch(target.reference, rollout_patch(simulation.cluster, target, step.rollout, path))
            how = "back" if step.rollout.undo else step.rollout.image or "by restart" if step.rollout.restart else ""
            return f"rolls {target}{f' to {step.rollout.image}' if step.rollout.image else f' {how}' if how else ''}"
        assert step.load is not None, "a step has one action"
        target = parse_target(step.load.target, f"{path}.target", LOADED)
        simulation.patch(target.reference, load_patch(simulation.cluster, target, step.load, path))
        return f"load of {target} is {step.load.curve}"

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _act_on_nodes(self, choice: NodeChoice, act: Callable[[Simulation, str], object], verb: str, path: str) -> str:
        names = chosen_nodes(choice, self._simulation.cluster, path)
        for name in names:
            act(self._simulation, name)
        return _nodes_sentence(names, verb)

    def _add_nodes(self, new: NewNodes) -> str:
        taken = self._simulation.cluster.objects(api.Node)
        if new.pool:
            nodes = self._pools.new_nodes(self._pools[new.pool], new.count, taken)
        else:
            nodes = list(self._made_of_template(new, taken))
        self._simulation.add(nodes)
        return _nodes_sentence([node.metadata.name for node in nodes], "arrived")

    def _made_of_template(self, new: NewNodes, taken: Iterable[str]) -> Iterable[api.Node]:
        template, names = codec.convert(new.template, api.Node), set(taken)
        prefix = template.metadata.name or "node"
        number = self._arrived.get(prefix, 0)
        for _ in range(new.count):
            while (name := f"{prefix}-{number}") in names:
                number += 1
            number += 1
            labels = {**template.metadata.labels, api.HOSTNAME_LABEL: name}
            yield _replace(template, metadata=_replace(template.metadata, name=name, labels=labels))
        self._arrived[prefix] = number

    def _taint(self, taint: Tainting, path: str) -> str:
        names = chosen_nodes(taint.nodes, self._simulation.cluster, path)
        for name in names:
            node = self._simulation.cluster.get(api.Node, name)
            taints = changed_taints(node.spec.taints, taint.add, taint.remove)
            self._simulation.patch(f"node/{name}", {"spec": {"taints": [msgspec.to_builtins(each) for each in taints]}})
        changes = [*(f"+{text}" for text in taint.add), *(f"-{text}" for text in taint.remove)]
        return _nodes_sentence(names, f"got other taints: {', '.join(changes)}")

    def _price(self, price: PriceChange, path: str) -> str:
        store = self._simulation.cluster
        if price.pool:
            self._pools.set_price(price.pool, price.per_hour)
            names = [name for name, node in store.objects(api.Node).items() if pool_of(node) == price.pool]
        else:
            names = chosen_nodes(price.nodes, store, path)
        annotations = {PRICE_ANNOTATION: str(price.per_hour)}
        for name in names:
            self._simulation.patch(f"node/{name}", {"metadata": {"annotations": annotations}})
        return _nodes_sentence(names, f"cost {price.per_hour:g} per hour")


# -- taints ------------------------------------------------------------------------------------------------------------


def parse_taint(text: str, path: str) -> api.Taint:
    """Parse `key=value:Effect` or `key:Effect`. Raises `InputError`."""
    label, colon, effect = text.rpartition(":")
    key, _, value = label.partition("=")
    if not colon or not key or effect not in EFFECTS:
        raise InputError(
            "is not a taint", field=path, value=text, hint=f"write key=value:Effect with {' or '.join(EFFECTS)}"
        )
    return api.Taint(key=key, value=value, effect=effect)


def changed_taints(taints: Iterable[api.Taint], add: Sequence[str], remove: Sequence[str]) -> list[api.Taint]:
    """Return the taints without `remove` and with `add`, which replace equal keys and effects."""
    new = [parse_taint(text, "") for text in add]
    replaced = {(taint.key, taint.effect) for taint in new}
    kept = [
        taint
        for taint in taints
        if (taint.key, taint.effect) not in replaced and not any(_is_meant(taint, text) for text in remove)
    ]
    return [*kept, *new]


def _is_meant(taint: api.Taint, text: str) -> bool:
    label, _, effect = text.partition(":")
    key, equals, value = label.partition("=")
    return taint.key == key and (not effect or taint.effect == effect) and (not equals or taint.value == value)


# -- words -------------------------------------------------------------------------------------------------------------


def _name(obj: api.Object) -> str:
    """Return kind and key, such as `Deployment default/web`."""
    name = obj.metadata.name or obj.metadata.generate_name
    return f"{obj.KIND} {obj.metadata.namespace or 'default'}/{name}" if obj.NAMESPACED else f"{obj.KIND} {name}"


def _named(names: Sequence[str]) -> str:
    """Return the first names, and the number of remaining ones."""
    shown = ", ".join(names[:MAX_NAMES])
    return f"{shown} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else shown or "nothing"


def _nodes_sentence(names: Sequence[str], verb: str) -> str:
    if not names:
        return f"no nodes {verb}: none matches"
    return f"{'node' if len(names) == 1 else f'{len(names)} nodes'} {_named(names)} {verb}"
