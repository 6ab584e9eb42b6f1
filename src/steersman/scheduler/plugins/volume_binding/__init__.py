# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding: places a pod where its volumes are usable or can be provisioned.

- plugin: extension points PreFilter, Filter, Reserve, PreBind; the score is off by default
- claims: a pod's claims: bound, waiting for a consumer, not ready
- volume_finder: checks bound volumes and finds or provisions others, for one node
- row_finder: the same for all rows; `columns` makes kernels of it
- assume_cache: assumed claims and volumes on top of what the API server last showed
- binding: writes the bindings and waits until claims are bound
- scoring: how well volumes fit their claims
- hints: events that may help a rejected pod
"""

from steersman.scheduler.plugins.volume_binding.claims import ERR_UNBOUND_IMMEDIATE_CLAIMS
from steersman.scheduler.plugins.volume_binding.plugin import (
    VOLUMES_STATE_KEY,
    CycleVolumes,
    VolumeBinding,
)
from steersman.scheduler.plugins.volume_binding.volume_finder import (
    ERR_REASON_BIND_CONFLICT,
    ERR_REASON_NODE_CONFLICT,
    ERR_REASON_NOT_ENOUGH_SPACE,
    ERR_REASON_PV_NOT_EXIST,
    PodVolumes,
)

__all__ = [
    "ERR_REASON_BIND_CONFLICT",
    "ERR_REASON_NODE_CONFLICT",
    "ERR_REASON_NOT_ENOUGH_SPACE",
    "ERR_REASON_PV_NOT_EXIST",
    "ERR_UNBOUND_IMMEDIATE_CLAIMS",
    "VOLUMES_STATE_KEY",
    "CycleVolumes",
    "PodVolumes",
    "VolumeBinding",
]
