# SPDX-License-Identifier: Apache-2.0
"""The document of kind Sweep: every field with its description for users.

`loading` reads and checks it, `Matrix` derives the runs, in the order of results: inputs,
configurations, parameters, seeds. The reference in the docs is generated from these structs.

A cell is the unit of comparison: a configuration, an input and parameter values; its runs differ
only in their seeds. They are adjacent, so that a worker can use a loaded cell for several runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steersman.api import DocumentPart
from steersman.base import SWEEP_VERSION

SWEEP_KIND: Final = "Sweep"

JsonObject: TypeAlias = dict[str, Any]
ParameterValue: TypeAlias = str | int | float | bool


class ConfigurationChoice(DocumentPart, frozen=True):
    """A scheduler to compare with others."""

    name: Annotated[str, Meta(description="The name in results; default: the name of the file, or `default`.")] = ""
    config: Annotated[
        str | JsonObject | None,
        Meta(description="A KubeSchedulerConfiguration, or its file; default: kube-scheduler's own defaults."),
    ] = None
    plugins: Annotated[list[str], Meta(description="Python files with plugins.")] = []
    feature_gates: Annotated[dict[str, bool], Meta(description="Feature gates of the scheduler.")] = {}


class InputChoice(DocumentPart, frozen=True):
    """A workload on a cluster; exactly one of `manifests` and `scenario`."""

    name: Annotated[str, Meta(description="The name in results; default: the name of the file, or `input`.")] = ""
    manifests: Annotated[
        list[str | JsonObject],
        Meta(description="Manifests and dumps as for `simulate -f`: files, directories, or objects."),
    ] = []
    scenario: Annotated[str | JsonObject | None, Meta(description="A Scenario, or its file.")] = None
    until: Annotated[
        str | float | None,
        Meta(description="With `manifests`: continue for this virtual time; default: until nothing changes any more."),
    ] = None
    kubelets: Annotated[
        str | JsonObject | None, Meta(description="With `manifests`: a KubeletPolicy, or its file.")
    ] = None
    controllers: Annotated[
        bool, Meta(description="With `manifests`: whether controllers create pods of workloads.")
    ] = True


class SeedRange(DocumentPart, frozen=True):
    """Seeds that follow each other."""

    count: Annotated[int, Meta(ge=1, description="Number of seeds.")]
    first: Annotated[int, Meta(description="First seed.")] = 0


class Sweep(DocumentPart, frozen=True, kw_only=True):
    """Many runs: every configuration on every input, with every combination of parameters and every
    seed."""

    api_version: Annotated[str, Meta(description="`steersman.dev/v1alpha1`.")] = SWEEP_VERSION
    kind: Annotated[str, Meta(description="`Sweep`.")] = SWEEP_KIND
    name: Annotated[str, Meta(description="A name for reports; default: the name of the file.")] = ""
    description: Annotated[str, Meta(description="A description for readers.")] = ""
    configurations: Annotated[
        list[ConfigurationChoice], Meta(description="Schedulers; default: kube-scheduler's own defaults.")
    ] = msgspec.field(default_factory=lambda: [ConfigurationChoice()])
    inputs: Annotated[list[InputChoice], Meta(description="Workloads on clusters.")]
    parameters: Annotated[
        dict[str, list[ParameterValue]],
        Meta(description="Values of `${name}` in scenarios and configurations; each of them is run."),
    ] = {}
    seeds: Annotated[
        int | list[int] | SeedRange,
        Meta(description="Number of seeds from 0 on, a list, or `{first: 100, count: 50}`. Default: 1."),
    ] = 1

    measures: Annotated[
        list[str],
        Meta(description="Python files; each public function in them takes the result of a run and returns a number."),
    ] = []
    keep: Annotated[
        list[Literal["placements", "namespaces", "utilisation", "events", "preempted", "series"]],
        Meta(description="Tables of every run to write, each into a folder of its name."),
    ] = []

    @property
    def all_seeds(self) -> list[int]:
        if isinstance(self.seeds, list):
            return self.seeds
        if isinstance(self.seeds, SeedRange):
            return list(range(self.seeds.first, self.seeds.first + self.seeds.count))
        return list(range(self.seeds))


# -- the runs ----------------------------------------------------------------------------------------------------------


class Cell(msgspec.Struct, frozen=True):
    """Names and indexes of a configuration and an input, and parameter values."""

    number: int
    configuration: str
    input: str
    parameters: Mapping[str, ParameterValue]
    configuration_index: int
    input_index: int

    @property
    def parameter_values(self) -> tuple[ParameterValue, ...]:
        return tuple(self.parameters.values())

    @property
    def name(self) -> str:
        values = (f"{name}={_written(value)}" for name, value in self.parameters.items())
        return " ".join((self.configuration, self.input, *values))


class Run(msgspec.Struct, frozen=True):
    """A task of the sweep: index of its row, cell and seed."""

    number: int
    cell: int
    seed: int


class Matrix:
    """All cells and runs of a sweep."""

    def __init__(self, sweep: Sweep) -> None:
        combinations = [
            dict(zip(sweep.parameters, values, strict=True)) for values in product(*sweep.parameters.values())
        ]
        choices = product(enumerate(sweep.inputs), enumerate(sweep.configurations), combinations)
        self.cells = [
            Cell(number, configuration.name, given.name, values, configuration_index, input_index)
            for number, ((input_index, given), (configuration_index, configuration), values) in enumerate(choices)
        ]
        seeds = sweep.all_seeds
        self.runs = [Run(number, cell.number, seed) for number, (cell, seed) in enumerate(product(self.cells, seeds))]

    def name(self, run: Run) -> str:
        """Return a display name: `pack day replicas=20 seed 7`."""
        return f"{self.cells[run.cell].name} seed {run.seed}"


def _written(value: ParameterValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
