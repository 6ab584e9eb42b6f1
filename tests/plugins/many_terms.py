# SPDX-License-Identifier: Apache-2.0
"""Small pods treated as pods with very many terms: joint count tables, and label classes matched as columns."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

THRESHOLDS = (
    "steersman.scheduler.plugins.inter_pod_affinity.terms.MAX_SEPARATE_TERMS",
    "steersman.scheduler.state.pod_counts._MAX_MATCHERS_ONE_BY_ONE",
    "steersman.scheduler.state.class_columns._MIN_CLASSES_FOR_COLUMNS",
)


def every_pod_has_many_terms() -> ExitStack:
    """Return patches, already in force, that are taken back by `close`."""
    stack = ExitStack()
    for name in THRESHOLDS:
        stack.enter_context(patch(name, 0))
    return stack
