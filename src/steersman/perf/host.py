"""What a workload is run on: a cluster, and the scheduler that works on it. Made by `embedded_host` and `api_server_host`."""

from __future__ import annotations

from dataclasses import dataclass

from steersman.observe import MeasuredScheduler
from steersman.perf.cluster import Cluster
from steersman.perf.fine_metrics import FineMetrics


@dataclass(frozen=True, slots=True)
class Host:
    cluster: Cluster
    scheduler: MeasuredScheduler
    metrics: FineMetrics
