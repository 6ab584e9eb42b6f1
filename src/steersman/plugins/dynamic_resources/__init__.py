# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: pods that use devices are placed where their ResourceClaims can be, or already are, allocated.

`allocation` is the search for devices, by itself. Around it: `claims` and `preparing` (PreFilter), `extended` (extended
resources that devices stand behind), `examining` (Filter), `ranks` (Score), `ledger` (which devices are taken), `binding`
and `readiness` (PreBind), `hints` (when to try again).
"""

from steersman.plugins.dynamic_resources.claims import ClaimProblem, pod_claims
from steersman.plugins.dynamic_resources.cycle import CycleClaims
from steersman.plugins.dynamic_resources.ledger import ClaimLedger, ledger_of
from steersman.plugins.dynamic_resources.plugin import STATE_KEY, DynamicResources

__all__ = [
    "STATE_KEY",
    "ClaimLedger",
    "ClaimProblem",
    "CycleClaims",
    "DynamicResources",
    "ledger_of",
    "pod_claims",
]
