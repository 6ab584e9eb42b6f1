# SPDX-License-Identifier: Apache-2.0
"""The safety net of forks: origin and fork have no object in common that can change, but those that are declared as shared.

A new class that holds state in a way that forks do not know fails here, instead of letting one simulation write into another.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.simulation.busy_clusters import busy_cluster
from tests.simulation.clusters import a_pod, nodes, pods

from steersman.base.graph_copy import by_reference, declared_attributes, is_shared, shallow
from steersman.cluster.controllers.replica_sets import ReplicaCount
from steersman.framework import NodeInfo, PodInfo, ScorePlugin
from steersman.scheduler.state.label_classes import LabelClass
from steersman.simulation import Simulation

_IMMUTABLE_CONTAINERS = (tuple, frozenset, types.MappingProxyType, types.MethodType, types.BuiltinMethodType)


def _referents(obj: object) -> Iterator[object]:
    if isinstance(obj, types.FunctionType):
        yield from obj.__closure__ or ()
        yield from obj.__defaults__ or ()
    elif isinstance(obj, msgspec.Struct):
        yield from msgspec.structs.astuple(obj)
    else:
        yield from (found for found in gc.get_referents(obj) if not isinstance(found, (type, types.ModuleType)))


def _can_change(obj: object) -> bool:
    if isinstance(obj, types.CellType):
        return not is_shared(type(obj.cell_contents))
    if isinstance(obj, (dict, list, set, deque, np.ndarray)):
        return True
    if isinstance(obj, msgspec.Struct):
        return not type(obj).__struct_config__.frozen
    return not isinstance(obj, (*_IMMUTABLE_CONTAINERS, types.FunctionType)) and gc.is_tracked(obj)


def _reached(root: object) -> dict[int, tuple[object, str]]:
    """Everything that the root reaches without passing through what is declared as shared, with the class that led there."""
    found: dict[int, tuple[object, str]] = {}
    waiting: deque[tuple[object, str]] = deque([(root, "")])
    while waiting:
        obj, owner = waiting.popleft()
        if id(obj) in found or is_shared(type(obj)):
            continue
        found[id(obj)] = obj, owner
        name = type(obj).__qualname__
        waiting.extend((referent, owner if name == "dict" else name) for referent in _referents(obj))
    return found


def _parts_of_api_objects(simulation: Simulation) -> set[int]:
    """Labels and the like: dicts that nobody changes, because an object of the API has them."""
    parts: set[int] = set()
    for kind in simulation.cluster._objects:
        waiting: list[object] = list(simulation.cluster.objects(kind).values())
        while waiting:
            obj = waiting.pop()
            if isinstance(obj, (dict, tuple, msgspec.Struct)) and id(obj) not in parts:
                parts.add(id(obj))
                waiting.extend(
                    msgspec.structs.astuple(obj) if isinstance(obj, msgspec.Struct) else gc.get_referents(obj)
                )
    return parts


def _declared_items(objects: Iterator[object]) -> set[int]:
    """What is in the containers that are declared to be copied without their items."""
    allowed: set[int] = set()
    for obj in objects:
        for name, how in declared_attributes(type(obj)).items():
            value: Any = getattr(obj, name, ())
            if how is by_reference:
                allowed.add(id(value))
            if how is shallow:
                allowed.update(map(id, value.values() if isinstance(value, dict) else value))
    return allowed


def shared_and_changeable(origin: Simulation, fork: Simulation) -> list[str]:
    """The offenders, each with the class in which it was found."""
    ours, theirs = _reached(origin), _reached(fork)
    allowed = _declared_items(obj for obj, _ in ours.values()) | _parts_of_api_objects(origin)
    return sorted(
        f"{type(obj).__qualname__} in {owner}"
        for key, (obj, owner) in ours.items()
        if key in theirs and key not in allowed and _can_change(obj)
    )


def _at_rest() -> Simulation:
    simulation = busy_cluster()
    simulation.run()
    return simulation


def _in_the_middle() -> Simulation:
    """A drain, a reboot and a preemption are under way; pods are in every part of the queue."""
    simulation = busy_cluster()
    simulation.run(until=30)
    simulation.drain("n1").reboot("n2").add([a_pod(f"important-{n}", cpu="3").priority(9).obj() for n in range(4)])
    for _ in range(3):
        simulation.step()
    return simulation


def _watched() -> Simulation:
    simulation = busy_cluster()
    simulation.run(until=30, explain=["near", "too-large"])
    return simulation


class Remembers(ScorePlugin):
    name = "Remembers"

    def __init__(self) -> None:
        self.seen: dict[str, list[str]] = {}

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        self.seen.setdefault(pod.key, []).append(node.name)
        return len(self.seen)


def _with_a_plugin() -> Simulation:
    simulation = Simulation.load(nodes("n1", "n2"), pods(3), plugins=[Remembers])
    simulation.run()
    return simulation


@pytest.mark.parametrize("make", [_at_rest, _in_the_middle, _watched, _with_a_plugin])
def test_origin_and_fork_share_nothing_that_changes(make: Any) -> None:
    origin = make()
    fork = origin.fork()
    assert fork.internals.journal.calls == origin.internals.journal.calls
    assert shared_and_changeable(origin, fork) == []
    fork.run(until=fork.now + 60)
    assert shared_and_changeable(origin, fork) == []


def test_an_object_that_is_shared_by_mistake_is_found() -> None:
    origin = _at_rest()
    fork = origin.fork()
    fork._cluster.intake.refusals = origin._cluster.intake.refusals
    assert shared_and_changeable(origin, fork) == ["list in Intake"]


@pytest.mark.parametrize("make", [_at_rest, _in_the_middle])
def test_classes_with_a_copier_of_their_own_forget_no_attribute(make: Any) -> None:
    reached = [obj for obj, _ in _reached(make().fork()).values()]
    for cls in (LabelClass, ReplicaCount):
        copies = [obj for obj in reached if type(obj) is cls]
        assert copies
        assert [name for obj in copies for name in cls.__slots__ if not hasattr(obj, name)] == []


def test_nothing_that_a_record_of_the_cache_refers_to_leads_back_to_it() -> None:
    """Else neither would ever be freed, because the garbage collector does not look at records."""
    cache = _in_the_middle().scheduler.cache
    records = list(cache._records.values())
    assert records
    assert not any(gc.is_tracked(record) for record in records)
    reached = _reached_through([record.info for record in records])
    assert reached.isdisjoint({id(cache), id(cache._records), *map(id, records)})


def _reached_through(roots: list[PodInfo]) -> set[int]:
    """The ids of everything that can be reached, also through what forks share."""
    reached: set[int] = set()
    waiting: list[object] = list(roots)
    while waiting:
        obj = waiting.pop()
        if id(obj) not in reached:
            reached.add(id(obj))
            waiting.extend(_referents(obj))
    return reached
