# SPDX-License-Identifier: Apache-2.0
"""A live cluster, looked at once and left as it was: `steersman explain`.

    read ─► ReadCluster ─► LiveScheduler (the same assembly; writes are refused) ─► explain_pod ─► LiveExplanation

Nothing is watched and nothing is written. `app` runs a scheduler on the same cluster, `sim` one without a cluster.
"""

from steersman.live.cluster_reader import PLANNED_KINDS, LiveError, ReadCluster, read
from steersman.live.pod_explanation import explain_pod
from steersman.live.report import LiveExplanation
from steersman.live.scheduler import LiveScheduler

__all__ = ["PLANNED_KINDS", "LiveError", "LiveExplanation", "LiveScheduler", "ReadCluster", "explain_pod", "read"]
