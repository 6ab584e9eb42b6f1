# SPDX-License-Identifier: Apache-2.0
"""Arguments of InterPodAffinity."""

from __future__ import annotations

from steersman.config.errors import FieldError, child, invalid
from steersman.config.feature_gates import FeatureGates
from steersman.config.field_kinds import BOOL, INT32, always
from steersman.config.plugins.arguments import PluginArgs


class InterPodAffinityArgs(PluginArgs, frozen=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    document_fields = {
        "hardPodAffinityWeight": always("hard_pod_affinity_weight", INT32),
        "ignorePreferredTermsOfExistingPods": always("ignore_preferred_terms_of_existing_pods", BOOL),
    }

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        weight = self.hard_pod_affinity_weight
        if 0 <= weight <= 100:
            return []
        return [invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]
