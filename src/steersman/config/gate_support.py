# SPDX-License-Identifier: Apache-2.0
"""Feature gates that can be set, and change nothing here: each with the value at fault and the reason.

`refuse_unsupported` ends a start that would schedule by other rules than the operator asked for; `without_effect` is what a
host tells of gates that only sound as if they changed something. `tests/config/test_gate_support.py` finds every gate that no
code reads and that is not here.
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
        "PodLevelResources": (False, "requests of a whole pod always count where the API server has them"),
        "InPlacePodLevelResourcesVerticalScaling": (
            False,
            "a resize of a whole pod's requests always counts where the API server has it",
        ),
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
    """What is to be told of gates whose value changes nothing, a line each."""
    return [
        f"--feature-gates: {name}={str(value).lower()} has no effect: {reason}"
        for name, (value, reason) in WITHOUT_EFFECT.items()
        if gates.enabled(name) is value
    ]
