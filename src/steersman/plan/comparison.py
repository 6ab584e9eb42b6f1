# SPDX-License-Identifier: Apache-2.0
"""`plan compare`: compares scheduler configurations on the same workload over several seeds.

    objects × configurations × seeds ─► local processes ─► rows ─► means, intervals, differences

The seed breaks ties between nodes. Means have 95 % intervals by Student's t, as in sweeps
(`simulation.results`). Differences are to the first configuration with the same seed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, Final

import msgspec

from steersman import api
from steersman.api import Validation
from steersman.base import InputError
from steersman.base.report import Distribution, Section, Table
from steersman.cluster.kubelets import MIRROR_POD, PolicySource
from steersman.config import FeatureGates
from steersman.plan.answer import Part, PlanAnswer
from steersman.plan.inputs import ReadObject, read_objects
from steersman.plan.measures import Measures, Places, measure, moved_between, places
from steersman.scheduler.assembly import PluginSource
from steersman.simulation import Configuration, Simulation, SimulationError, Source, estimate, run_in_processes

MEASURES: Final = tuple(field.encode_name for field in msgspec.structs.fields(Measures))
MOVED: Final = "moved"
SHOWN: Final = ("pending", "nodesUsed", "packingCpu", "packingMemory", "fragmentationCpu", "waitP99", "cost", MOVED)
"""Measures shown in terminals; the report and the JSON have all."""
DEFAULT: Final = "default"

_replace = msgspec.structs.replace


class Variant(msgspec.Struct, frozen=True):
    """A scheduler to compare: its configuration, plugins and feature gates."""

    name: str
    #: A file, a document, or None for the default configuration.
    config: Configuration = None
    plugins: tuple[PluginSource, ...] = ()
    gates: FeatureGates | Mapping[str, bool] = {}
    #: Whether the configuration's extenders are called, over HTTP and in real time.
    extenders: bool = False


class Interval(Part, frozen=True):
    """A mean over the seeds, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


class Comparison(PlanAnswer, frozen=True, kw_only=True):
    """Configurations beside each other: a row per configuration and seed, and means with intervals."""

    KIND: ClassVar[str] = "Comparison"

    #: Whether no configuration leaves more pods pending than the first one.
    fits: bool
    configurations: tuple[str, ...]
    seeds: tuple[int, ...]
    #: Rows by configuration and seed; `moved`: pods on other nodes than in the first configuration.
    runs: tuple[dict[str, str | int | float], ...]
    #: configuration → measure → mean and interval.
    means: dict[str, dict[str, Interval]]
    #: configuration → measure → difference to the first one.
    differences: dict[str, dict[str, Interval]]

    @property
    def is_met(self) -> bool:
        return self.fits

    def question(self) -> str:
        return f"What is different between {', '.join(self.configurations)}?"

    def sentence(self) -> str:
        telling = [
            f"{name}: {', '.join(parts)}" for name, deltas in self.differences.items() if (parts := _telling(deltas))
        ]
        first = self.configurations[0]
        return f"beside {first}, over {len(self.seeds)} seeds: {'; '.join(telling) or 'no difference that is certain'}"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per configuration and seed."""
        return [dict(run) for run in self.runs]

    def sections(self) -> list[Section]:
        shown = [name for name in SHOWN if any(run[name] for run in self.runs)]
        summary = [
            (
                name,
                measure_name,
                *_row(self.means[name][measure_name], self.differences.get(name, {}).get(measure_name)),
            )
            for measure_name in shown
            for name in self.configurations
        ]
        spread = [
            Distribution(
                name,
                {
                    each: [float(run[name]) for run in self.runs if run["configuration"] == each]
                    for each in self.configurations
                },
            )
            for name in shown
        ]
        columns = ["configuration", "measure", "mean", "95 % interval", "beside the first"]
        table: list[Section] = [Table("Means", columns, summary)]
        return [*table, *spread]


def compare(
    sources: Iterable[Source],
    variants: Sequence[Variant],
    *,
    seeds: int = 20,
    first_seed: int = 0,
    reschedule: bool = False,
    kubelets: PolicySource = None,
    workers: int | None = None,
    stdin: BinaryIO | None = None,
    validate: Validation = "warn",
    on_done: Callable[[int], object] | None = None,
) -> Comparison:
    """Run every variant with every seed on the same cluster. `reschedule`: place bound pods again.

    `workers` is the number of processes, by default one per core. `on_done` gets the number of
    finished runs. Raises `InputError`, `ConfigError` and `PluginError` before the first run.
    """
    _check(variants, seeds)
    kinds: dict[type[api.Object], None] = {}
    for variant in variants:
        with _loaded([], variant, 0, kubelets) as empty:
            kinds.update(dict.fromkeys(empty.scheduler.known_kinds))
    objects, notes = read_objects(sources, kinds, stdin, validate)
    if reschedule:
        objects = [unplaced(obj) for obj in objects]
    chosen = range(first_seed, first_seed + seeds)
    tasks = [(number, seed) for number in range(len(variants)) for seed in chosen]
    finished = 0

    def count(_: int, __: object) -> None:
        nonlocal finished
        finished += 1
        if on_done is not None:
            on_done(finished)

    trial = _Trial(objects, variants, kubelets)
    results = list(run_in_processes(trial, tasks, workers=workers, on_done=count))
    return _answer([variant.name for variant in variants], chosen, results, notes)


class _Trial:
    """Function from a task (configuration index, seed) to the outcome of its run, for workers.

    A worker loads a configuration once; each of its runs is a fork.
    """

    def __init__(self, objects: Sequence[ReadObject], variants: Sequence[Variant], kubelets: PolicySource) -> None:
        self._objects = objects
        self._variants = variants
        self._kubelets = kubelets
        #: The task for which the cluster was loaded last, and that cluster before any run.
        self._task = (-1, 0)
        self._origin: Simulation | None = None

    def __call__(self, task: tuple[int, int]) -> tuple[Measures, Places, str]:
        with self._simulation(*task) as simulation:
            result = simulation.run()
            return measure(simulation, result), dict(places(simulation)), result.stopped

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the loaded cluster, which each worker loads itself."""
        return {**self.__dict__, "_origin": None}

    def _simulation(self, number: int, seed: int) -> Simulation:
        """Return a fork of the loaded cluster with this seed, or load it if loading uses the
        seed."""
        if self._origin is None or self._task[0] != number:
            if self._origin is not None:
                self._origin = None
                gc.collect()  # free the memory of one cluster before the next one is loaded
            self._task, self._origin = (number, seed), self._load(number, seed)
        fork = self._origin.fork()
        if self._task[1] == seed:
            return fork
        try:
            return fork.reseed(seed)
        except SimulationError:
            return self._load(number, seed)

    def _load(self, number: int, seed: int) -> Simulation:
        return _loaded(self._objects, self._variants[number], seed, self._kubelets)


def _loaded(objects: Sequence[ReadObject], variant: Variant, seed: int, kubelets: PolicySource) -> Simulation:
    return Simulation.load(
        objects,
        config=variant.config,
        plugins=variant.plugins,
        gates=variant.gates or None,
        extenders=variant.extenders,
        seed=seed,
        kubelets=kubelets,
        validate="ignore",
    )


def _check(variants: Sequence[Variant], seeds: int) -> None:
    names = [variant.name for variant in variants]
    if len(names) < 2:
        raise InputError(
            "one configuration alone cannot be compared", hint=f"name two, or {DEFAULT} for the default one"
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("two configurations have one name", value=twice, hint="write NAME=FILE")
    if seeds < 1:
        raise InputError("is not a number of seeds", value=seeds, hint="use 1 or more")


def unplaced(obj: ReadObject) -> ReadObject:
    """Return a pod as before scheduling, but static, ended and ending pods and others unchanged."""
    if not isinstance(obj, api.Pod) or not obj.spec.node_name or MIRROR_POD in obj.metadata.annotations:
        return obj
    if obj.status.phase in api.FINISHED_PHASES or obj.metadata.deletion_timestamp is not None:
        return obj
    return _replace(obj, spec=_replace(obj.spec, node_name=""), status=api.PodStatus())


# -- the answer --------------------------------------------------------------------------------------------------------


def _answer(
    names: Sequence[str], seeds: range, results: Sequence[tuple[Measures, Places, str]], notes: Sequence[str]
) -> Comparison:
    per_seed = len(seeds)
    runs = []
    for index, (measures, where, _) in enumerate(results):
        number, at = divmod(index, per_seed)
        moved = moved_between(results[at][1], where)
        runs.append({"configuration": names[number], "seed": seeds[at], **msgspec.to_builtins(measures), MOVED: moved})
    means: dict[str, dict[str, Interval]] = {}
    differences: dict[str, dict[str, Interval]] = {}
    for number, name in enumerate(names):
        own, first = runs[number * per_seed : (number + 1) * per_seed], runs[:per_seed]
        means[name] = {measured: interval([run[measured] for run in own]) for measured in (*MEASURES, MOVED)}
        if number:
            differences[name] = {
                measured: interval([run[measured] - other[measured] for run, other in zip(own, first, strict=True)])
                for measured in (*MEASURES, MOVED)
            }
    stopped = [f"a run of {names[index // per_seed]} {why}" for index, (_, _, why) in enumerate(results) if why]
    return Comparison(
        fits=all(means[name]["pending"].mean <= means[names[0]]["pending"].mean for name in names),
        configurations=tuple(names),
        seeds=tuple(seeds),
        runs=tuple(runs),
        means=means,
        differences=differences,
        notes=(*stopped[:1], *notes),
    )


def interval(values: Sequence[float]) -> Interval:
    """Return the mean with its interval, which is empty for a single value."""
    found = estimate(values)
    margin = found.margin or 0.0
    return Interval(*(round(float(value), 6) for value in (found.mean, found.mean - margin, found.mean + margin)))


def _telling(deltas: Mapping[str, Interval]) -> list[str]:
    """Return the differences whose interval does not contain 0."""
    return [
        f"{name} {delta.mean:+.3g}"
        for name, delta in deltas.items()
        if name in SHOWN and (delta.low > 0 or delta.high < 0)
    ]


def _row(mean: Interval, delta: Interval | None) -> tuple[float, str, str | None]:
    beside = None if delta is None else f"{delta.mean:+.3g} [{delta.low:+.3g}, {delta.high:+.3g}]"
    return mean.mean, f"[{mean.low:.3g}, {mean.high:.3g}]", beside
