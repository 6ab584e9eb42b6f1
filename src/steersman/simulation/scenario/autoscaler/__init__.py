# SPDX-License-Identifier: Apache-2.0
"""A cluster autoscaler in virtual time: cluster-autoscaler's rules, with trials of the scheduler.

Read `cluster_autoscaler` first: the scan loop. `scale_up` and `scale_down` decide, by trials of the
scheduler on forks.
"""

from steersman.simulation.scenario.autoscaler.cluster_autoscaler import ClusterAutoscaler

__all__ = ["ClusterAutoscaler"]
