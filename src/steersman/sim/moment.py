# SPDX-License-Identifier: Apache-2.0
"""The result of a simulation at one moment, and the explanations that can be asked of it later.

A decision that nobody watched is explained by doing everything again, up to that moment, while the recorder watches the pod.
A pod that is still pending is explained by the state that it faces, if the simulation has not moved on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman import api
from steersman.errors import InputError
from steersman.explain import Explanation, without_cycle
from steersman.runtime.capabilities import capabilities_of
from steersman.sim import forks, notes
from steersman.sim.forks import StateStamp
from steersman.sim.journal import JournaledCall
from steersman.sim.object_names import pod_key
from steersman.sim.placements import Placement, PlacementReport
from steersman.sim.recorder import explain_pending
from steersman.sim.result import Result
from steersman.sim.tasks import SimulationError
from steersman.sim.utilisation import utilisation

if TYPE_CHECKING:
    from steersman.sim.simulation import Simulation

_MOST_SHOWN: Final = 5
"""Pods of the same name in other namespaces that an error names."""


class _Moment(NamedTuple):
    """A simulation at the time of a result."""

    steps: tuple[JournaledCall, ...]
    state: StateStamp
    placements: Mapping[str, Placement]
    explanations: Mapping[str, Explanation]

    def is_now(self, simulation: Simulation) -> bool:
        return self.state == forks.stamp(simulation) and self.steps == tuple(simulation._journal.steps)


def result_now(simulation: Simulation, stopped: str = "") -> Result:
    """The result of everything that was done so far; `stopped` says why a run ended early, if it did."""
    driver, recorder = simulation._driver, simulation._recorder
    placements = _placements(simulation)
    moment = _Moment(tuple(simulation._journal.steps), forks.stamp(simulation), placements, {**recorder.explanations})
    return Result(
        placements,
        utilisation(driver.scheduler.cache.nodes),
        tuple(driver.writer.preemptions.values()),
        tuple(driver.writer.events),
        tuple(_notes(simulation)),
        driver.decisions,
        simulation.now,
        lambda pod: _explain(simulation, pod_key(pod), moment),
        moment.explanations,
        stopped,
        driver.sampler.series(),
    )


def _placements(simulation: Simulation) -> dict[str, Placement]:
    store, driver = simulation.cluster, simulation._driver
    arrivals = simulation._intake.arrivals
    report = PlacementReport(driver.scheduler, driver.writer, arrivals, store.objects(api.Node))
    placed = driver.writer.placed_at  # most pods of a large cluster came with their node, and have no placement
    asked = (
        (k, pod) for k, pod in store.objects(api.Pod).items() if not pod.spec.node_name or pod.metadata.uid in placed
    )
    found = ((key, report.placement(pod)) for key, pod in asked)
    return {key: placement for key, placement in found if placement is not None}


def _notes(simulation: Simulation) -> Iterator[str]:
    options, intake, driver = simulation._options, simulation._intake, simulation._driver
    yield from intake.notes
    if driver.no_progress:
        yield driver.no_progress
    yield from notes.refused_objects(intake.refusals)
    yield from notes.missing_nodes(simulation.cluster)
    yield from notes.stranded_pods(simulation.cluster, driver.writer.placed_at)
    yield from notes.notes(
        intake.workload_notes(),
        intake.skipped,
        options.configuration,
        capabilities_of(options.registry),
        options.gates,
        driver.scheduler.background.failures,
    )
    yield from notes.extender_notes(options.configuration, are_asked=bool(options.extenders))


# -- explanations afterwards -------------------------------------------------------------------------------------------


def _explain(simulation: Simulation, key: str, moment: _Moment) -> Explanation:
    placement = moment.placements.get(key)
    if placement is None and key in simulation.refused_pods:
        refusal = simulation.refused_pods[key]
        return without_cycle(key, simulation.profiles[0], f"it was not let in: {refusal}")
    if placement is None:
        raise _unknown(simulation, key)
    known = moment.explanations.get(key)
    if known is not None:
        return known
    if placement.is_pending:
        then = simulation if moment.is_now(simulation) else _repeated(simulation, moment, key)
        return explain_pending(then._driver, then.cluster.get(api.Pod, key), placement)
    return _repeated(simulation, moment, key)._recorder.explanations[key]


def _repeated(simulation: Simulation, moment: _Moment, key: str) -> Simulation:
    """Another simulation to which the same was done, up to that moment, and which watched the pod."""
    again = _repeated_from_origin(simulation, moment, key) or forks.done_again(simulation, moment.steps, [key])
    if _placements(again).get(key) != moment.placements[key]:
        raise SimulationError(f"pod {key} {forks.NOT_REPEATABLE}")
    return again


def _repeated_from_origin(simulation: Simulation, moment: _Moment, key: str) -> Simulation | None:
    """Another simulation, made of the origin of this fork: only what was done to the fork is done again. None if the origin
    has changed, or the pod was placed before the fork."""
    origin = None if simulation._origin is None else simulation._origin()
    if origin is None or simulation._forked_at is None or forks.stamp(origin) != simulation._forked_at:
        return None
    before = simulation._forked_at.steps
    if moment.steps[:before] != tuple(origin._journal.steps):
        return None
    again = origin.fork()
    again._recorder.watch([key])
    for step in moment.steps[before:]:
        step.repeat(again)
    return again if moment.placements[key].is_pending or key in again._recorder.explanations else None


def _unknown(simulation: Simulation, key: str) -> InputError:
    pod = simulation.cluster.find(api.Pod, key)
    if pod is None:
        name = key.rpartition("/")[2]
        elsewhere = sorted(other for other in simulation.cluster.objects(api.Pod) if other.rpartition("/")[2] == name)
        more = f" and {len(elsewhere) - _MOST_SHOWN} more" if len(elsewhere) > _MOST_SHOWN else ""
        hint = f"there is {', '.join(elsewhere[:_MOST_SHOWN])}{more}" if elsewhere else None
        return InputError("does not exist", object=f"Pod {key}", hint=hint)
    return InputError(f"was on {pod.spec.node_name or 'no node'} from the beginning", object=f"Pod {key}")
