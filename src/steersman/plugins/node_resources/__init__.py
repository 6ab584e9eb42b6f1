# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit and NodeResourcesBalancedAllocation: room on the node, and how it would be used.

`fit` (with `insufficient`, `strategies`, `fit_hints`) and `balanced_allocation` (with `balance`) are the two plugins;
`allocation` is what both of them score, `device_scores` what devices add to it. Long vector forms have modules of their own,
named `…_columns`.
"""

from steersman.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from steersman.plugins.node_resources.fit import NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
