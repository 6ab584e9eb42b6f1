# SPDX-License-Identifier: Apache-2.0
"""A cell of a sweep, loaded: its scenario and its cluster before anything has happened, from which the runs of all seeds start.

Manifests are a scenario in which nothing happens but what the scheduler and the controllers do; so there is one way to run and
to measure both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from steersman.api import yaml_documents
from steersman.api.text_files import read_text
from steersman.errors import InputError
from steersman.scenario import Scenario, ScenarioResult, load_scenario
from steersman.scenario.document import SCENARIO_KIND, SCENARIO_VERSION
from steersman.scenario.execution import Execution, simulation_of
from steersman.scenario.loading import PreparedScenario
from steersman.scenario.parameters import UNKNOWN_PARAMETER, substituted
from steersman.scenario.timeline import PreparedStep
from steersman.sim import Simulation
from steersman.sim.sources import gather
from steersman.sweep.document import ConfigurationChoice, InputChoice, ParameterValue, Sweep
from steersman.sweep.matrix import Cell

Located: TypeAlias = Callable[[Any], Any]
"""Where a file of the document is; what is no path stays as it is."""


class LoadedCell(NamedTuple):
    """A cell of the matrix with all that its runs have in common, its files read."""

    cell: Cell
    scenario: Scenario
    prepared: PreparedScenario
    simulation: Simulation

    def run(self, simulation: Simulation, seed: int) -> ScenarioResult:
        """The run with this seed, on a cluster of its own."""
        return Execution(self.scenario, self.prepared, simulation, seed).run()


def load_cell(sweep: Sweep, cell: Cell, at: Located, seed: int = 0) -> LoadedCell:
    """Reads the files of a cell. Raises `InputError`, `ConfigError` and `PluginError`."""
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
    """The scheduler of a cell on an empty cluster. Raises `ConfigError` and `PluginError`."""
    choice = sweep.configurations[cell.configuration_index]
    return Simulation.load(
        config=_configuration(choice, cell.parameters, at),
        plugins=[at(path) for path in choice.plugins],
        gates=choice.feature_gates,
    )


def scenario_of(given: InputChoice, at: Located) -> Scenario:
    """The scenario of an input. Raises `InputError`."""
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
    """Raises `InputError` for a parameter that neither a scenario nor a configuration knows: it would change nothing."""
    scenarios = [scenario_of(given, lambda source: source) for given in sweep.inputs]
    documents = [_configuration_document(choice) for choice in sweep.configurations]
    for name in sweep.parameters:
        in_scenarios = any(name in scenario.parameters for scenario in scenarios)
        if not in_scenarios and not any(_refers_to(document, name) for document in documents):
            hint = f"declare it in a scenario's parameters, or write ${{{name}}} in a configuration"
            wrong = "changes nothing: neither a scenario nor a configuration has it"
            raise InputError(wrong, field=f"parameters.{name}", hint=hint)


def declared(scenario: Scenario, parameters: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """The parameters of the sweep that the scenario declares; the others are for configurations."""
    known = scenario.parameters
    return {name: value for name, value in parameters.items() if name in known}


def _configuration(choice: ConfigurationChoice, parameters: Mapping[str, ParameterValue], at: Located) -> Any:
    """The configuration with values in the place of parameters; its file, if there are none."""
    if choice.config is None or not parameters:
        return at(choice.config)
    path = at(choice.config) if isinstance(choice.config, str) else None
    document = choice.config if path is None else _document_in(path)
    try:
        return substituted(document, parameters)
    except InputError as error:
        wrong = "is no parameter of the sweep" if error.message == UNKNOWN_PARAMETER else error.message
        raise InputError(wrong, file=path, field=error.field, value=error.value, hint=error.hint) from error


def _configuration_document(choice: ConfigurationChoice) -> Any:
    return _document_in(choice.config) if isinstance(choice.config, str) else choice.config


def _refers_to(document: Any, parameter: str) -> bool:
    """Whether `${parameter}` stands somewhere in the document."""
    reference = rf"(?<!\$)\$\{{\s*{re.escape(parameter)}\s*\}}"
    return re.search(reference, msgspec.json.encode(document).decode()) is not None


def _document_in(path: str) -> Any:
    text = read_text(path)
    found = [document for document in yaml_documents.documents(text) if document is not None]
    if len(found) != 1:
        raise InputError(f"holds {len(found)} documents", file=path, hint="write one KubeSchedulerConfiguration")
    return found[0]


def _read(step: PreparedStep, simulation: Simulation) -> PreparedStep:
    """The step with the objects that it applies in the place of their files."""
    if not step.sources:
        return step
    gathered = gather(step.sources, custom=simulation.known_kinds)
    return step._replace(sources=[given.object for given in gathered.objects])
