# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: places pods where their ResourceClaims are, or can be, allocated.

`plugin` has the extension points. Around it, in the order of a cycle: `claims` (a pod's claims and
the devices in use), `extended_resources` (backed by devices), `pre_filter`, `filtering` with
`filter_cache`, `scoring`, `binding` (PreBind), `group_claims` (pod groups), `hints`. `allocation`
is the allocator.
"""

from steersman.scheduler.plugins.dynamic_resources.claims import (
    ClaimProblem,
    ClaimTracker,
    claim_tracker_of,
    pod_claims,
)
from steersman.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from steersman.scheduler.plugins.dynamic_resources.pre_filter import CLAIMS_STATE_KEY, CycleClaims

__all__ = [
    "CLAIMS_STATE_KEY",
    "ClaimProblem",
    "ClaimTracker",
    "CycleClaims",
    "DynamicResources",
    "claim_tracker_of",
    "pod_claims",
]
