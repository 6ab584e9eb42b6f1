# SPDX-License-Identifier: Apache-2.0
"""Piecewise linear functions from utilization to score, for NodeResourcesFit and VolumeBinding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.config.configuration import ConfigStruct
from steersman.config.errors import FieldError, invalid, required
from steersman.config.field_kinds import INT32, ListOf, ObjectOf, always

MAX_CUSTOM_PRIORITY_SCORE: Final = 10
"""The largest score in the shape of a utilization function."""


class UtilizationShapePoint(ConfigStruct, frozen=True):
    """A point of the function: utilization from 0 to 100, score from 0 to 10."""

    utilization: int = 0
    score: int = 0


SHAPE: Final = ListOf(
    ObjectOf(UtilizationShapePoint, {"utilization": always("utilization", INT32), "score": always("score", INT32)})
)


def shape_errors(path: str, shape: Sequence[UtilizationShapePoint]) -> list[FieldError]:
    """Return the errors in a function from utilization to score."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors = _first_unsorted(path, shape)
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            errors.append(invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= MAX_CUSTOM_PRIORITY_SCORE:
            errors.append(invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]"))
    return errors


def _first_unsorted(path: str, shape: Sequence[UtilizationShapePoint]) -> list[FieldError]:
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            where = f"{path}[{index}].utilization"
            return [invalid(where, shape[index].utilization, "values must be sorted in increasing order")]
    return []
