# SPDX-License-Identifier: Apache-2.0
"""Scheduler extenders: external services called after the plugins. Implemented by
`client.extenders`.

All calls are coroutines; a failure raises `ExtenderError`. The caller handles it: an ignorable
extender is skipped, a failure of `prioritize` is always ignored, and any other failure ends the
attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from steersman import api
from steersman.base import SteersmanError
from steersman.framework.pod_info import PodInfo

#: Plugin name of extender rejections in a diagnosis, as upstream uses it.
EXTENDER_PLUGIN = "Extender"
#: An extender's priorities are within 0..10; plugins score within 0..100.
MAX_EXTENDER_PRIORITY = 10


class ExtenderError(SteersmanError):
    """An extender does not respond, or its response is invalid."""

    def __init__(self, message: str, *, may_have_acted: bool = False) -> None:
        super().__init__(message)
        #: Whether the request was sent without receiving a response, so it may have taken effect.
        self.may_have_acted = may_have_acted


class ExtenderFilterOutcome(msgspec.Struct, frozen=True):
    """Result of an extender's filter: the remaining nodes and the failed ones."""

    nodes: tuple[str, ...]
    #: Reason by node; removing pods from the node might help.
    failed: Mapping[str, str]
    #: Reason by node; removing pods does not help.
    failed_and_unresolvable: Mapping[str, str]
    #: Whether the extender returned Node objects. As in upstream, they replace the scheduler's
    #: node infos for scoring, so that nodes are scored as if they had no pods and no images.
    has_node_objects: bool = False


class NodeVictims(msgspec.Struct, frozen=True):
    """Pods to remove from a node."""

    pods: tuple[PodInfo, ...]
    pdb_violations: int


PodsOn = Callable[[str], Iterable[PodInfo] | None]
"""Returns all pods of the node with this name, or None if there is no such node. Extenders name
pods by UID."""


class Extender(Protocol):
    """One extender of the configuration."""

    @property
    def name(self) -> str:
        """The address of the extender."""

    @property
    def is_ignorable(self) -> bool:
        """Whether scheduling continues without it if it fails."""

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
        """Weight of its priorities."""

    def is_interested(self, pod: PodInfo) -> bool: ...

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome: ...

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        """Return unweighted priorities by node, 0..10."""

    async def bind(self, pod: PodInfo, node_name: str) -> None: ...

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        """Return the nodes on which preemption may happen, with victims that may differ from the
        given ones."""
