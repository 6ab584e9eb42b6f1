# SPDX-License-Identifier: Apache-2.0
"""Copies of a simulation's state for forks, other seeds and other processes.

`graph_copy` shares API objects, parsed pods and configuration, copies columns and queues, and
starts with mostly empty caches. A pod that waits for permission has a coroutine, which cannot be
copied: all calls of the journal are then repeated instead, as for a pickled simulation.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from steersman import api
from steersman.base.graph_copy import GraphCopy, NotCopyable
from steersman.cluster.kubelets import DEFAULT_POLICY, PREFIX as ANNOTATION_PREFIX
from steersman.scheduler.runtime import load_module_once
from steersman.simulation.journal import JournaledCall
from steersman.simulation.simulated_cluster import Origin, SimulatedCluster
from steersman.simulation.virtual_time.tasks import SimulationError

_BECAUSE: Final = (
    "the simulation cannot be repeated (the cluster was changed directly, or a plugin is not deterministic)"
)
NOT_REPEATABLE: Final = f"cannot be explained afterwards, because {_BECAUSE}; name the pod in run(explain=…)"
NOT_COPYABLE: Final = f"no copy can be made, because {_BECAUSE}"
IS_RUNNING: Final = "no copy can be made while the simulation runs: wait until run() or step() has returned"
DIRECTLY_CHANGED: Final = "its cluster was changed directly"
NO_PICKLE: Final = "the simulation cannot be pickled: {}"
SEED_WAS_USED: Final = "the seed cannot change any more: random numbers may have been used; load the simulation with it"
WAITING: Final = "pods wait for a permission, or plugins for something else"


def fork_of(origin: SimulatedCluster) -> SimulatedCluster:
    """Return a copy with a reference to its origin. Raises `SimulationError`."""
    copy = _copy(origin)
    copy.origin = Origin.from_cluster(origin)
    copy.close_when_dropped()
    return copy


def _copy(cluster: SimulatedCluster) -> SimulatedCluster:
    if cluster.driver.is_running:
        raise SimulationError(IS_RUNNING)
    if cluster.driver.has_tasks:
        return _repeated(cluster, WAITING)
    try:
        with _without_garbage_collection():
            return GraphCopy().copied(cluster)
    except NotCopyable as reason:
        return _repeated(cluster, str(reason))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector, because copying creates many objects and no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def repeated(cluster: SimulatedCluster, calls: Iterable[JournaledCall], watched: Iterable[str]) -> SimulatedCluster:
    """Return a new cluster with the same setup after these calls, with these pods watched."""
    again = SimulatedCluster(cluster.setup)
    again.explanations.watch(watched)
    for call in calls:
        call.repeat(again)
    return again


def _repeated(cluster: SimulatedCluster, reason: str) -> SimulatedCluster:
    again = repeated(cluster, cluster.journal.calls, cluster.explanations.names)
    if again.store.resource_version != cluster.store.resource_version:
        raise SimulationError(f"{NOT_COPYABLE}; its state cannot be copied either: {reason}")
    return again


# -- seeds -------------------------------------------------------------------------------------------------------------


def reseed(cluster: SimulatedCluster, seed: int) -> None:
    """Change the seed. Raises `SimulationError` if a random number may have been drawn."""
    if not _has_used_no_seed(cluster):
        raise SimulationError(SEED_WAS_USED)
    setup = cluster.setup
    kubelets = setup.kubelets
    if kubelets.seed == setup.seed:  # kubelets without their own seed have that of `load`
        kubelets = msgspec.structs.replace(kubelets, seed=seed)
    cluster.setup = setup._replace(seed=seed, kubelets=kubelets)
    cluster.driver.reseed(seed, kubelets.seed)
    cluster.origin = None


def _has_used_no_seed(cluster: SimulatedCluster) -> bool:
    """Return whether the state would be the same with any other seed; in doubt False."""
    if any(call.method != "add" for call in cluster.journal.calls) or not cluster.journal.has_everything:
        return False
    has_plain_policy = msgspec.structs.replace(cluster.setup.kubelets, seed=DEFAULT_POLICY.seed) == DEFAULT_POLICY
    return not any(
        pod.spec.node_name and (not has_plain_policy or _has_own_annotations(pod))
        for pod in cluster.store.objects(api.Pod).values()
    )


def _has_own_annotations(pod: api.Pod) -> bool:
    return any(name.startswith(ANNOTATION_PREFIX) for name in pod.metadata.annotations)


# -- other processes ---------------------------------------------------------------------------------------------------


def pickled(cluster: SimulatedCluster) -> tuple[Sequence[str], bytes]:
    """Return the files of plugins, and setup and journal in bytes. Raises `SimulationError`."""
    if cluster.driver.is_running:
        raise SimulationError(IS_RUNNING)
    if not cluster.journal.has_everything:
        raise SimulationError(NO_PICKLE.format(DIRECTLY_CHANGED))
    parts = cluster.setup, cluster.journal.calls, cluster.explanations.names, cluster.store.resource_version
    try:
        content = pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(NO_PICKLE.format(error)) from error
    return cluster.setup.options.registry.files, content


def unpickled(plugin_files: Sequence[str], content: bytes) -> SimulatedCluster:
    """Return the cluster pickled by another process. The files of its plugins must exist here."""
    for path in plugin_files:
        load_module_once(Path(path))
    setup, calls, names, version = pickle.loads(content)
    cluster = SimulatedCluster(setup)
    cluster.explanations.watch(names)
    for call in calls:
        call.repeat(cluster)
    if cluster.store.resource_version != version:
        raise SimulationError(NOT_COPYABLE)
    return cluster
