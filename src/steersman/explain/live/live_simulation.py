# SPDX-License-Identifier: Apache-2.0
"""A simulation of a live cluster at the time of reading: the basis of explanations and their forks.

The input is a transport, the output a simulation in which nothing has happened yet. It needs the
permissions of a scheduler; workloads, quotas and other optional objects are read if permitted, and
a note names those that were not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import quantity_checks
from steersman.base import InputError, Timing
from steersman.config import SchedulerConfiguration
from steersman.explain.live.cluster_reader import PLANNED_KINDS, ReadCluster, read, read_pod
from steersman.explain.pods import was_tried
from steersman.framework import resource_text
from steersman.kube.client import Transport
from steersman.scheduler.assembly import SchedulerOptions, kinds_of_scheduler
from steersman.simulation import ListedObjects, Simulation, SimulationSetup, real_time_extenders

MISSING: Final = "the API server does not know {}; none are assumed"
NOT_ALLOWED: Final = "{} may not be listed; their effect is unknown"
_ALL_NODES: Final = 0
"""Value of `percentageOfNodesToScore` for all nodes, also in profiles without score plugins, where
one node would do."""
OTHER_PROFILE_USED: Final = (
    "the configuration of scheduler {} is unknown: the configuration of {} is used instead; --config gives another one"
)
LEFT_OUT: Final = "{} is invalid and is left out: {}"

_replace = msgspec.structs.replace


class LiveSimulation(NamedTuple):
    """A live cluster as a simulation, with notes about what could not be read."""

    simulation: Simulation
    notes: tuple[str, ...]
    #: Phases of the requested pods as the API server shows them, because simulated kubelets start
    #: bound pods.
    phases: Mapping[str, str]
    #: Schedulers of pending pods that are not in the configuration.
    other_schedulers: tuple[str, ...] = ()


async def read_simulation(
    transport: Transport, options: SchedulerOptions, server: str, pods: Sequence[str] = (), *, extenders: bool = False
) -> LiveSimulation:
    """Read the cluster as it is now. `extenders` says whether the scheduler of the simulation calls
    them.

    Raises `InputError` if one of the `pods` has finished (such pods are not read otherwise), and
    `LiveError` if the cluster cannot be read.
    """
    timing = Timing()
    configuration = options.configuration
    needed = tuple(dict.fromkeys(kinds_of_scheduler(configuration, options.gates, options.registry).known))
    wanted = tuple(dict.fromkeys((*needed, *PLANNED_KINDS)))
    cluster = await read(transport, timing, server, wanted, optional=frozenset(wanted) - frozenset(needed))
    for key in pods:
        if key not in cluster.pods:
            await _refuse_ended(transport, server, key)
    usable, notes = _usable(cluster)
    requested = [cluster.pods[key] for key in pods if key in cluster.pods] or cluster.pods.values()
    others = unknown_schedulers(requested, configuration)
    simulated = _replace(
        options,
        configuration=with_profiles_for(others, filtering_all_nodes(configuration)),
        extenders=real_time_extenders(configuration) if extenders else (),
    )
    simulation = Simulation(SimulationSetup(simulated, start=float(int(timing.clock.now()))))
    simulation.add(usable, validate="ignore")
    lent = (OTHER_PROFILE_USED.format(name, configuration.profiles[0].scheduler_name) for name in others)
    phases = {key: cluster.pods[key].status.phase for key in pods if key in cluster.pods}
    return LiveSimulation(simulation, (*_kind_notes(cluster), *notes, *lent), phases, tuple(others))


async def _refuse_ended(transport: Transport, server: str, key: str) -> None:
    namespace, _, name = key.partition("/")
    ended = await read_pod(transport, server, namespace, name)
    if ended is not None:
        raise InputError(f"pod {key} has finished ({ended.status.phase}): there is nothing to schedule")


def _usable(cluster: ReadCluster) -> tuple[ListedObjects, list[str]]:
    """Return the objects, without those with invalid quantities, and a note about each of these."""
    usable = ListedObjects()
    notes: list[str] = []
    for obj in (*cluster.objects, *cluster.pods.values()):
        try:
            quantity_checks.check_quantities(obj)
        except InputError as error:
            notes.append(LEFT_OUT.format(f"{obj.KIND} {api.key(obj)}", error))
        else:
            usable.append(obj)
    return usable, notes


def _kind_notes(cluster: ReadCluster) -> Iterator[str]:
    if cluster.missing:
        yield MISSING.format(", ".join(map(resource_text, cluster.missing)))
    if cluster.not_allowed:
        yield NOT_ALLOWED.format(", ".join(map(resource_text, cluster.not_allowed)))


def unknown_schedulers(pods: Iterable[api.Pod], configuration: SchedulerConfiguration) -> list[str]:
    """Return the schedulers that are not in the configuration and that have tried one of the
    pending pods."""
    known = {profile.scheduler_name for profile in configuration.profiles}
    tried = (pod.spec.scheduler_name for pod in pods if not pod.spec.node_name and was_tried(pod))
    return [name for name in dict.fromkeys(tried) if name and name not in known]


def with_profiles_for(schedulers: Iterable[str], configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """Return the configuration with a copy of its first profile for each of these schedulers."""
    first = configuration.profiles[0]
    lent = tuple(_replace(first, scheduler_name=name) for name in schedulers)
    return _replace(configuration, profiles=(*configuration.profiles, *lent))


def filtering_all_nodes(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """Return the configuration without sampling of nodes."""
    profiles = tuple(_replace(profile, percentage_of_nodes_to_score=_ALL_NODES) for profile in configuration.profiles)
    return _replace(configuration, percentage_of_nodes_to_score=_ALL_NODES, profiles=profiles)
