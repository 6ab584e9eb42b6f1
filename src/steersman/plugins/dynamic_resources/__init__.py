"""DynamicResources, first part: exact for pods without resource claims.

Its place in every phase is there: Skip in PreFilter, a score of 0, its words in PostFilter, the gate for claims that do not
exist. A pod that does have claims is not placed: this version has no allocator for them, and says so.
"""

from steersman.plugins.dynamic_resources.claims import ClaimProblem, pod_claims
from steersman.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["ClaimProblem", "DynamicResources", "pod_claims"]
