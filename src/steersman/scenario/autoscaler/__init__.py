# SPDX-License-Identifier: Apache-2.0
"""A cluster autoscaler in virtual time: cluster-autoscaler's rules, with the exact scheduler's what-ifs.

Read `cluster_autoscaler` first: what a look does. `scale_up` and `scale_down` decide, `what_if` asks the scheduler on a fork,
`drainability` knows which pods keep their node.
"""

from steersman.scenario.autoscaler.cluster_autoscaler import ClusterAutoscaler

__all__ = ["ClusterAutoscaler"]
