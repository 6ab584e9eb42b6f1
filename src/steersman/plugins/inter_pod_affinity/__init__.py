# SPDX-License-Identifier: Apache-2.0
"""InterPodAffinity: pods near, or apart from, pods with certain labels, by topology domain.

A domain is all nodes with the same value of a label, the term's topology key. Terms are required (`filtering`) or
preferred with a weight (`scoring`), and they work in both directions: those of the pod that is being scheduled on the
pods that run, and those of the pods that run on the one that comes (required affinity only as a preference).
`terms` says which pods and namespaces a term speaks of, `hints` when a rejected pod is worth another attempt. The vector
forms, beside the scalar ones, work on count tables that `state` keeps.

`matchLabelKeys` and `mismatchLabelKeys` need no code here: the API server merges them into the label selectors.
"""

from steersman.plugins.inter_pod_affinity.filtering import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = [
    "ERR_AFFINITY_RULES_NOT_MATCH",
    "ERR_ANTI_AFFINITY_RULES_NOT_MATCH",
    "ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH",
    "InterPodAffinity",
]
