# SPDX-License-Identifier: Apache-2.0
"""The runs of a sweep, in the order in which results list them: inputs, configurations, parameters, seeds.

A cell is what is compared: a configuration on an input with values of the parameters; its runs differ by their seeds alone. The
runs of a cell stand next to each other, so that a worker that has loaded the cell can serve several of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import msgspec

from steersman.sweep.document import ParameterValue, Sweep


class Cell(msgspec.Struct, frozen=True):
    """A combination of configuration, input and parameters, by names; and where its parts stand in the document."""

    number: int
    configuration: str
    input: str
    parameters: Mapping[str, ParameterValue]
    configuration_index: int
    input_index: int

    @property
    def name(self) -> str:
        values = (f"{name}={_written(value)}" for name, value in self.parameters.items())
        return " ".join((self.configuration, self.input, *values))


class Run(msgspec.Struct, frozen=True):
    """A task of the sweep: the position of its row, its cell and its seed."""

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
        """For people: `pack day replicas=20 seed 7`."""
        return f"{self.cells[run.cell].name} seed {run.seed}"


def _written(value: ParameterValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
