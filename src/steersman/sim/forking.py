# SPDX-License-Identifier: Apache-2.0
"""Forks of a simulation, and its way into other processes.

A fork is a copy of the simulation's state (`graph_copy`): API objects, parsed pods and configuration are shared, columns and
queues are copied, and what the engine keeps is found again when it is needed. While a pod waits for a permission there is a
coroutine, which nobody can copy: then everything that was done so far is done again, as for a simulation that was pickled.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman import api
from steersman.graph_copy import GraphCopy, NotCopyable, shared_by_copies
from steersman.kubelets import DEFAULT_POLICY
from steersman.kubelets.behaviour import PREFIX as ANNOTATION_PREFIX
from steersman.runtime.registry import load_module_once
from steersman.sim.tasks import SimulationError

if TYPE_CHECKING:
    from steersman.sim.simulation import Simulation

_BECAUSE: Final = (
    "the simulation cannot be repeated (the cluster was changed directly, or a plugin is not deterministic)"
)
NOT_REPEATABLE: Final = f"cannot be explained afterwards, because {_BECAUSE}; name the pod in run(explain=…)"
NOT_COPYABLE: Final = f"no copy can be made, because {_BECAUSE}"
IS_RUNNING: Final = "no copy can be made while the simulation runs: wait until run() or step() has returned"
NO_FORK: Final = "this simulation is no fork of another one, or the other one is gone: there is nothing to {}"
ORIGIN_CHANGED: Final = "the simulation that this one is a fork of has changed since: its changes would be lost"
DIRECTLY_CHANGED: Final = "its cluster was changed directly"
NO_PICKLE: Final = "the simulation cannot be pickled: {}"
CHANCE_HAD_A_SAY: Final = (
    "the seed cannot be another one any more: chance may have had a say; load the simulation with it"
)
WAITING: Final = "pods wait for a permission, or plugins for something else"


@shared_by_copies
class StateStamp(NamedTuple):
    """Tells whether something was done to a simulation."""

    steps: int
    resource_version: str
    now: float
    decisions: int


def stamp(simulation: Simulation) -> StateStamp:
    driver = simulation._driver
    return StateStamp(
        len(simulation._journal.steps), simulation.cluster.resource_version, simulation.now, driver.decisions
    )


def copied(simulation: Simulation) -> Simulation:
    """Another simulation in the same state. Raises `SimulationError`."""
    if simulation._driver.is_running:
        raise SimulationError(IS_RUNNING)
    if simulation._driver.has_tasks:
        return _repeated(simulation, WAITING)
    try:
        with _without_collection():
            return GraphCopy().copied(simulation)
    except NotCopyable as reason:
        return _repeated(simulation, str(reason))


def is_untouched_by_chance(simulation: Simulation) -> bool:
    """Whether a simulation is what it would be with any other seed. In doubt it is not."""
    if any(step.method != "_add" for step in simulation._journal.steps) or not simulation._journal.has_everything:
        return False
    has_plain_policy = msgspec.structs.replace(simulation._kubelets, seed=DEFAULT_POLICY.seed) == DEFAULT_POLICY
    return not any(
        pod.spec.node_name and (not has_plain_policy or _has_own_annotations(pod))
        for pod in simulation.cluster.objects(api.Pod).values()
    )


def _has_own_annotations(pod: api.Pod) -> bool:
    return any(name.startswith(ANNOTATION_PREFIX) for name in pod.metadata.annotations)


def _repeated(simulation: Simulation, reason: str) -> Simulation:
    """The copy of a simulation whose state cannot be copied."""
    again = simulation._done_again(simulation._journal.steps, simulation._recorder.names)
    if again.cluster.resource_version != simulation.cluster.resource_version:
        raise SimulationError(f"{NOT_COPYABLE}; its state cannot be copied either: {reason}")
    return again


@contextmanager
def _without_collection() -> Iterator[None]:
    """Copying makes many objects and no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# -- other processes ---------------------------------------------------------------------------------------------------


def pickled(simulation: Simulation) -> tuple[Any, ...]:
    """The part of a simulation that `pickle` writes: how it was made, and what was done to it. Raises `SimulationError`."""
    if simulation._driver.is_running:
        raise SimulationError(IS_RUNNING)
    if not simulation._journal.has_everything:
        raise SimulationError(NO_PICKLE.format(DIRECTLY_CHANGED))
    made = (
        type(simulation),
        simulation._options,
        simulation._seed,
        simulation._start,
        simulation._kubelets,
        simulation._controllers,
        simulation._journal.steps,
        simulation._recorder.names,
        simulation.cluster.resource_version,
    )
    try:
        content = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(NO_PICKLE.format(error)) from error
    return unpickled, (simulation._options.registry.files, content)


def unpickled(plugin_files: Sequence[str], content: bytes) -> Simulation:
    """The simulation that another process has pickled. Its plugins' files are needed here too."""
    for path in plugin_files:
        load_module_once(Path(path))
    cls, options, seed, start, kubelets, controllers, journal, names, version = pickle.loads(content)
    simulation: Simulation = cls(options, seed, start, kubelets, controllers=controllers)
    simulation._recorder.watch(names)
    for step in journal:
        step.repeat(simulation)
    if simulation.cluster.resource_version != version:
        raise SimulationError(NOT_COPYABLE)
    return simulation
