# SPDX-License-Identifier: Apache-2.0
"""The journal of a simulation: all calls that changed it, for repetition on another one.

A past decision is explained by repeating the calls under an observer; a simulation is sent to other
processes as its journal. Direct changes of `Simulation.cluster` are not in the journal;
`Journal.has_everything` is then False.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from steersman import api
from steersman.base import InputError
from steersman.base.graph_copy import copied_attributes, no_value, shared_by_copies
from steersman.cluster.store import Store
from steersman.simulation.inputs.object_names import given_key
from steersman.simulation.inputs.sources import Gathered, Given
from steersman.simulation.virtual_time.tasks import SimulationError

if TYPE_CHECKING:
    from steersman.simulation.simulated_cluster import SimulatedCluster


@shared_by_copies
class JournaledCall(NamedTuple):
    """One call of a method of `SimulatedCluster`."""

    method: str
    arguments: tuple[object, ...] = ()
    keywords: Mapping[str, object] = {}

    def repeat(self, cluster: SimulatedCluster) -> None:
        """Repeat the call on another cluster. Errors are ignored, as by the original caller."""
        try:
            getattr(cluster, self.method)(*self.arguments, **self.keywords)
        except (InputError, SimulationError):
            return


@copied_attributes(on_call=no_value)
class Journal:
    """The calls so far, in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Callback at the start of a call; None in forks.
        self.on_call: Callable[[], None] | None = None
        self.calls: list[JournaledCall] = []
        #: False if the store was changed outside of calls.
        self.is_complete = True
        self._version = store.version

    @contextmanager
    def recording(self, call: JournaledCall) -> Iterator[None]:
        """Add a call, which is made within the block."""
        if self._store.version != self._version:
            self.is_complete = False
        self.calls.append(call)
        if self.on_call is not None:
            self.on_call()
        try:
            yield
        finally:
            self._version = self._store.version

    def given(self, kind: type[api.Object], key: str) -> Given | None:
        """Return the object as first given, before defaulting, or None."""
        for call in self.calls:
            gathered = call.arguments[0] if call.method == "add" else None
            for given in gathered.objects if isinstance(gathered, Gathered) else ():
                if isinstance(given.object, kind) and given_key(given.object) == key:
                    return given
        return None

    @property
    def has_everything(self) -> bool:
        """Whether repeating the calls leads to the same state, as far as known."""
        return self.is_complete and self._store.version == self._version
