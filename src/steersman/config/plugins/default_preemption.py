# SPDX-License-Identifier: Apache-2.0
"""Arguments of DefaultPreemption."""

from __future__ import annotations

from steersman.config.errors import FieldError, child, invalid
from steersman.config.feature_gates import FeatureGates
from steersman.config.field_kinds import INT32, always
from steersman.config.plugins.arguments import PluginArgs


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    document_fields = {
        "minCandidateNodesPercentage": always("min_candidate_nodes_percentage", INT32),
        "minCandidateNodesAbsolute": always("min_candidate_nodes_absolute", INT32),
    }

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        percentage_path = child(path, "minCandidateNodesPercentage")
        absolute_path = child(path, "minCandidateNodesAbsolute")
        errors = []
        if not 0 <= percentage <= 100:
            errors.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
        if absolute < 0:
            errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
        if percentage == 0 and absolute == 0:
            together = "cannot be zero at the same time as "
            errors.append(invalid(percentage_path, percentage, together + "minCandidateNodesAbsolute"))
            errors.append(invalid(absolute_path, absolute, together + "minCandidateNodesPercentage"))
        return errors
