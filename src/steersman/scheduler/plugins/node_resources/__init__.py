# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit and NodeResourcesBalancedAllocation: free resources and their balanced use.

`fit` (with `insufficient`, `strategies`, `fit_hints`) and `balanced_allocation` (with `balance`)
are the plugins. Both score the amounts of `allocation`, with devices from `device_scores`.
`…_columns` modules hold long vector forms.
"""

from steersman.scheduler.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from steersman.scheduler.plugins.node_resources.fit import NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
