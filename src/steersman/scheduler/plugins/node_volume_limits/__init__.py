# SPDX-License-Identifier: Apache-2.0
"""NodeVolumeLimits: limits the volumes on a node to what their drivers can attach there.

`plugin` compares and has the hints, `attachments` finds the volumes of pods and nodes by driver,
`columns` is the vector form, and `counted_rows` counts volumes of nodes near a limit for it.
"""

from steersman.scheduler.plugins.node_volume_limits.columns import ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED
from steersman.scheduler.plugins.node_volume_limits.plugin import NodeVolumeLimits

__all__ = ["ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED", "NodeVolumeLimits"]
