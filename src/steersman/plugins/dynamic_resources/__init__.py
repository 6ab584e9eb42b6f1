# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: pods that use devices are placed where their ResourceClaims can be, or already are, allocated.

`plugin` has the extension points, and the hints that say when to try again. Around it, in the order of a cycle: `claims`
(which a pod uses, and the devices that all of them take), `extended_resources` (that devices stand behind), `pre_filter`,
`filtering` with `filter_cache`, `scoring`, `binding` (PreBind). `allocation` is the search for devices, by itself.
"""

from steersman.plugins.dynamic_resources.claims import ClaimProblem, ClaimTracker, claim_tracker_of, pod_claims
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
