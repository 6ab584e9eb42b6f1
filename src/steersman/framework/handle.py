"""What the framework gives a plugin when it is made: other objects of the cluster, the clock, the gates.

A plugin that wants none of it has no constructor. Otherwise it is `__init__(self, args, handle)`: `args` is the typed
argument struct of an in-tree plugin, or the mapping that the configuration holds for any other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from steersman.clock import Clock
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status

K = TypeVar("K")


class Objects(Protocol):
    """Listers: the cluster's objects other than nodes and pods, as last seen."""

    def get(self, kind: type[K], key: str) -> K | None:
        """The object with that key: ``namespace/name``, or ``name`` for a cluster-scoped kind."""

    def list(self, kind: type[K], namespace: str | None = None) -> Collection[K]:
        """All objects of a kind, or those of one namespace."""

    def version(self, kind: type[object]) -> int:
        """Grows with every change of an object of that kind; equal versions mean equal answers."""


class Nodes(Protocol):
    """The nodes of the current scheduling cycle with their pods."""

    def all(self) -> Sequence[NodeInfo]: ...

    def get(self, name: str) -> NodeInfo | None: ...

    def with_affinity_pods(self) -> Sequence[NodeInfo]:
        """Nodes that have at least one pod with a pod (anti-)affinity term."""

    def with_required_anti_affinity_pods(self) -> Sequence[NodeInfo]: ...


class Gates(Protocol):
    """Feature gates."""

    def enabled(self, name: str) -> bool: ...


class Binder(Protocol):
    """Tells the API server on which node a pod is to run."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Returns when the API server has answered; a refusal is a Status with code ERROR."""


class Handle(Protocol):
    """Valid for the life of the plugin."""

    @property
    def profile_name(self) -> str: ...
    @property
    def objects(self) -> Objects: ...
    @property
    def nodes(self) -> Nodes: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def gates(self) -> Gates: ...
    @property
    def binder(self) -> Binder: ...

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        """Pods that wait for that node to become free, for example after a preemption."""
