# SPDX-License-Identifier: Apache-2.0
"""The configuration of a scheduler that only looks at a live cluster: the cluster's own, but for sampling."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.config import SchedulerConfiguration

_ALL_NODES: Final = 100

_replace = msgspec.structs.replace


def looking_at_all_nodes(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """The configuration with which every node is looked at, even where scheduling samples."""
    profiles = tuple(_replace(profile, percentage_of_nodes_to_score=_ALL_NODES) for profile in configuration.profiles)
    return _replace(configuration, percentage_of_nodes_to_score=_ALL_NODES, profiles=profiles)
