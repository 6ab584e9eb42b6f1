# SPDX-License-Identifier: Apache-2.0
"""All controllers by name, and functions to start them, as in kube-controller-manager."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.cluster.controllers.autoscaler import HorizontalAutoscaler
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.controllers.cron_jobs import CronJobController
from steersman.cluster.controllers.daemon_sets import DaemonSetController
from steersman.cluster.controllers.deployments import DeploymentController
from steersman.cluster.controllers.disruption import DisruptionController
from steersman.cluster.controllers.endpoint_slices import EndpointSliceController
from steersman.cluster.controllers.endpoints import EndpointsController, ServicePods
from steersman.cluster.controllers.ephemeral_claims import EphemeralClaims
from steersman.cluster.controllers.garbage_collector import GarbageCollector
from steersman.cluster.controllers.jobs import JobController, TtlAfterFinished
from steersman.cluster.controllers.namespaces import NamespaceController
from steersman.cluster.controllers.node_lifecycle import NodeLifecycleController
from steersman.cluster.controllers.pod_gc import PodGarbageCollector
from steersman.cluster.controllers.pod_group_protection import PodGroupProtection
from steersman.cluster.controllers.replica_sets import ReplicaSetController, ReplicationManager
from steersman.cluster.controllers.resource_claims import ResourceClaimController
from steersman.cluster.controllers.resource_quotas import ResourceQuotaController
from steersman.cluster.controllers.stateful_sets import StatefulSetController
from steersman.cluster.controllers.taint_eviction import TaintEvictionController
from steersman.cluster.controllers.volume_protection import VolumeProtection
from steersman.cluster.controllers.volumes import VolumeController
from steersman.cluster.store import Store, Timers

_HOUSEKEEPING: Final[tuple[type[Controller], ...]] = (
    NamespaceController,
    GarbageCollector,
    PodGarbageCollector,
    VolumeProtection,
    PodGroupProtection,
    NodeLifecycleController,
    TaintEvictionController,
    JobController,
    TtlAfterFinished,
    CronJobController,
    DisruptionController,
    ResourceQuotaController,
    HorizontalAutoscaler,
    EndpointsController,
    EndpointSliceController,
)
"""All controllers except those of replicas: batch, deletion, budgets, quotas, nodes and scaling.
Events are delivered in this order: controllers that delete come before those that count."""

CONTROLLERS: Final[dict[str, type[Controller]]] = {
    controller.NAME: controller
    for controller in (
        DaemonSetController,
        DeploymentController,
        ReplicaSetController,
        ReplicationManager,
        StatefulSetController,
    )
} | {controller.NAME: controller for controller in _HOUSEKEEPING}
"""All controllers by name."""


def start(cluster: Cluster, names: Iterable[str] | None = None) -> list[Controller]:
    """Start the named controllers, by default all. They act when the timers of the cluster run.

    Endpoint controllers run only if clients can read their output.
    """
    chosen = [CONTROLLERS[name] for name in (CONTROLLERS if names is None else names)]
    return [kind(cluster) for kind in chosen if cluster.store.keeps_documents or not issubclass(kind, ServicePods)]


def start_claim_controllers(store: Store, timers: Timers, *, has_group_claims: bool = False) -> None:
    """Start the controllers of volumes, ephemeral volumes and ResourceClaims, without which pods
    with claims stay pending.

    They react synchronously to changes of the store; simulations always run them. With
    `has_group_claims` (gate DRAWorkloadResourceClaims), members of a PodGroup share the claims that
    it lists.
    """
    EphemeralClaims(store)
    VolumeController(store, timers)
    ResourceClaimController(store, has_group_claims=has_group_claims)
