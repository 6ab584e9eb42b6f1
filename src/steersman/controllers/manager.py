# SPDX-License-Identifier: Apache-2.0
"""All controllers by name, and how to start them: what the command kube-controller-manager is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.controllers.autoscaler import HorizontalAutoscaler
from steersman.controllers.controller import Cluster, Controller
from steersman.controllers.cron_jobs import CronJobController
from steersman.controllers.daemon_sets import DaemonSetController
from steersman.controllers.deployments import DeploymentController
from steersman.controllers.disruption import DisruptionController
from steersman.controllers.garbage_collector import GarbageCollector
from steersman.controllers.jobs import JobController, TtlAfterFinished
from steersman.controllers.namespaces import NamespaceController
from steersman.controllers.node_lifecycle import NodeLifecycleController
from steersman.controllers.pod_gc import PodGarbageCollector
from steersman.controllers.replica_sets import ReplicaSetController, ReplicationManager
from steersman.controllers.resource_quotas import ResourceQuotaController
from steersman.controllers.stateful_sets import StatefulSetController
from steersman.controllers.taint_eviction import TaintEvictionController
from steersman.controllers.volume_protection import VolumeProtection

_HOUSEKEEPING: Final[tuple[type[Controller], ...]] = (
    NamespaceController,
    GarbageCollector,
    PodGarbageCollector,
    VolumeProtection,
    NodeLifecycleController,
    TaintEvictionController,
    JobController,
    TtlAfterFinished,
    CronJobController,
    DisruptionController,
    ResourceQuotaController,
    HorizontalAutoscaler,
)
"""Controllers that do not look after replicas: batch work, deletion, budgets, quotas, nodes and scaling. Their order is the one
in which they hear of a change: who deletes comes before who counts."""

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
"""Every controller, by its name."""


def start(cluster: Cluster, names: Iterable[str] | None = None) -> list[Controller]:
    """Starts controllers on a cluster, all of them without `names`; they work whenever the cluster's timers are run."""
    return [CONTROLLERS[name](cluster) for name in (CONTROLLERS if names is None else names)]
