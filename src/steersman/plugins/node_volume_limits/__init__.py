# SPDX-License-Identifier: Apache-2.0
"""NodeVolumeLimits: no more volumes of a driver on a node than the driver can attach there.

`plugin` compares and holds the hints, `attachments` finds out which volumes of which drivers a pod has, and what is attached
to nodes whatever their pods; `columns` is the vector form, for which `counted_rows` counts the volumes of nodes near a limit.
"""

from steersman.plugins.node_volume_limits.columns import ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED
from steersman.plugins.node_volume_limits.plugin import NodeVolumeLimits

__all__ = ["ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED", "NodeVolumeLimits"]
