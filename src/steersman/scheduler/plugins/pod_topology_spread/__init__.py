# SPDX-License-Identifier: Apache-2.0
"""PodTopologySpread: even spreading over zones, hosts and other topologies. Start with `plugin`."""

from steersman.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
