# SPDX-License-Identifier: Apache-2.0
"""The journal of a simulation: everything that was done to it, so that it can be done to another one.

A decision is explained afterwards by doing the same again while somebody watches; a simulation travels to other processes as
its journal. What is changed directly in `Simulation.cluster` is in no journal; the journal knows that something is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from steersman import api
from steersman.embedded import Store
from steersman.errors import InputError
from steersman.graph_copy import copied_attributes, no_value, shared_by_copies
from steersman.sim.object_names import given_key
from steersman.sim.sources import Gathered, Given
from steersman.sim.tasks import SimulationError

if TYPE_CHECKING:
    from steersman.sim.simulation import Simulation


@shared_by_copies
class JournaledCall(NamedTuple):
    """One call of a method of `Simulation`."""

    method: str
    arguments: tuple[object, ...] = ()
    keywords: Mapping[str, object] = {}

    def repeat(self, simulation: Simulation) -> None:
        """Does the same to another simulation."""
        try:
            getattr(simulation, self.method)(*self.arguments, **self.keywords)
        except (InputError, SimulationError):
            return  # as it was the first time, and the caller has gone on


@copied_attributes(on_step=no_value)
class Journal:
    """The steps so far, in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Told when a step begins; the journal of a fork tells nobody.
        self.on_step: Callable[[], None] | None = None
        self.steps: list[JournaledCall] = []
        #: False: something was written to the store that is not in the steps.
        self.is_complete = True
        self._version = store.version

    @contextmanager
    def doing(self, step: JournaledCall) -> Iterator[None]:
        """Notes the step that is taken in the block."""
        if self._store.version != self._version:
            self.is_complete = False
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step()
        try:
            yield
        finally:
            self._version = self._store.version

    def given(self, kind: type[api.Object], key: str) -> Given | None:
        """The object as it was first given, before defaults were filled in; None if it was not."""
        for step in self.steps:
            gathered = step.arguments[0] if step.method == "_add" else None
            for given in gathered.objects if isinstance(gathered, Gathered) else ():
                if isinstance(given.object, kind) and given_key(given.object) == key:
                    return given
        return None

    @property
    def has_everything(self) -> bool:
        """Whether doing the steps again leads to the same state, as far as the journal can tell."""
        return self.is_complete and self._store.version == self._version
