# SPDX-License-Identifier: Apache-2.0
"""The handle passed to a plugin's constructor: other objects of the cluster, the clock, feature
gates.

A plugin that needs none of it has no constructor. Otherwise it is `__init__(self, args, handle)`:
`args` is the typed argument struct, or the mapping from the configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from steersman import api
from steersman.base import Clock, Rng
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_groups import PodGroups
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Binder, PodWriter, ResourceClaimWriter, VolumeWriter
from steersman.framework.reading import ApiReader
from steersman.framework.status import Status

K = TypeVar("K")


class Objects(Protocol):
    """Listers of the cluster's objects other than nodes and pods, from the informers' caches."""

    def get(self, kind: type[K], key: str) -> K | None:
        """Return the object with this key: ``namespace/name``, or ``name`` for a cluster-scoped
        kind."""

    def list(self, kind: type[K], namespace: str | None = None) -> Collection[K]:
        """Return all objects of a kind, or those of one namespace."""

    def version(self, kind: type[object]) -> int:
        """Return a number that grows with every change of an object of the kind; equal versions
        mean equal objects."""

    @property
    def changes(self) -> int:
        """Number that grows with every change of an object of any kind; cheaper to compare than
        versions."""

    def changed_since(self, kind: type[object], version: int) -> Collection[str] | None:
        """Return the keys of the objects of the kind that were added, replaced or removed since the
        version; None if the log no longer reaches back."""


class NodeAmounts(NamedTuple):
    """Amounts of one resource, summed over nodes that offer it. The sums are those of Go's
    int64."""

    offered: int
    #: Requests of the pods on these nodes; for cpu and memory with upstream's minimum per
    #: container.
    requested: int


class Nodes(Protocol):
    """The nodes of the current scheduling cycle with their pods."""

    def all(self) -> Sequence[NodeInfo]: ...

    def get(self, name: str) -> NodeInfo | None: ...

    def with_affinity_pods(self) -> Sequence[NodeInfo]:
        """Return the nodes with at least one pod that has a pod (anti-)affinity term."""

    def with_required_anti_affinity_pods(self) -> Sequence[NodeInfo]: ...

    def domains(self, key: str) -> Mapping[str, Sequence[str]]:
        """Return the names of the nodes with each value of a label."""

    def amounts(self, names: Sequence[str], resource: str) -> NodeAmounts:
        """Return the sums over the existing nodes among `names`."""

    def claim_in_use(self, claim: str) -> bool:
        """Return whether a pod on any node uses the claim (namespace/name)."""


class Gates(Protocol):
    """Feature gates and rules of the emulated Kubernetes version."""

    def enabled(self, name: str) -> bool:
        """Return whether the feature gate is on."""

    def has_rule(self, rule: str) -> bool:
        """Return whether the emulated version has the rule (`steersman.config.versions.Rule`)."""


class Handle(Protocol):
    """What every plugin can access; valid for the life of the plugin."""

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
    def pod_groups(self) -> PodGroups | None:
        """Pod groups with their members; None without the gate GenericWorkload."""

    @property
    def client(self) -> ApiReader:
        """Reads objects that are not watched; only in coroutines, see `ApiReader`."""

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods nominated to the node, for example after a preemption."""


class PlacedPod(NamedTuple):
    """A running or assumed pod."""

    pod: PodInfo
    node_name: str


class WhatIf(Protocol):
    """Runs the profile's filters on a hypothetical node, with pods added or removed.

    `state` is a clone of the cycle's state, modified together with the node. An internal error of a
    plugin raises `CycleAborted`.
    """

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Return the first rejection, or None if the pod fits. Nominated pods count as in every
        cycle."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Update the plugins' state for `added` being on the node."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None: ...


class ClusterWhatIf(WhatIf, Protocol):
    """What-if questions about the whole cluster, with running pods removed and pending ones
    placed."""

    def placed(self, uid: str) -> PlacedPod | None:
        """Return the running or assumed pod with this uid."""

    def without(self, pods: Iterable[PlacedPod]) -> AbstractContextManager[None]:
        """Remove the pods from the cluster within a `with` block; afterwards everything is as
        before."""

    def placing(self, state: CycleState, pod: PodInfo, node_name: str) -> AbstractContextManager[None]:
        """Add the pod to the node and run Reserve within a `with` block, whatever Reserve
        returns."""

    def reserving(self, state: CycleState, pod: PodInfo, node_name: str) -> AbstractContextManager[None]:
        """Run Reserve within a `with` block, whatever it returns."""

    def complete(self, state: CycleState, pod: PodInfo) -> None:
        """Add the entries of PreFilter plugins that the cycle did not call to the state, as of
        now."""

    def is_local(self, state: CycleState, pod: PodInfo) -> bool:
        """Return whether the fit of the pod on a node depends on nothing but the node and the pods
        on it."""


class PreemptibleWait(Protocol):
    """A pod that waits for permission, as preemption sees it."""

    def preempt(self, plugin: str, message: str) -> bool:
        """End the wait and retry the pod. Returns False if the wait was already over."""


class WaitingPod(PreemptibleWait, Protocol):
    """A pod that waits for permission, as Permit plugins see it. Each plugin that returned Wait
    must allow it, and any may reject it."""

    @property
    def pod(self) -> PodInfo: ...
    @property
    def node_name(self) -> str: ...

    @property
    def pending(self) -> Mapping[str, float]:
        """Plugins that have not allowed it yet, with their timeouts in seconds."""

    def allow(self, plugin: str) -> None: ...

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod. Returns False if the wait was already over."""


class PodInPreBind(Protocol):
    """A pod whose PreBind plugins are running."""

    def cancel(self, message: str) -> bool:
        """Cancel PreBind and retry the pod. Returns False if it is too late: the pod is being
        bound."""


class PodAccess(PodWriter, Protocol):
    """Other pods, in the scheduler's cache and in the API server."""

    def get(self, key: str) -> api.Pod | None:
        """Return the pod with this ``namespace/name`` from the informer's cache, unless it has
        finished."""

    def list(self, namespace: str | None = None) -> Iterable[api.Pod]:
        """Return all unfinished pods of one namespace or of all, from the informer's cache."""

    def waiting(self, uid: str) -> WaitingPod | None:
        """Return the pod with this uid if it waits for permission."""

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Return the waiting pods of every profile, longest wait first."""

    def in_pre_bind(self, uid: str) -> PodInPreBind | None: ...

    def activate(self, pods: Iterable[api.Pod]) -> None:
        """Move pending pods to the active queue immediately."""


class Spawner(Protocol):
    """Starts background tasks."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        """Run the coroutine in the background; the cycle does not wait for it."""


class PostFilterHandle(Handle, Spawner, Protocol):
    """Handle of PostFilter plugins, which search for a change that helps and start it."""

    @property
    def rng(self) -> Rng: ...
    @property
    def what_if(self) -> ClusterWhatIf: ...
    @property
    def pods(self) -> PodAccess: ...


class PermitHandle(Handle, Spawner, Protocol):
    """Handle of Permit plugins, which allow or reject waiting pods, also from background tasks."""

    @property
    def pods(self) -> PodAccess: ...


class PodLister(Protocol):
    """The part of `PodAccess` that finds out whether a pod still exists."""

    def get(self, key: str) -> api.Pod | None: ...


class PodReporter(PodLister, Protocol):
    """The part of `PodAccess` that records events on pods, too."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None: ...


class PreBindHandle(Handle, Protocol):
    """Handle of PreBind plugins, which write what the pod needs and wait for it."""

    @property
    def pods(self) -> PodLister: ...
    @property
    def volumes(self) -> VolumeWriter: ...

    async def sleep(self, seconds: float) -> None:
        """Sleep on the scheduler's clock."""


class DevicesHandle(PreBindHandle, Spawner, Protocol):
    """Handle of the plugin that allocates devices."""

    @property
    def pods(self) -> PodReporter: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def resource_claims(self) -> ResourceClaimWriter: ...

    @property
    def postpones(self) -> bool:
        """Whether a cycle that takes too long may be ended with `CyclePostponed`."""
