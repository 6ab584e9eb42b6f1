# SPDX-License-Identifier: Apache-2.0
"""Execution of a scenario: advances virtual time to the next event, and executes it.

    ┌► the next of timeline, generators, autoscaler, stop conditions ─► the simulation runs until then ┐
    └───────────────── steps run, objects arrive, the autoscaler scans ◄───────────────────────────────┘

It uses only public methods of `Simulation`, so that pods can be explained as in any other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from steersman import api
from steersman.base import InputError, duration_text
from steersman.config import FeatureGates
from steersman.scheduler.assembly import PluginSource
from steersman.simulation.inputs.sources import Source, gather
from steersman.simulation.next_decision import NextDecision
from steersman.simulation.node_pools import ClusterPools
from steersman.simulation.scenario.actions import Actions
from steersman.simulation.scenario.autoscaler import ClusterAutoscaler
from steersman.simulation.scenario.document import SCENARIO_KIND
from steersman.simulation.scenario.generators import GeneratedObjects
from steersman.simulation.scenario.loading import PreparedScenario, Scenario, ScenarioSource, load_scenario
from steersman.simulation.scenario.measurements import Measurements, checks
from steersman.simulation.scenario.parameters import ParameterValue
from steersman.simulation.scenario.result import Milestone, MilestoneSource, ScenarioResult
from steersman.simulation.scenario.timeline import PreparedStep, Timeline
from steersman.simulation.setup import Configuration, check_until, with_version
from steersman.simulation.simulation import Simulation
from steersman.simulation.virtual_time.tasks import SimulationError

DecisionT = TypeVar("DecisionT")

MAX_STEPS_AT_ONCE: Final = 100_000
"""Limit of moments without due events after which a scenario without a stop time is stopped."""
NO_REST: Final = "the scenario does not come to rest; give it an end, for example stop: {after: 2h}, or --until 2h"
CHECK_SECONDS: Final = 10.0
"""Interval between checks of stop conditions that count pods."""


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
    on_milestone: Callable[[Milestone], None] | None = None,
) -> ScenarioResult:
    """Run a scenario: a file, a document, or the result of `load_scenario`.

    `sources` are added to its initial cluster; `config` and `until` override its settings,
    `plugins` and `gates` extend them; `parameters` are values for `${name}`. `extenders`: call the
    configuration's extenders, in real time. `on_milestone` is called with each milestone. Equal
    arguments give equal results. Raises `InputError`, `ConfigError` and `PluginError`.
    """
    execution = open_scenario(
        scenario,
        sources=sources,
        config=config,
        plugins=plugins,
        gates=gates,
        seed=seed,
        parameters=parameters,
        until=until,
        extenders=extenders,
        on_milestone=on_milestone,
    )
    return execution.run()


def open_scenario(
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
    on_milestone: Callable[[Milestone], None] | None = None,
) -> Execution:
    """Load a scenario like `run_scenario`, to run it with `Execution.next_decision`."""
    check_until(until)
    loaded = load_scenario(scenario)
    prepared = loaded.prepared(parameters or {})
    if until is not None:
        ends_early = prepared.document.stop.at_rest is True
        prepared = prepared._replace(stop=prepared.stop._replace(after=until, at_rest=ends_early))
    simulation = simulation_of(prepared, sources, config, plugins, gates, seed, extenders=extenders)
    with _errors_in(loaded):
        return Execution(loaded, prepared, simulation, seed, on_milestone)


@contextmanager
def _errors_in(scenario: Scenario) -> Iterator[None]:
    """Add the scenario's file to errors without a file."""
    try:
        yield
    except InputError as error:
        located = error.located(file=scenario.file, object=SCENARIO_KIND) if scenario.file and not error.file else error
        raise located from error


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
    """Return the initial cluster of the scenario; the arguments are those of `run_scenario`."""
    chosen = with_version(gates, "").over(prepared.document.feature_gates)
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
    """One run of one scenario: `run` executes it to the end, `next_decision` up to the next pod."""

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
        #: The simulated cluster; `decide` places the pod of `next_decision`.
        self.simulation = simulation
        #: Whether the scenario has ended.
        self.is_over = False
        self._has_begun = False
        self._looks = 0
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
        """Execute the scenario to its end, and return the result."""
        stopped = ""
        try:
            with _errors_in(self._scenario):
                self._play(self.simulation.advance)
        except SimulationError as error:
            stopped = str(error)
        return self.result(stopped)

    def next_decision(self) -> NextDecision | None:
        """Execute the scenario until a pod can be decided on; return None at the end.

        Call `simulation.decide` for that pod. Steps, arrivals and the autoscaler act as in `run`.
        Raises `SimulationError` if the scenario does not come to rest.
        """
        with _errors_in(self._scenario):
            return self._play(self.simulation.next_decision)

    def _new_autoscaler(self) -> ClusterAutoscaler | None:
        settings, times = self._prepared.document.autoscaler, self._prepared.autoscaler
        if not self._pools or not settings.enabled:
            return None
        return ClusterAutoscaler(self.simulation, self._pools, settings, times, self._measurements)

    # -- time --------------------------------------------------------------------------------------------------------

    def _play(self, advance: Callable[..., DecisionT | None]) -> DecisionT | None:
        """Repeat `advance(until, stops_at_rest=…)` until it returns a value or the end."""
        if self._autoscaler is not None and not self._has_begun:
            self._add_milestones("autoscaler", self._autoscaler.fill_pools())
        self._has_begun = True
        while not self.is_over:
            self._looks += self._prepared.stop.after is None and self._has_nothing_due()
            if self._looks > MAX_STEPS_AT_ONCE:
                raise SimulationError(NO_REST)
            self._run_due_actions()
            moment = self._next_moment()
            at_rest = self._prepared.stop.at_rest and self._has_no_more_to_do()
            found = advance(moment, stops_at_rest=at_rest)
            if found is not None:
                self._looks = 0
                return found
            reason = self._reason_to_stop(is_to_rest=moment is None)
            if reason is not None:
                self._report_generators()
                self._add_milestone("stop", reason)
                self.is_over = True
        return None

    def _has_nothing_due(self) -> bool:
        times = (self._timeline.next_time(), self._generated.next_time())
        return not any(moment is not None and moment <= self.simulation.now for moment in times)

    def _run_due_actions(self) -> None:
        now = self.simulation.now
        for prepared in self._timeline.due(now):
            done = self._actions.perform(prepared.step, self._applied.get(prepared.path, ()), prepared.path)
            self._add_milestone("timeline", f"{prepared.step.name}: {done}" if prepared.step.name else done)
        arrived = self._generated.due(now)
        if arrived:
            self.simulation.add(arrived)
        for name in self._generated.ended():
            self._add_milestone(
                "generator", f"{name} has made {self._generated.counts[name]} objects, the last one now"
            )
        if self._autoscaler is not None:
            self._add_milestones("autoscaler", self._autoscaler.act())

    def _next_moment(self) -> float | None:
        """Return the time of the next event or check; None if only the simulation can change."""
        now, stop = self.simulation.now, self._prepared.stop
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
        stop, measured, now = self._prepared.stop, self._measurements, self.simulation.now
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
        return self._has_no_more_to_do() and self.simulation.internals.driver.is_at_rest

    def _has_no_more_to_do(self) -> bool:
        """Return whether only the simulation itself can still change."""
        is_quiet = self._autoscaler is None or self._autoscaler.is_at_rest
        return is_quiet and self._timeline.is_over and self._generated.next_time() is None

    def _report_generators(self) -> None:
        for name in self._generated.unended():
            self._add_milestone("generator", f"{name} has made {self._generated.counts[name]} objects so far")

    def result(self, stopped: str = "") -> ScenarioResult:
        """Return the result so far; `stopped` is the reason for an early end, if any."""
        result = self.simulation.result(stopped)
        result.notes = (*result.notes, *self._notes)
        numbers = self._measurements.numbers(result)
        document = self._prepared.document
        shown = document.measure or list(numbers)
        return ScenarioResult.from_run(
            result,
            name=self._scenario.name,
            parameters=document.parameters,
            seed=self._seed,
            milestones=tuple(self._milestones),
            numbers={name: numbers[name] for name in shown},
            checks=tuple(checks(self._prepared.expectations, numbers)),
            simulation=self.simulation,
        )

    def _add_milestones(self, source: MilestoneSource, texts: Iterable[str]) -> None:
        for text in texts:
            self._add_milestone(source, text)

    def _add_milestone(self, source: MilestoneSource, text: str) -> None:
        milestone = Milestone(self.simulation.now, source, text)
        self._milestones.append(milestone)
        if self._on_milestone is not None:
            self._on_milestone(milestone)

    def _read(self, prepared: PreparedStep) -> list[api.Object]:
        """Return the objects of a step, read before the start to raise file errors early."""
        gathered = gather(prepared.sources, custom=self.simulation.scheduler.known_kinds)
        self._notes += gathered.notes
        if gathered.skipped:
            passed_over = ", ".join(f"{count} {kind}" for kind, count in sorted(gathered.skipped.items()))
            self._notes += (f"{prepared.path}: objects of other kinds were passed over: {passed_over}",)
        return [given.object for given in gathered.objects]
