# SPDX-License-Identifier: Apache-2.0
"""Loading of scenarios: substitutes parameters, and checks every field before the run.

`load_scenario` returns a `Scenario` with the original document, whose content depends on
parameters. `execution` runs `Scenario.prepared`. Errors name file, field, value and remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman.api import DocumentKind, convert_document, similar
from steersman.base import SCENARIO_VERSION, InputError
from steersman.cluster.kubelets import KubeletPolicy, load_policy
from steersman.simulation.inputs.sources import Source
from steersman.simulation.node_pools import NodePool, load_pools
from steersman.simulation.scenario.document import (
    SCENARIO_KIND,
    AutoscalerSettings,
    ScenarioDocument,
    Stop,
)
from steersman.simulation.scenario.generators import PreparedGenerator, prepare_generator
from steersman.simulation.scenario.measurements import Expectation, check_measure, parse_expectations
from steersman.simulation.scenario.parameters import ParameterValue, substituted, values_of
from steersman.simulation.scenario.timeline import PreparedStep, prepare_step, sources
from steersman.simulation.scenario.times import seconds

ScenarioSource: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Scenario"
"""A file, the document (with files relative to the working directory), or a loaded scenario."""

NEVER_ENDS: Final = "never ends"
_SCENARIO: Final = DocumentKind(SCENARIO_VERSION, SCENARIO_KIND)
_NO_PARAMETERS: Final[Mapping[str, ParameterValue]] = {}


class StopConditions(NamedTuple):
    """Conditions that end a scenario, with times in seconds; None disables a condition."""

    after: float | None
    at_rest: bool
    pending_longer_than: float | None
    pending_more_than: int | None
    completed: int | None


class AutoscalerTimes(NamedTuple):
    """The autoscaler's time settings in seconds."""

    scan_interval: float
    scale_down_delay_after_add: float
    max_pod_eviction_time: float


class PreparedScenario(NamedTuple):
    """A checked scenario, with file paths relative to the working directory."""

    document: ScenarioDocument
    cluster: list[Source]
    config: str | dict[str, Any] | None
    plugins: list[str]
    kubelets: KubeletPolicy
    pools: tuple[NodePool, ...]
    autoscaler: AutoscalerTimes
    timeline: list[PreparedStep]
    generators: list[PreparedGenerator]
    stop: StopConditions
    expectations: list[Expectation]


class Scenario(msgspec.Struct, frozen=True):
    """A document of kind Scenario before parameter substitution, and the folder of its files."""

    raw: dict[str, Any]
    folder: str = "."
    #: Path given by the user; "" for a document without a file.
    file: str = ""

    @property
    def name(self) -> str:
        """The scenario's name, by default the stem of its file."""
        name = self.raw.get("name")
        return name if isinstance(name, str) and name else Path(self.file).stem or "scenario"

    @property
    def parameters(self) -> dict[str, ParameterValue]:
        """The parameters with their default values."""
        return values_of(self.raw.get("parameters"), {})

    def prepared(self, parameters: Mapping[str, ParameterValue] = _NO_PARAMETERS) -> PreparedScenario:
        """Return the checked scenario with these values. Raises `InputError`."""
        try:
            return _prepared(self, parameters)
        except InputError as error:
            raise (
                error.located(file=self.file, object=SCENARIO_KIND) if self.file and error.file is None else error
            ) from error


def load_scenario(source: ScenarioSource) -> Scenario:
    """Read and check a scenario. Raises `InputError`."""
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        scenario = Scenario(dict(source))
    else:
        path = fspath(source)
        scenario = Scenario(_SCENARIO.read(path), str(Path(path).parent), path)
    scenario.prepared()
    return scenario


def _prepared(scenario: Scenario, parameters: Mapping[str, ParameterValue]) -> PreparedScenario:
    values = values_of(scenario.raw.get("parameters"), parameters)
    filled = {**substituted({**scenario.raw, "parameters": {}}, values), "parameters": values}
    document = convert_document(filled, ScenarioDocument)
    base = Path(scenario.folder)
    pools = _pools(document, base)
    names = [pool.name for pool in pools]
    _check_names(document, names)
    prepared = PreparedScenario(
        document,
        sources(document.cluster, base),
        str(base / document.config) if isinstance(document.config, str) else document.config,
        [str(base / plugin) for plugin in document.plugins],
        load_policy(str(base / document.kubelets) if isinstance(document.kubelets, str) else document.kubelets),
        pools,
        _autoscaler_times(document.autoscaler),
        [prepare_step(step, index, base, names) for index, step in enumerate(document.timeline)],
        [prepare_generator(each, f"generators[{index}]", base) for index, each in enumerate(document.generators)],
        _stop_conditions(document.stop),
        parse_expectations(document.expect),
    )
    _check_end(prepared)
    return prepared


def _pools(document: ScenarioDocument, base: Path) -> tuple[NodePool, ...]:
    if document.pools is None:
        return ()
    try:
        return load_pools(str(base / document.pools) if isinstance(document.pools, str) else document.pools).pools
    except InputError as error:
        raise error if error.file is not None else error.beneath("pools") from error


def _check_names(document: ScenarioDocument, pools: list[str]) -> None:
    names = [generator.name for generator in document.generators]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InputError("is the name of two generators", field=f"generators[{index}].name", value=name)
    for index, name in enumerate(document.measure):
        check_measure(name, f"measure[{index}]")
    for index, name in enumerate(document.autoscaler.priorities):
        if name not in pools:
            path = f"autoscaler.priorities[{index}]"
            raise InputError("is not a pool of the scenario", field=path, value=name, hint=similar(name, pools))


def _autoscaler_times(document: AutoscalerSettings) -> AutoscalerTimes:
    scan = seconds(document.scan_interval, "autoscaler.scanInterval")
    if not scan:
        raise InputError("must be more than 0", field="autoscaler.scanInterval", value=document.scan_interval)
    return AutoscalerTimes(
        scan,
        seconds(document.scale_down_delay_after_add, "autoscaler.scaleDownDelayAfterAdd"),
        seconds(document.max_pod_eviction_time, "autoscaler.maxPodEvictionTime"),
    )


def _stop_conditions(document: Stop) -> StopConditions:
    after = None if document.after is None else seconds(document.after, "stop.after")
    longer = document.pending_longer_than
    if after is None and document.at_rest is False:
        raise InputError("needs after", field="stop.atRest", value=False, hint="write when the scenario ends")
    return StopConditions(
        after,
        after is None if document.at_rest is None else document.at_rest,
        None if longer is None else seconds(longer, "stop.pendingLongerThan"),
        document.pending_more_than,
        document.completed,
    )


def _check_end(prepared: PreparedScenario) -> None:
    if prepared.stop.after is not None:
        return
    for index, generator in enumerate(prepared.generators):
        if not generator.is_finite:
            hint = "write until or count, or stop.after for the whole scenario"
            raise InputError(NEVER_ENDS, field=f"generators[{index}]", value=generator.name, hint=hint)
    for step in prepared.timeline:
        if step.every is not None and step.step.times is None:
            raise InputError(NEVER_ENDS, field=step.path, hint="write times, or stop.after for the whole scenario")
