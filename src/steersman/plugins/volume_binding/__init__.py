# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding: a pod goes where its volumes are, or can be.

plugin         extension points: PreFilter, Filter, Reserve, PreBind; the score is off by default
claims         what a pod's claims are like: bound, waiting for a consumer, not ready
volume_finder  per node: do bound volumes fit, which volumes would unbound claims get, can the rest be provisioned
row_finder     the same for all rows; `columns` makes kernels of it
assume_cache   choices that the API server does not know yet, on top of what it last said
binding        writes the choices and waits until claims are bound
scoring        how well volumes fit their claims
hints          events that may help a rejected pod
"""

from steersman.plugins.volume_binding.claims import ERR_UNBOUND_IMMEDIATE_CLAIMS
from steersman.plugins.volume_binding.plugin import (
    STATE_KEY,
    CycleVolumes,
    VolumeBinding,
)
from steersman.plugins.volume_binding.volume_finder import (
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
    "STATE_KEY",
    "CycleVolumes",
    "PodVolumes",
    "VolumeBinding",
]
