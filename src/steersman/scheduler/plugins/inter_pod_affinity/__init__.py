# SPDX-License-Identifier: Apache-2.0
"""InterPodAffinity: pods near, or apart from, pods with certain labels, by topology domain.

A domain is the nodes with one value of the term's topology key. Terms are required (`filtering`) or
preferred with a weight (`scoring`), and apply in both directions: terms of the scheduled pod, and
of existing pods (required affinity only as a preference). `terms` selects pods and namespaces,
`hints` requeues. The vector forms use count tables that `state` maintains.

`matchLabelKeys` and `mismatchLabelKeys` need no code here: the API server merges them into the
label selectors.
"""

from steersman.scheduler.plugins.inter_pod_affinity.filtering import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = [
    "ERR_AFFINITY_RULES_NOT_MATCH",
    "ERR_ANTI_AFFINITY_RULES_NOT_MATCH",
    "ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH",
    "InterPodAffinity",
]
