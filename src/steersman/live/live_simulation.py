# SPDX-License-Identifier: Apache-2.0
"""A simulation of a live cluster at the moment at which it was read: what explanations and their forks are made of.

In comes a transport, out goes a simulation in which nothing has happened yet. Whoever may list what a scheduler lists can have
it; workloads, quotas and their like are read as far as that is allowed, and a note says what was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import quantity_checks
from steersman.app import Effective
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import kinds_of_scheduler
from steersman.client import Timing, Transport
from steersman.config import SchedulerConfiguration
from steersman.errors import InputError
from steersman.live.cluster_reader import PLANNED_KINDS, ReadCluster, read, read_pod, resource_name
from steersman.sim import Simulation
from steersman.sim.extenders import real_time_extenders
from steersman.why import was_tried

MISSING: Final = "the API server does not have {}; none are assumed"
NOT_ALLOWED: Final = "{} may not be listed; what they would change is not known"
_ALL_NODES: Final = 0
"""Also where no plugin scores, so that kube-scheduler would look for one node only, whatever the percentage is."""
LENT_PROFILE: Final = (
    "the configuration of scheduler {} is not known: that of {} is taken for it; --config gives another"
)
LEFT_OUT: Final = "{} cannot be used and is left out: {}"

_replace = msgspec.structs.replace


class LiveSimulation(NamedTuple):
    """A cluster that was read, as a simulation, and what the reader of an answer should know about it."""

    simulation: Simulation
    notes: tuple[str, ...]


async def read_simulation(
    transport: Transport, settings: Effective, server: str, pods: Sequence[str] = (), *, extenders: bool = False
) -> LiveSimulation:
    """The cluster as the API server shows it now. `pods` are those that will be asked about: an `InputError` for one that has
    ended, which is not read otherwise. `extenders` are asked when something is decided. LiveError when it cannot be read."""
    timing = Timing()
    kinds = kinds_of_scheduler(settings.configuration, settings.gates, settings.registry)
    needed = tuple(dict.fromkeys((*kinds.watched, *kinds.read)))
    wanted = tuple(dict.fromkeys((*needed, *PLANNED_KINDS)))
    cluster = await read(transport, timing, server, wanted, optional=frozenset(wanted) - frozenset(needed))
    for key in pods:
        if key not in cluster.pods:
            await _refuse_ended(transport, server, key)
    usable, notes = _usable(cluster)
    asked = [cluster.pods[key] for key in pods if key in cluster.pods] or cluster.pods.values()
    others = schedulers_at_work(asked, settings.configuration)
    options = SchedulerOptions(
        with_profiles_for(others, looking_at_all_nodes(settings.configuration)),
        settings.gates,
        settings.registry,
        real_time_extenders(settings.configuration) if extenders else (),
        settings.max_in_unschedulable,
    )
    simulation = Simulation(options, start=float(int(timing.clock.now())))
    simulation.add(usable, validate="ignore")
    lent = (LENT_PROFILE.format(name, settings.configuration.profiles[0].scheduler_name) for name in others)
    return LiveSimulation(simulation, (*_kind_notes(cluster), *notes, *lent))


async def _refuse_ended(transport: Transport, server: str, key: str) -> None:
    namespace, _, name = key.partition("/")
    ended = await read_pod(transport, server, namespace, name)
    if ended is not None:
        raise InputError(f"pod {key} has ended ({ended.status.phase}): there is nothing to schedule")


def _usable(cluster: ReadCluster) -> tuple[list[api.Object], list[str]]:
    """The objects, without those that hold amounts which nobody can read, and notes about these."""
    usable: list[api.Object] = []
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
        yield MISSING.format(", ".join(map(resource_name, cluster.missing)))
    if cluster.not_allowed:
        yield NOT_ALLOWED.format(", ".join(map(resource_name, cluster.not_allowed)))


def schedulers_at_work(pods: Iterable[api.Pod], configuration: SchedulerConfiguration) -> list[str]:
    """The schedulers that the configuration does not have, and that have tried one of the pods which wait."""
    known = {profile.scheduler_name for profile in configuration.profiles}
    tried = (pod.spec.scheduler_name for pod in pods if not pod.spec.node_name and was_tried(pod))
    return [name for name in dict.fromkeys(tried) if name and name not in known]


def with_profiles_for(schedulers: Iterable[str], configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """The configuration with its first profile once more for each of these."""
    first = configuration.profiles[0]
    lent = tuple(_replace(first, scheduler_name=name) for name in schedulers)
    return _replace(configuration, profiles=(*configuration.profiles, *lent))


def looking_at_all_nodes(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """The configuration with which every node is looked at, even where scheduling samples."""
    profiles = tuple(_replace(profile, percentage_of_nodes_to_score=_ALL_NODES) for profile in configuration.profiles)
    return _replace(configuration, percentage_of_nodes_to_score=_ALL_NODES, profiles=profiles)
