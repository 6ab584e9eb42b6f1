# SPDX-License-Identifier: Apache-2.0
"""Forks of a simulation, as transactions too, and its way into other processes.

A fork is a copy of the simulation's state (`graph_copy`): API objects, parsed pods and configuration are shared, columns and
queues are copied, and what the engine keeps is found again when it is needed. While a pod waits for a permission there is a
coroutine, which nobody can copy: then everything that was done so far is done again, as for a simulation that was pickled.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import ref

import msgspec

from steersman import api
from steersman.graph_copy import GraphCopy, NotCopyable, shared_by_copies
from steersman.kubelets import DEFAULT_POLICY
from steersman.kubelets.behaviour import PREFIX as ANNOTATION_PREFIX
from steersman.runtime.registry import load_module_once
from steersman.sim.journal import JournaledCall
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


def reseed(simulation: Simulation, seed: int) -> None:
    """Makes a simulation what it would be with this seed. Raises `SimulationError` once chance may have had a say."""
    if not is_untouched_by_chance(simulation):
        raise SimulationError(CHANCE_HAD_A_SAY)
    if simulation._kubelets.seed == simulation._seed:  # kubelets without a seed of their own have the one of `load`
        simulation._kubelets = msgspec.structs.replace(simulation._kubelets, seed=seed)
    simulation._seed = seed
    simulation._driver.reseed(seed, simulation._kubelets.seed)
    simulation._origin = simulation._forked_at = None


def _has_own_annotations(pod: api.Pod) -> bool:
    return any(name.startswith(ANNOTATION_PREFIX) for name in pod.metadata.annotations)


def done_again(simulation: Simulation, steps: Iterable[JournaledCall], watched: Iterable[str]) -> Simulation:
    """Another simulation, made like this one, to which these steps were done, and which watched these pods."""
    again = simulation.made(simulation.setup)
    again._recorder.watch(watched)
    for step in steps:
        step.repeat(again)
    return again


def _repeated(simulation: Simulation, reason: str) -> Simulation:
    """The copy of a simulation whose state cannot be copied."""
    again = done_again(simulation, simulation._journal.steps, simulation._recorder.names)
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


# -- transactions ------------------------------------------------------------------------------------------------------


def commit(fork: Simulation) -> None:
    """The origin of the fork becomes what the fork is, which goes on as a new fork of it. Raises `SimulationError`."""
    origin = _living_origin(fork, "commit to")
    if stamp(origin) != fork._forked_at:
        raise SimulationError(ORIGIN_CHANGED)
    mine = fork.fork()
    origin._driver.close()
    _become(origin, fork)
    _become(fork, mine)
    fork._origin, fork._forked_at = ref(origin), stamp(origin)


def revert(fork: Simulation) -> None:
    """The fork becomes what its origin is. Raises `SimulationError` if that is gone."""
    origin = _living_origin(fork, "revert to")
    fork._driver.close()
    _become(fork, origin.fork())
    fork._origin, fork._forked_at = ref(origin), stamp(origin)


def _living_origin(fork: Simulation, purpose: str) -> Simulation:
    origin = None if fork._origin is None else fork._origin()
    if origin is None:
        raise SimulationError(NO_FORK.format(purpose))
    return origin


def _become(simulation: Simulation, other: Simulation) -> None:
    """Takes over everything that the other one has, which is not to be used any more as it is."""
    simulation._finalizer.detach()
    other._finalizer.detach()
    origin, forked_at = simulation._origin, simulation._forked_at
    simulation.__dict__.update(other.__dict__)
    simulation._origin, simulation._forked_at = origin, forked_at
    simulation._finalizer = simulation._driver.closed_with(simulation)


# -- other processes ---------------------------------------------------------------------------------------------------


def pickled(simulation: Simulation) -> tuple[Any, ...]:
    """The part of a simulation that `pickle` writes: how it was made, and what was done to it. Raises `SimulationError`."""
    if simulation._driver.is_running:
        raise SimulationError(IS_RUNNING)
    if not simulation._journal.has_everything:
        raise SimulationError(NO_PICKLE.format(DIRECTLY_CHANGED))
    parts = (
        type(simulation),
        simulation.setup,
        simulation._journal.steps,
        simulation._recorder.names,
        simulation.cluster.resource_version,
    )
    try:
        content = pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(NO_PICKLE.format(error)) from error
    return unpickled, (simulation._options.registry.files, content)


def unpickled(plugin_files: Sequence[str], content: bytes) -> Simulation:
    """The simulation that another process has pickled. Its plugins' files are needed here too."""
    for path in plugin_files:
        load_module_once(Path(path))
    cls, setup, journal, names, version = pickle.loads(content)
    simulation: Simulation = cls.made(setup)
    simulation._recorder.watch(names)
    for step in journal:
        step.repeat(simulation)
    if simulation.cluster.resource_version != version:
        raise SimulationError(NOT_COPYABLE)
    return simulation
