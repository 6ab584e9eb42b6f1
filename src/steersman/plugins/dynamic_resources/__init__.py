# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: pods that use devices are placed where their ResourceClaims can be, or already are, allocated.

`plugin` has the extension points, and the hints that say when to try again. Around it, in the order of a cycle: `claims`
(which a pod uses), `extended_resources` (that devices stand behind), `pre_filter`, `filtering` with `filter_cache` and
`postponed_search`, `scoring`, `binding` (PreBind); `claim_tracker` knows which devices are taken. `allocation` is the search
for devices, by itself.
"""

from steersman.plugins.dynamic_resources.claim_tracker import ClaimTracker, claim_tracker_of
from steersman.plugins.dynamic_resources.claims import ClaimProblem, pod_claims
from steersman.plugins.dynamic_resources.plugin import STATE_KEY, DynamicResources
from steersman.plugins.dynamic_resources.pre_filter import CycleClaims

__all__ = [
    "STATE_KEY",
    "ClaimProblem",
    "ClaimTracker",
    "CycleClaims",
    "DynamicResources",
    "claim_tracker_of",
    "pod_claims",
]
