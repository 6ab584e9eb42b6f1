# SPDX-License-Identifier: Apache-2.0
"""Fields of the configuration that are accepted as kube-scheduler accepts them, and do something else here, or nothing.

Data for the reference of the site; a field is named as `reference` paths name it, items of lists with `[]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

FIELD_DEVIATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "parallelism": "Has no effect: one thread looks at all nodes at once.",
        "percentageOfNodesToScore": (
            "0 looks at every node; kube-scheduler looks at fewer in large clusters. Any other value samples as it does."
        ),
        "profiles[].percentageOfNodesToScore": "As above, for this profile.",
        "enableProfiling": "Serves `/debug/tasks`; there is no `/debug/pprof`, which is Go's.",
        "enableContentionProfiling": "Has no effect: one thread schedules, and nothing contends.",
        "clientConnection.contentType": "Is noted; objects always travel as JSON.",
        "clientConnection.acceptContentTypes": "Is noted; objects always travel as JSON.",
        "extenders": "Are called by `steersman run`, not by simulations and `explain`.",
    }
)
