# SPDX-License-Identifier: Apache-2.0
"""All controllers by name, and how to start them: what the command kube-controller-manager is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.controllers.controller import Cluster, Controller
from steersman.controllers.daemon_sets import DaemonSetController
from steersman.controllers.deployments import DeploymentController
from steersman.controllers.housekeeping import HOUSEKEEPING
from steersman.controllers.replica_sets import ReplicaSetController, ReplicationManager
from steersman.controllers.stateful_sets import StatefulSetController

CONTROLLERS: Final[dict[str, type[Controller]]] = {
    controller.NAME: controller
    for controller in (
        DaemonSetController,
        DeploymentController,
        ReplicaSetController,
        ReplicationManager,
        StatefulSetController,
    )
} | {controller.NAME: controller for controller in HOUSEKEEPING}
"""Every controller, by its name."""


def start(cluster: Cluster, names: Iterable[str] | None = None) -> list[Controller]:
    """Starts controllers on a cluster, all of them without `names`; they work whenever the cluster's timers are run."""
    return [CONTROLLERS[name](cluster) for name in (CONTROLLERS if names is None else names)]
