# SPDX-License-Identifier: Apache-2.0
"""Builder of a simulation's result at one moment, and of its later explanations.

A decision that was not watched is explained by repeating all calls up to that moment with the pod
watched. A pending pod is explained by the current state if the simulation is at the same moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from steersman import api
from steersman.base import InputError, hide_passwords
from steersman.cluster.store import Store
from steersman.config import (
    DEFAULT_GATES,
    Capabilities,
    ConfigError,
    FeatureGates,
    SchedulerConfiguration,
    check_disabled,
    without_effect,
)
from steersman.scheduler.diagnosis import Explanation, without_cycle
from steersman.scheduler.runtime import capabilities_of
from steersman.simulation import copies
from steersman.simulation.inputs.object_names import pod_key
from steersman.simulation.inputs.workloads import counted
from steersman.simulation.journal import JournaledCall
from steersman.simulation.results.explanation_recorder import explain_pending
from steersman.simulation.results.groups import group_results, scheduled_alone
from steersman.simulation.results.placements import Placement, PlacementReport
from steersman.simulation.results.result import Result
from steersman.simulation.results.utilisation import Utilisation
from steersman.simulation.simulated_cluster import SimulatedCluster, StateVersion
from steersman.simulation.virtual_time.tasks import SimulationError

MAX_NAMED_PODS: Final = 5
"""Maximum number of pods with the same name in other namespaces that an error lists."""


class _Moment(NamedTuple):
    """A simulation at the time of a result."""

    calls: tuple[JournaledCall, ...]
    version: StateVersion
    placements: Mapping[str, Placement]
    explanations: Mapping[str, Explanation]

    def is_now(self, cluster: SimulatedCluster) -> bool:
        return self.version == cluster.version and self.calls == tuple(cluster.journal.calls)


def build_result(cluster: SimulatedCluster, stopped: str = "") -> Result:
    """Return the result so far; `stopped` is the reason for an early end, if any."""
    driver = cluster.driver
    placements = _placements(cluster)
    explanations = {**cluster.explanations.explanations}
    moment = _Moment(tuple(cluster.journal.calls), cluster.version, placements, explanations)
    return Result(
        placements,
        Utilisation(driver.scheduler.cache.nodes),
        tuple(driver.writer.preemptions.values()),
        tuple(driver.writer.events),
        tuple(_notes(cluster)),
        driver.decisions,
        driver.now,
        lambda pod: _explain(cluster, pod_key(pod), moment),
        moment.explanations,
        stopped,
        driver.sampler.series(),
        group_results(cluster.store, driver.scheduler.cache.pod_groups),
    )


def _placements(cluster: SimulatedCluster) -> dict[str, Placement]:
    store, driver = cluster.store, cluster.driver
    report = PlacementReport(driver.scheduler, driver.writer, driver.pod_times, store.objects(api.Node))
    placed = driver.writer.placed_at  # most pods arrived with a node
    pods = (
        (k, pod) for k, pod in store.objects(api.Pod).items() if not pod.spec.node_name or pod.metadata.uid in placed
    )
    found = ((key, report.placement(pod)) for key, pod in pods)
    return {key: placement for key, placement in found if placement is not None}


def _notes(cluster: SimulatedCluster) -> Iterator[str]:
    options, intake, driver = cluster.setup.options, cluster.intake, cluster.driver
    yield from intake.notes
    yield from options.registry.notes
    if driver.no_progress:
        yield driver.no_progress
    yield from refused_objects(intake.refusals)
    yield from missing_nodes(cluster.store)
    yield from stranded_pods(cluster.store, driver.writer.placed_at)
    if driver.scheduler.cache.pod_groups is None:
        yield from scheduled_alone(cluster.store)
    yield from input_notes(
        intake.workload_notes(),
        intake.skipped,
        options.configuration,
        capabilities_of(options.registry, options.gates),
        options.gates,
        driver.scheduler.background.failures,
    )
    yield from extender_notes(options.configuration, are_asked=bool(options.extenders))


# -- explanations afterwards -------------------------------------------------------------------------------------------


def _explain(cluster: SimulatedCluster, key: str, moment: _Moment) -> Explanation:
    placement = moment.placements.get(key)
    refusal = cluster.intake.refused_pods.get(key)
    if placement is None and refusal is not None:
        return without_cycle(key, next(iter(cluster.scheduler.profiles)), f"it was not let in: {refusal}")
    if placement is None:
        raise _unknown(cluster, key)
    known = moment.explanations.get(key)
    if known is not None:
        return known
    if placement.is_pending:
        then = cluster if moment.is_now(cluster) else _repeated(cluster, moment, key)
        return explain_pending(then.driver, then.store.get(api.Pod, key), placement)
    return _repeated(cluster, moment, key).explanations.explanations[key]


def _repeated(cluster: SimulatedCluster, moment: _Moment, key: str) -> SimulatedCluster:
    """Return another cluster after the calls up to that moment, with the pod watched."""
    again = _repeated_from_origin(cluster, moment, key) or copies.repeated(cluster, moment.calls, [key])
    if _placements(again).get(key) != moment.placements[key]:
        raise SimulationError(f"pod {key} {copies.NOT_REPEATABLE}")
    return again


def _repeated_from_origin(cluster: SimulatedCluster, moment: _Moment, key: str) -> SimulatedCluster | None:
    """Repeat only the calls since the fork on another fork of the origin.

    None if the origin has changed, or the pod was placed before the fork.
    """
    origin = None if cluster.origin is None else cluster.origin.cluster()
    if origin is None or cluster.origin is None or origin.version != cluster.origin.version:
        return None
    before = cluster.origin.version.calls
    if moment.calls[:before] != tuple(origin.journal.calls):
        return None
    again = copies.fork_of(origin)
    again.explanations.watch([key])
    for call in moment.calls[before:]:
        call.repeat(again)
    return again if moment.placements[key].is_pending or key in again.explanations.explanations else None


def _unknown(cluster: SimulatedCluster, key: str) -> InputError:
    pod = cluster.store.find(api.Pod, key)
    if pod is None:
        name = key.rpartition("/")[2]
        elsewhere = sorted(other for other in cluster.store.objects(api.Pod) if other.rpartition("/")[2] == name)
        more = f" and {len(elsewhere) - MAX_NAMED_PODS} more" if len(elsewhere) > MAX_NAMED_PODS else ""
        hint = f"there is {', '.join(elsewhere[:MAX_NAMED_PODS])}{more}" if elsewhere else None
        return InputError("does not exist", object=f"Pod {key}", hint=hint)
    return InputError(f"was on {pod.spec.node_name or 'no node'} from the beginning", object=f"Pod {key}")


# -- notes -------------------------------------------------------------------------------------------------------------


NO_FAILURES: Final[Mapping[str, str]] = MappingProxyType({})


PASSED_OVER: Final = "objects of other kinds were passed over: {}"


def input_notes(
    about_workloads: Iterable[str],
    skipped: Counter[str],
    configuration: SchedulerConfiguration,
    capabilities: Capabilities,
    gates: FeatureGates = DEFAULT_GATES,
    refresh_failures: Mapping[str, str] = NO_FAILURES,
) -> Iterator[str]:
    """Return the notes. `refresh_failures` are the failed refreshes by plugin."""
    yield from about_workloads
    if skipped:
        yield PASSED_OVER.format(counted(skipped))
    yield from without_effect(gates)
    for plugin, why in refresh_failures.items():
        yield f'plugin "{plugin}" cannot refresh: {why}'
    try:
        check_disabled(configuration, capabilities)
    except ConfigError as error:
        yield from (problem.line for problem in error.errors)


def extender_notes(configuration: SchedulerConfiguration, *, are_asked: bool) -> Iterator[str]:
    """Return a note about extenders that are not called, or do not bind, in a simulation."""
    left_out = [each for each in configuration.extenders if each.bind_verb or not are_asked]
    if left_out:
        urls = ", ".join(hide_passwords(extender.url_prefix) for extender in left_out)
        what = "do not bind" if are_asked else "are not called"
        how = "" if are_asked else "; --extenders and Simulation.load(extenders=True) call them"
        yield f"extenders {what} in a simulation: {urls}{how}"


def refused_objects(refusals: Sequence[str]) -> Iterator[str]:
    """Return a note about objects refused by quotas or limit ranges, with the first reason."""
    if len(refusals) == 1:
        yield f"an object was refused, and counts nowhere: {refusals[0]}"
    elif refusals:
        yield f"{len(refusals):,} objects were refused, and count nowhere, for example: {refusals[0]}"


def missing_nodes(store: Store) -> Iterator[str]:
    """Return a note if there are pods but no nodes."""
    if store.objects(api.Pod) and not store.objects(api.Node):
        yield "there is no node to schedule on; `kubectl get nodes -o yaml > nodes.yaml` writes those of a cluster"


def stranded_pods(store: Store, placed_here: Container[str]) -> Iterator[str]:
    """Return a note about input pods whose node does not exist: they are neither scheduled nor
    pending. `placed_here` has the uids of pods placed by the simulation, which are in the
    placements."""
    nodes = store.objects(api.Node)
    stranded = [
        pod
        for pod in store.objects(api.Pod).values()
        if pod.spec.node_name and pod.spec.node_name not in nodes and pod.status.phase not in api.FINISHED_PHASES
        if pod.metadata.uid not in placed_here
    ]
    if not stranded:
        return
    first = f"{api.key(stranded[0])} on {stranded[0].spec.node_name}"
    if len(stranded) == 1:
        yield f"a pod is on a node that does not exist, and counts nowhere: {first}"
    else:
        yield f"{len(stranded):,} pods are on nodes that do not exist, and count nowhere, for example {first}"
