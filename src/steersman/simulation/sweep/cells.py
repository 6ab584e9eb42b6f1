# SPDX-License-Identifier: Apache-2.0
"""Loaded cells of a sweep: scenario and initial cluster, from which the runs of all seeds start.

Manifests are converted to a scenario without events, so that both run and are measured alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from steersman.api import read_text, yaml_documents
from steersman.base import SCENARIO_VERSION, InputError
from steersman.simulation.inputs.sources import gather
from steersman.simulation.scenario import Scenario, ScenarioResult, load_scenario
from steersman.simulation.scenario.document import SCENARIO_KIND
from steersman.simulation.scenario.execution import Execution, simulation_of
from steersman.simulation.scenario.loading import PreparedScenario
from steersman.simulation.scenario.parameters import UNKNOWN_PARAMETER, substituted
from steersman.simulation.scenario.timeline import PreparedStep
from steersman.simulation.simulation import Simulation
from steersman.simulation.sweep.document import Cell, ConfigurationChoice, InputChoice, ParameterValue, Sweep

Located: TypeAlias = Callable[[Any], Any]
"""Returns the actual path of a file of the document; other values are returned unchanged."""


class LoadedCell(NamedTuple):
    """A cell of the matrix with the common state of its runs, after its files were read."""

    cell: Cell
    scenario: Scenario
    prepared: PreparedScenario
    simulation: Simulation

    def run(self, simulation: Simulation, seed: int) -> ScenarioResult:
        """Run the scenario with this seed on the given cluster."""
        return Execution(self.scenario, self.prepared, simulation, seed).run()


def load_cell(sweep: Sweep, cell: Cell, at: Located, seed: int = 0) -> LoadedCell:
    """Read the files of a cell. Raises `InputError`, `ConfigError` and `PluginError`."""
    choice = sweep.configurations[cell.configuration_index]
    scenario = scenario_of(sweep.inputs[cell.input_index], at)
    prepared = scenario.prepared(declared(scenario, cell.parameters))
    simulation = simulation_of(
        prepared,
        config=_configuration(choice, cell.parameters, at),
        plugins=[at(path) for path in choice.plugins],
        gates=choice.feature_gates,
        seed=seed,
    )
    timeline = [_read(step, simulation) for step in prepared.timeline]
    return LoadedCell(cell, scenario, prepared._replace(timeline=timeline), simulation)


def load_configuration(sweep: Sweep, cell: Cell, at: Located) -> Simulation:
    """Load the scheduler of a cell on an empty cluster. Raises `ConfigError` and `PluginError`."""
    choice = sweep.configurations[cell.configuration_index]
    return Simulation.load(
        config=_configuration(choice, cell.parameters, at),
        plugins=[at(path) for path in choice.plugins],
        gates=choice.feature_gates,
    )


def scenario_of(given: InputChoice, at: Located) -> Scenario:
    """Return the scenario of an input. Raises `InputError`."""
    if given.scenario is not None:
        return load_scenario(at(given.scenario))
    document: dict[str, Any] = {
        "apiVersion": SCENARIO_VERSION,
        "kind": SCENARIO_KIND,
        "name": given.name,
        "cluster": [at(source) for source in given.manifests],
        "controllers": given.controllers,
    }
    if given.kubelets is not None:
        document["kubelets"] = at(given.kubelets)
    if given.until is not None:
        document["stop"] = {"after": given.until}
    return Scenario(document)


def check_parameters(sweep: Sweep) -> None:
    """Raise `InputError` for a parameter that no scenario and no configuration uses."""
    scenarios = [scenario_of(given, lambda source: source) for given in sweep.inputs]
    documents = [_configuration_document(choice) for choice in sweep.configurations]
    for name in sweep.parameters:
        in_scenarios = any(name in scenario.parameters for scenario in scenarios)
        if not in_scenarios and not any(_refers_to(document, name) for document in documents):
            hint = f"declare it in a scenario's parameters, or write ${{{name}}} in a configuration"
            wrong = "changes nothing: neither a scenario nor a configuration has it"
            raise InputError(wrong, field=f"parameters.{name}", hint=hint)


def declared(scenario: Scenario, parameters: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """Return the sweep's parameters that the scenario declares; others are for configurations."""
    known = scenario.parameters
    return {name: value for name, value in parameters.items() if name in known}


def _configuration(choice: ConfigurationChoice, parameters: Mapping[str, ParameterValue], at: Located) -> Any:
    """Return the configuration with substituted parameters, or its path without parameters."""
    if choice.config is None or not parameters:
        return at(choice.config)
    path = at(choice.config) if isinstance(choice.config, str) else None
    document = choice.config if path is None else _document_in(path)
    try:
        return substituted(document, parameters)
    except InputError as error:
        wrong = "is not a parameter of the sweep" if error.message == UNKNOWN_PARAMETER else error.message
        raise InputError(wrong, file=path, field=error.field, value=error.value, hint=error.hint) from error


def _configuration_document(choice: ConfigurationChoice) -> Any:
    return _document_in(choice.config) if isinstance(choice.config, str) else choice.config


def _refers_to(document: Any, parameter: str) -> bool:
    """Return whether the document contains `${parameter}`."""
    reference = rf"(?<!\$)\$\{{\s*{re.escape(parameter)}\s*\}}"
    return re.search(reference, msgspec.json.encode(document).decode()) is not None


def _document_in(path: str) -> Any:
    text = read_text(path)
    found = [document for document in yaml_documents.documents(text) if document is not None]
    if len(found) != 1:
        raise InputError(f"holds {len(found)} documents", file=path, hint="write one KubeSchedulerConfiguration")
    return found[0]


def _read(step: PreparedStep, simulation: Simulation) -> PreparedStep:
    """Return the step with the contents of its files as sources."""
    if not step.sources:
        return step
    gathered = gather(step.sources, custom=simulation.scheduler.known_kinds)
    return step._replace(sources=[given.object for given in gathered.objects])
