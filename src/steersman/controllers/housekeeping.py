# SPDX-License-Identifier: Apache-2.0
"""The controllers that do not look after replicas: batch work, deletion, budgets, quotas, nodes and scaling.

Their order is the one in which they hear of a change: who deletes comes before who counts.
"""

from __future__ import annotations

from typing import Final

from steersman.controllers.autoscaler import HorizontalAutoscaler
from steersman.controllers.controller import Controller
from steersman.controllers.cron_jobs import CronJobController
from steersman.controllers.disruption import DisruptionController
from steersman.controllers.garbage_collector import GarbageCollector
from steersman.controllers.jobs import JobController, TtlAfterFinished
from steersman.controllers.namespaces import NamespaceController
from steersman.controllers.node_lifecycle import NodeLifecycleController
from steersman.controllers.pod_gc import PodGarbageCollector
from steersman.controllers.resource_quotas import ResourceQuotaController
from steersman.controllers.taint_eviction import TaintEvictionController
from steersman.controllers.volume_protection import VolumeProtection

HOUSEKEEPING: Final[tuple[type[Controller], ...]] = (
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
