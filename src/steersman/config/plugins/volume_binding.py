# SPDX-License-Identifier: Apache-2.0
"""Arguments of VolumeBinding."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.config.errors import FieldError, child, invalid
from steersman.config.feature_gates import FeatureGates
from steersman.config.field_kinds import INT64, Field, always
from steersman.config.plugins.arguments import PluginArgs
from steersman.config.plugins.utilization_shape import (
    MAX_CUSTOM_PRIORITY_SCORE,
    SHAPE,
    UtilizationShapePoint,
    shape_errors,
)

_DEFAULT_SHAPE: Final = (
    UtilizationShapePoint(utilization=0, score=MAX_CUSTOM_PRIORITY_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)


class VolumeBindingArgs(PluginArgs, frozen=True):
    """A `shape`, even an empty one, is only valid with storage capacity scoring."""

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    document_fields = {"bindTimeoutSeconds": always("bind_timeout_seconds", INT64), "shape": Field("shape", SHAPE)}

    def with_gated_defaults(self, gates: FeatureGates) -> VolumeBindingArgs:
        if self.shape or not gates.enabled("StorageCapacityScoring"):
            return self
        return msgspec.structs.replace(self, shape=_DEFAULT_SHAPE)

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        errors = []
        if self.bind_timeout_seconds < 0:
            reason = "invalid BindTimeoutSeconds, should not be a negative value"
            errors.append(invalid(child(path, "bindTimeoutSeconds"), self.bind_timeout_seconds, reason))
        if gates.enabled("StorageCapacityScoring"):
            return errors + shape_errors(child(path, "shape"), self.shape or ())
        if self.shape is not None:
            points = [{"Utilization": point.utilization, "Score": point.score} for point in self.shape]
            reason = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            errors.append(invalid(child(path, "shape"), points, reason))
        return errors
