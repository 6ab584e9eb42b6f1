# SPDX-License-Identifier: Apache-2.0
"""PodTopologySpread: even spreading over zones, hosts and any other topology. Start with `plugin`."""

from steersman.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
