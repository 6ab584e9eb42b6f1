# SPDX-License-Identifier: Apache-2.0
"""An extender: a service outside of the scheduler that is asked after the plugins. Implemented by `client.extenders`.

Everything that talks to it is a coroutine; a fault raises `ExtenderError`. What becomes of it is up to the caller: an
extender that is ignorable is left out, a fault in `prioritize` never counts, any other ends the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from steersman import api
from steersman.errors import SteersmanError
from steersman.framework.pod_info import PodInfo

#: How the diagnosis names whatever an extender rejected, as upstream does.
EXTENDER_PLUGIN = "Extender"
#: An extender's priorities are within 0..10; plugins score within 0..100.
MAX_EXTENDER_PRIORITY = 10


class ExtenderError(SteersmanError):
    """An extender does not answer, or not with anything usable."""

    def __init__(self, message: str, *, may_have_acted: bool = False) -> None:
        super().__init__(message)
        #: It was asked and did not answer: it may have done what it was asked for.
        self.may_have_acted = may_have_acted


class ExtenderFilterOutcome(msgspec.Struct, frozen=True):
    """The nodes that an extender leaves of those it was shown."""

    nodes: tuple[str, ...]
    #: By node; removing pods from it might help.
    failed: Mapping[str, str]
    #: By node; nothing helps.
    failed_and_unresolvable: Mapping[str, str]


class NodeVictims(msgspec.Struct, frozen=True):
    """Pods that would have to leave a node."""

    pods: tuple[PodInfo, ...]
    pdb_violations: int


PodsOn = Callable[[str], Iterable[PodInfo] | None]
"""All pods of the node with that name, None if there is no such node. Extenders name pods by UID."""


class Extender(Protocol):
    """One extender of the configuration."""

    @property
    def name(self) -> str:
        """The address of the extender."""

    @property
    def is_ignorable(self) -> bool:
        """Scheduling goes on without it when it fails."""

    @property
    def is_filter(self) -> bool: ...
    @property
    def is_prioritizer(self) -> bool: ...
    @property
    def is_binder(self) -> bool: ...
    @property
    def supports_preemption(self) -> bool: ...

    @property
    def weight(self) -> int:
        """The weight of its priorities."""

    def is_interested(self, pod: PodInfo) -> bool: ...

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome: ...

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        """Priorities by node, 0..10, not weighted."""

    async def bind(self, pod: PodInfo, node_name: str) -> None: ...

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        """The nodes on which preemption may happen, with victims that may be others than those it was shown."""
