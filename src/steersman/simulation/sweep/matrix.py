# SPDX-License-Identifier: Apache-2.0
"""The runs of a sweep, in the order of results: inputs, configurations, parameters, seeds.

A cell is the unit of comparison: a configuration, an input and parameter values; its runs differ
only in their seeds. They are adjacent, so that a worker can use a loaded cell for several runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import msgspec

from steersman.simulation.sweep.document import ParameterValue, Sweep


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
