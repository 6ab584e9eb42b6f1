# SPDX-License-Identifier: Apache-2.0
"""Changes that help a group of pods: a smaller gang, another topology level, more nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from steersman import api
from steersman.explain.fixes import new_node
from steersman.explain.fixes.changes import Change, Document, NumberedChange
from steersman.explain.fixes.fix import FixKind, ObjectName
from steersman.explain.groups import GroupExplanation
from steersman.simulation import Simulation

MAX_LEVELS: Final = 3
"""Maximum number of other topology levels that are tried."""
_RECREATE: Final = (
    "# schedulingConstraints of a PodGroup cannot be changed: recreate PodGroup {} and its pods with the new value"
)


def lower_min_count(found: GroupExplanation) -> NumberedChange | None:
    """Return smaller gangs; None for a group that is no gang or has one member."""
    count = found.min_count
    if count is None or count < 2:
        return None
    placed = found.running + (found.placements[0].placed if found.placements else 0)
    target = _name(found)

    def at(step: int) -> Change:
        def edit(document: Document) -> None:
            document["spec"]["schedulingPolicy"]["gang"]["minCount"] = count - step

        summary = f"lower minCount of PodGroup {target.name} from {count} to {count - step}"
        return Change(FixKind.MIN_COUNT, summary, target, edit)

    return NumberedChange("minCount", FixKind.MIN_COUNT, min(max(count - placed, 1), count - 1), count - 1, at)


def other_levels(simulation: Simulation, found: GroupExplanation) -> Iterator[Change]:
    """Yield larger domains for the members, smallest first, and at last the whole cluster."""
    if not found.topology_key:
        return
    domains = _domains(simulation)
    count = len(domains.pop(found.topology_key, ()))
    larger = sorted((-len(values), key) for key, values in domains.items() if 1 < len(values) < count)
    for _, key in larger[:MAX_LEVELS]:
        yield _level(found, key)
    yield _level(found, "")


def _level(found: GroupExplanation, key: str) -> Change:
    target = _name(found)

    def edit(document: Document) -> None:
        if key:
            document["spec"]["schedulingConstraints"]["topology"][0]["key"] = key
        else:
            del document["spec"]["schedulingConstraints"]

    change = f"from {found.topology_key} to {key}" if key else f"(now one domain of {found.topology_key})"
    verb = "change" if key else "remove"
    summary = f"{verb} the topology constraint of PodGroup {target.name} {change}"
    return Change(FixKind.TOPOLOGY_LEVEL, summary, target, edit, command=_RECREATE.format(target.name))


def _domains(simulation: Simulation) -> dict[str, set[str]]:
    """Return the values of each label that all nodes have."""
    nodes = [node.metadata.labels for node in simulation.cluster.objects(api.Node).values()]
    keys = set[str]().union(*nodes).intersection(*nodes) if nodes else set[str]()
    return {key: {labels[key] for labels in nodes} for key in keys}


def more_nodes(simulation: Simulation, pod: api.Pod, found: GroupExplanation) -> Iterator[NumberedChange]:
    """Yield additional nodes like existing ones, at most one for each waiting member."""
    most = max(1, found.waiting)
    for position, model in enumerate(new_node.copied_nodes(simulation, pod)):

        def at(step: int, position: int = position) -> Change:
            return next(islice(new_node.copied_nodes(simulation, pod, step), position, None))

        yield NumberedChange(f"copies: {model.summary}", FixKind.ADD_NODE, 1, most, at)


def _name(found: GroupExplanation) -> ObjectName:
    namespace, _, name = found.group.partition("/")
    return ObjectName(api.PodGroup.KIND, namespace, name)
