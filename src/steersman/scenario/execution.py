# SPDX-License-Identifier: Apache-2.0
"""Carries a scenario out: time passes to the next moment at which something is to happen, and then it happens.

    ┌► the next of timeline, generators, autoscaler, stop conditions ─► the simulation runs until then ┐
    └───────────────── steps are done, objects arrive, the autoscaler looks ◄──────────────────────────┘

Everything is done by the public methods of `Simulation`, so that pods of a scenario can be explained as those of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from os import PathLike
from typing import Final

from steersman import api
from steersman.assembly.registry import PluginSource
from steersman.config import FeatureGates
from steersman.errors import InputError
from steersman.record import record_simulation
from steersman.scenario.actions import Actions
from steersman.scenario.autoscaler import ClusterAutoscaler
from steersman.scenario.document import SCENARIO_KIND
from steersman.scenario.expectations import checks
from steersman.scenario.generators import GeneratedObjects
from steersman.scenario.loading import PreparedScenario, Scenario, ScenarioSource, load_scenario
from steersman.scenario.measurements import Measurements
from steersman.scenario.parameters import ParameterValue
from steersman.scenario.pools import ClusterPools
from steersman.scenario.result import Milestone, MilestoneSource, ScenarioResult
from steersman.scenario.timeline import PreparedStep, Timeline
from steersman.scenario.times import duration_text
from steersman.sim import Simulation, SimulationError
from steersman.sim.setup import Configuration
from steersman.sim.sources import Source, gather

MOST_LOOKS: Final = 100_000
"""A scenario without an end of its own is stopped after so many moments at which nothing was due and nothing arrived."""
NO_REST: Final = "the scenario does not come to rest; give it an end, for example stop: {after: 2h}, or --until 2h"
CHECK_SECONDS: Final = 10.0
"""How often stop conditions that count pods are looked at."""


def run_scenario(
    scenario: ScenarioSource,
    *,
    sources: Iterable[Source] = (),
    config: Configuration = None,
    plugins: Iterable[PluginSource] = (),
    gates: FeatureGates | Mapping[str, bool] | None = None,
    seed: int = 0,
    parameters: Mapping[str, ParameterValue] | None = None,
    until: float | None = None,
    extenders: bool = False,
    record: str | PathLike[str] | None = None,
    on_milestone: Callable[[Milestone], None] | None = None,
) -> ScenarioResult:
    """Runs a scenario: a file, a document, or one that `load_scenario` gave.

    `sources` are there at the start, besides its cluster; `config` and `until` take the place of what it says, `plugins` and
    `gates` add to it; `parameters` are values for `${name}`. With `extenders` those of the configuration are asked, in real
    time. `record` is a directory for the record of the run. `on_milestone` is told what happens while it runs.
    The same scenario, seed and parameters give the same result. Raises `InputError`, `ConfigError` and `PluginError`.
    """
    loaded = load_scenario(scenario)
    prepared = loaded.prepared(parameters or {})
    if until is not None:
        ends_early = prepared.document.stop.at_rest is True
        prepared = prepared._replace(stop=prepared.stop._replace(after=until, at_rest=ends_early))
    simulation = simulation_of(prepared, sources, config, plugins, gates, seed, extenders=extenders)
    try:
        with nullcontext() if record is None else record_simulation(simulation, record):
            return Execution(loaded, prepared, simulation, seed, on_milestone).run()
    except InputError as error:
        raise (
            error.located(file=loaded.file, object=SCENARIO_KIND) if loaded.file and not error.file else error
        ) from error


def simulation_of(
    prepared: PreparedScenario,
    sources: Iterable[Source] = (),
    config: Configuration = None,
    plugins: Iterable[PluginSource] = (),
    gates: FeatureGates | Mapping[str, bool] | None = None,
    seed: int = 0,
    *,
    extenders: bool = False,
) -> Simulation:
    """The cluster at the start of the scenario; what is given counts as for `run_scenario`."""
    chosen = gates if isinstance(gates, FeatureGates) else {**prepared.document.feature_gates, **(gates or {})}
    return Simulation.load(
        *prepared.cluster,
        *sources,
        config=prepared.config if config is None else config,
        seed=seed,
        plugins=(*prepared.plugins, *plugins),
        gates=chosen,
        controllers=prepared.document.controllers,
        kubelets=prepared.kubelets,
        extenders=extenders or prepared.document.extenders,
    )


class Execution:
    """One run of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        prepared: PreparedScenario,
        simulation: Simulation,
        seed: int,
        on_milestone: Callable[[Milestone], None] | None = None,
    ) -> None:
        self._on_milestone = on_milestone
        self._scenario = scenario
        self._prepared = prepared
        self._simulation = simulation
        self._seed = seed
        self._timeline = Timeline(prepared.timeline)
        self._generated = GeneratedObjects(prepared.generators, seed)
        self._pools = ClusterPools(prepared.pools)
        self._actions = Actions(simulation, self._pools)
        self._measurements = Measurements(simulation)
        self._autoscaler = self._new_autoscaler()
        self._milestones: list[Milestone] = []
        self._notes: tuple[str, ...] = ()
        self._applied = {step.path: self._read(step) for step in prepared.timeline if step.sources}

    def run(self) -> ScenarioResult:
        """To the end."""
        stopped = ""
        try:
            self._run()
        except SimulationError as error:
            stopped = str(error)
        return self._result(stopped)

    def _new_autoscaler(self) -> ClusterAutoscaler | None:
        settings, times = self._prepared.document.autoscaler, self._prepared.autoscaler
        if not self._pools or not settings.enabled:
            return None
        return ClusterAutoscaler(self._simulation, self._pools, settings, times, self._measurements)

    # -- time --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._autoscaler is not None:
            self._tell_all("autoscaler", self._autoscaler.fill_pools())
        looks = 0
        while looks < MOST_LOOKS:
            looks += self._prepared.stop.after is None and self._has_nothing_due()
            self._do_what_is_due()
            moment = self._next_moment()
            self._simulation.advance(moment, stops_at_rest=self._prepared.stop.at_rest and self._has_no_more_to_do())
            reason = self._reason_to_stop(is_to_rest=moment is None)
            if reason is not None:
                self._tell_of_generators()
                self._tell("stop", reason)
                return
        raise SimulationError(NO_REST)

    def _has_nothing_due(self) -> bool:
        times = (self._timeline.next_time(), self._generated.next_time())
        return not any(moment is not None and moment <= self._simulation.now for moment in times)

    def _do_what_is_due(self) -> None:
        now = self._simulation.now
        for prepared in self._timeline.due(now):
            done = self._actions.perform(prepared.step, self._applied.get(prepared.path, ()), prepared.path)
            self._tell("timeline", f"{prepared.step.name}: {done}" if prepared.step.name else done)
        arrived = self._generated.due(now)
        if arrived:
            self._simulation.add(arrived)
        for name in self._generated.ended():
            self._tell("generator", f"{name} has made {self._generated.counts[name]} objects, the last one now")
        if self._autoscaler is not None:
            self._tell_all("autoscaler", self._autoscaler.act())

    def _next_moment(self) -> float | None:
        """When something is to be done or looked at; None: the simulation may go on until nothing changes any more."""
        now, stop = self._simulation.now, self._prepared.stop
        moments = [self._timeline.next_time(), self._generated.next_time(), stop.after]
        if self._autoscaler is not None:
            moments.append(self._autoscaler.next_time())
        if stop.pending_more_than is not None or stop.completed is not None:
            moments.append(now + CHECK_SECONDS)
        if stop.pending_longer_than is not None:
            longest = self._measurements.longest_waiting()
            deadline = now if longest is None else longest[1]
            moments.append(deadline + stop.pending_longer_than)
        known = [moment for moment in moments if moment is not None]
        return max(now, min(known)) if known else None

    # -- the end -----------------------------------------------------------------------------------------------------

    def _reason_to_stop(self, *, is_to_rest: bool) -> str | None:
        stop, measured, now = self._prepared.stop, self._measurements, self._simulation.now
        longest = measured.longest_waiting()
        if stop.pending_longer_than is not None and longest and now - longest[1] >= stop.pending_longer_than:
            return f"stops: pod {longest[0]} has waited for {duration_text(now - longest[1])}"
        if stop.pending_more_than is not None and measured.waiting > stop.pending_more_than:
            return f"stops: {measured.waiting} pods wait"
        if stop.completed is not None and measured.completed >= stop.completed:
            return f"stops: {measured.completed} pods have succeeded"
        if stop.after is not None and now >= stop.after:
            return "ends: the time is over"
        if is_to_rest or (stop.at_rest and self._is_at_rest()):
            return "ends: nothing would change any more"
        return None

    def _is_at_rest(self) -> bool:
        return self._has_no_more_to_do() and self._simulation.is_at_rest

    def _has_no_more_to_do(self) -> bool:
        """Whether nothing but the simulation itself can change anything any more."""
        is_quiet = self._autoscaler is None or self._autoscaler.is_at_rest
        return is_quiet and self._timeline.is_over and self._generated.next_time() is None

    def _tell_of_generators(self) -> None:
        for name in self._generated.unended():
            self._tell("generator", f"{name} has made {self._generated.counts[name]} objects so far")

    def _result(self, stopped: str) -> ScenarioResult:
        result = self._simulation.result(stopped)
        result.notes = (*result.notes, *self._notes)
        numbers = self._measurements.numbers(result)
        document = self._prepared.document
        shown = document.measure or list(numbers)
        return ScenarioResult.of(
            result,
            name=self._scenario.name,
            parameters=document.parameters,
            seed=self._seed,
            milestones=tuple(self._milestones),
            numbers={name: numbers[name] for name in shown},
            checks=tuple(checks(self._prepared.expectations, numbers)),
            simulation=self._simulation,
        )

    def _tell_all(self, source: MilestoneSource, texts: Iterable[str]) -> None:
        for text in texts:
            self._tell(source, text)

    def _tell(self, source: MilestoneSource, text: str) -> None:
        milestone = Milestone(self._simulation.now, source, text)
        self._milestones.append(milestone)
        if self._on_milestone is not None:
            self._on_milestone(milestone)

    def _read(self, prepared: PreparedStep) -> list[api.Object]:
        """The objects that a step applies, read before the scenario begins: a file that cannot be used is told at once."""
        gathered = gather(prepared.sources, custom=self._simulation.known_kinds)
        self._notes += gathered.notes
        if gathered.skipped:
            passed_over = ", ".join(f"{count} {kind}" for kind, count in sorted(gathered.skipped.items()))
            self._notes += (f"{prepared.path}: objects of other kinds were passed over: {passed_over}",)
        return [given.object for given in gathered.objects]
