# SPDX-License-Identifier: Apache-2.0
"""Every plugin that Steersman itself offers: those of `plugins`, and preemption, which rests on the cycle."""

from __future__ import annotations

from steersman.plugins.registry import IN_TREE
from steersman.preemption import DefaultPreemption
from steersman.runtime.registry import Registry


def default_registry() -> Registry:
    """A registry of one's own, to which other plugins may be added."""
    return Registry({**IN_TREE, DefaultPreemption.name: DefaultPreemption})
