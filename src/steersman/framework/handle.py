# SPDX-License-Identifier: Apache-2.0
"""The handle that a plugin is given when it is made: other objects of the cluster, the clock, the gates.

A plugin that wants none of it has no constructor. Otherwise it is `__init__(self, args, handle)`: `args` is the typed
argument struct of an in-tree plugin, or the mapping that the configuration holds for any other.
"""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from steersman import api
from steersman.clock import Clock
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Binder, PodWriter, ResourceClaimWriter, VolumeWriter
from steersman.framework.reading import ApiReader
from steersman.framework.status import Status
from steersman.rng import Rng

K = TypeVar("K")


class Objects(Protocol):
    """Listers: the cluster's objects other than nodes and pods, as last seen."""

    def get(self, kind: type[K], key: str) -> K | None:
        """The object with that key: ``namespace/name``, or ``name`` for a cluster-scoped kind."""

    def list(self, kind: type[K], namespace: str | None = None) -> Collection[K]:
        """All objects of a kind, or those of one namespace."""

    def version(self, kind: type[object]) -> int:
        """Grows with every change of an object of that kind; equal versions mean equal answers."""

    @property
    def changes(self) -> int:
        """Grows with every change of an object of any kind: cheap to ask before asking for versions."""

    def changed_since(self, kind: type[object], version: int) -> Collection[str] | None:
        """The keys of the objects of that kind that were added, replaced or removed since the version; None when that is
        too long ago to tell."""


class Nodes(Protocol):
    """The nodes of the current scheduling cycle with their pods."""

    def all(self) -> Sequence[NodeInfo]: ...

    def get(self, name: str) -> NodeInfo | None: ...

    def with_affinity_pods(self) -> Sequence[NodeInfo]:
        """Nodes that have at least one pod with a pod (anti-)affinity term."""

    def with_required_anti_affinity_pods(self) -> Sequence[NodeInfo]: ...

    def claim_in_use(self, claim: str) -> bool:
        """Whether a pod on any node names the claim (namespace/name)."""


class Gates(Protocol):
    """Feature gates."""

    def enabled(self, name: str) -> bool: ...


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

    @property
    def client(self) -> ApiReader:
        """Reads what is not watched; in coroutines only, see `ApiReader`."""

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        """Pods that wait for that node to become free, for example after a preemption."""


class WhatIf(Protocol):
    """Asks the profile's filters about a node that is not as it is: with pods added or removed.

    `state` is a clone of the cycle's state, changed along with the node; a plugin that breaks raises `CycleAborted`.
    """

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """The first objection, pods nominated to the node considered as in every cycle; None: the pod fits."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Tells the plugins that `added` is on the node now."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None: ...


class PreemptibleWait(Protocol):
    """A pod that waits for permission."""

    def preempt(self, plugin: str, message: str) -> bool:
        """Ends the wait; the pod is tried again. False when the wait was already over."""


class WaitingPod(PreemptibleWait, Protocol):
    """A pod that waits, for Permit plugins: each that asked to wait must allow it, any may reject it."""

    @property
    def pod(self) -> PodInfo: ...
    @property
    def node_name(self) -> str: ...

    @property
    def pending(self) -> Mapping[str, float]:
        """The plugins that have not allowed it yet, with the seconds each is willing to wait in all."""

    def allow(self, plugin: str) -> None: ...

    def reject(self, plugin: str, message: str) -> bool:
        """False when the wait was already over."""


class PodInPreBind(Protocol):
    """A pod whose PreBind work is under way."""

    def cancel(self, message: str) -> bool:
        """Stops that work; the pod is tried again. False when it is too late: the pod is being bound."""


class PodAccess(PodWriter, Protocol):
    """Other pods, as the scheduler knows them and as the API server keeps them."""

    def get(self, key: str) -> api.Pod | None:
        """The pod with that ``namespace/name`` as the API server last showed it, if it is not finished."""

    def list(self, namespace: str | None = None) -> Iterable[api.Pod]:
        """All pods that are not finished, of one namespace or of all, as the API server last showed them."""

    def waiting(self, uid: str) -> WaitingPod | None:
        """The pod with that uid, if it waits for permission."""

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """All pods that wait for permission, of every profile, longest wait first."""

    def in_pre_bind(self, uid: str) -> PodInPreBind | None: ...

    def activate(self, pods: Iterable[api.Pod]) -> None:
        """Pending pods are tried again at once, whatever they wait for."""


class Spawner(Protocol):
    """Starts work beside the cycle."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        """Runs the work off the cycle, which does not wait for it."""


class PostFilterHandle(Handle, Spawner, Protocol):
    """The handle of PostFilter plugins: they ask what would help, and set it in motion."""

    @property
    def rng(self) -> Rng: ...
    @property
    def what_if(self) -> WhatIf: ...
    @property
    def pods(self) -> PodAccess: ...


class PermitHandle(Handle, Spawner, Protocol):
    """The handle of Permit plugins: they settle the fate of pods that wait for them, also in work beside the cycle."""

    @property
    def pods(self) -> PodAccess: ...


class PodLister(Protocol):
    """The part of `PodAccess` that tells whether a pod is still there."""

    def get(self, key: str) -> api.Pod | None: ...


class PreBindHandle(Handle, Protocol):
    """The handle of PreBind plugins: they write what the pod needs, and wait for it."""

    @property
    def pods(self) -> PodLister: ...
    @property
    def volumes(self) -> VolumeWriter: ...

    async def sleep(self, seconds: float) -> None:
        """Waits, on the scheduler's clock."""


class DevicesHandle(PreBindHandle, Spawner, Protocol):
    """The handle of the plugin that allocates devices."""

    @property
    def rng(self) -> Rng: ...
    @property
    def resource_claims(self) -> ResourceClaimWriter: ...

    @property
    def postpones(self) -> bool:
        """Whether a cycle that takes too long may end with `CyclePostponed`."""
