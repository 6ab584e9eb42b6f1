# SPDX-License-Identifier: Apache-2.0
"""Feature gates and fields of the configuration that can be set, and do something else here, or nothing.

`refuse_unsupported` ends a start that would schedule by other rules than the operator asked for; `without_effect` is what a
host tells of gates that only sound as if they changed something. `tests/config/test_deviations.py` finds every gate that no
code reads and that is not here. The fields are data for the reference of the site; a field is named as `reference` paths name
it, items of lists with `[]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from steersman.config.feature_gates import FeatureGates
from steersman.errors import InputError

_NO_WORKLOADS: Final = "pod groups and workloads are not scheduled here"

REFUSED: Final[Mapping[str, tuple[bool, str]]] = MappingProxyType(
    {
        "GenericWorkload": (True, _NO_WORKLOADS),
        "GangScheduling": (True, _NO_WORKLOADS),
        "TopologyAwareWorkloadScheduling": (True, _NO_WORKLOADS),
        "WorkloadAwarePreemption": (True, _NO_WORKLOADS),
    }
)
"""Values under which kube-scheduler decides what this scheduler cannot."""

WITHOUT_EFFECT: Final[Mapping[str, tuple[bool, str]]] = MappingProxyType(
    {
        "OpportunisticBatching": (
            False,
            "every pod is decided on its own already; nothing is taken over from the last",
        ),
        "SchedulerAsyncAPICalls": (True, "conditions, events and bindings are written beside the scheduling already"),
    }
)
"""Values that are taken, with a word."""


def refuse_unsupported(gates: FeatureGates) -> None:
    """InputError for the first gate whose value asks for decisions that cannot be made here."""
    for name, (value, reason) in REFUSED.items():
        if gates.enabled(name) is value:
            given = f"{name}={str(value).lower()}"
            hint = f"remove {name} from the flag"
            raise InputError(f"{given} is not supported: {reason}", object="--feature-gates", hint=hint)


def without_effect(gates: FeatureGates) -> list[str]:
    """A line for each gate whose value changes nothing."""
    return [
        f"--feature-gates: {name}={str(value).lower()} has no effect: {reason}"
        for name, (value, reason) in WITHOUT_EFFECT.items()
        if gates.enabled(name) is value
    ]


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
