# SPDX-License-Identifier: Apache-2.0
"""Feature gates and configuration fields that are accepted, but act differently or not at all here.

`refuse_unsupported` aborts a start that would violate rules the operator requested;
`without_effect` returns warnings about ineffective gates. `tests/config/test_deviations.py` finds
every gate that no code reads and that is missing here. The fields are data for the reference on the
website, named like its paths, with `[]` for items of lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from steersman.base import InputError
from steersman.config.feature_gates import FeatureGates
from steersman.config.versions import V1_36, KubernetesVersion


class Refusal(NamedTuple):
    """A gate value that is rejected, because it requires unsupported decisions."""

    value: bool
    reason: str
    last: KubernetesVersion | None = None
    """The last version in which the value is rejected; None for all versions."""

    def applies_to(self, name: str, gates: FeatureGates) -> bool:
        """Return whether the gate has this value in a version that rejects it."""
        is_refused = self.last is None or gates.version <= self.last
        return is_refused and name in gates.specs and gates.enabled(name) is self.value


_NO_WORKLOADS: Final = Refusal(True, "pod groups are scheduled as in v1.37 and later", V1_36)

REFUSED: Final[Mapping[str, Refusal]] = MappingProxyType(
    {
        "DRADerivedAttributes": Refusal(True, "attributes of devices are not derived from others here"),
        "DRADeviceCompatibilityGroups": Refusal(True, "compatibility groups of devices are not compared here"),
        "DRAOptionalNodeOperations": Refusal(True, "devices without node operations are not distinguished here"),
        "GenericWorkload": _NO_WORKLOADS,
        "InPlacePodVerticalScalingSchedulerPreemption": Refusal(
            True, "pods are not evicted for a deferred resize here"
        ),
        "GangScheduling": _NO_WORKLOADS,
        "TopologyAwareWorkloadScheduling": _NO_WORKLOADS,
        "WorkloadAwarePreemption": _NO_WORKLOADS,
    }
)

WITHOUT_EFFECT: Final[Mapping[str, tuple[bool, str]]] = MappingProxyType(
    {
        "InterPodAffinityHostnameFastPath": (True, "pods are counted by host name in constant time already"),
        "SchedulerPreQueueingHints": (True, "events are matched with the waiting pods by resource already"),
        "OpportunisticBatching": (
            False,
            "every pod is decided on its own already; nothing is taken over from the last",
        ),
        "SchedulerAsyncAPICalls": (
            True,
            "conditions, events and bindings are always written concurrently with scheduling",
        ),
    }
)
"""Gate values that are accepted with a warning."""


def refuse_unsupported(gates: FeatureGates) -> None:
    """Raise `InputError` for the first gate whose value requires unsupported decisions."""
    for name, refusal in REFUSED.items():
        if refusal.applies_to(name, gates):
            given = f"{name}={str(refusal.value).lower()}"
            hint = f"remove {name} from the flag" if gates.is_named(name) else f"add {_all_off(gates)}"
            raise InputError(f"{given} is not supported: {refusal.reason}", object="--feature-gates", hint=hint)


def _all_off(gates: FeatureGates) -> str:
    """Return the flag value that disables unsupported gates and their dependents (AllAlpha)."""
    off = {name for name, refusal in REFUSED.items() if refusal.applies_to(name, gates)}
    while more := {name for name, spec in gates.specs.items() if off.intersection(spec.needs)} - off:
        off |= more
    return ",".join(f"{name}=false" for name in sorted(off))


def without_effect(gates: FeatureGates) -> list[str]:
    """Return a line for each gate whose value has no effect."""
    return [
        f"--feature-gates: {name}={str(value).lower()} has no effect: {reason}"
        for name, (value, reason) in WITHOUT_EFFECT.items()
        if name in gates.specs and gates.enabled(name) is value
    ]


FIELD_DEVIATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "parallelism": "Has no effect: one thread evaluates all nodes together.",
        "percentageOfNodesToScore": (
            "0 evaluates every node; kube-scheduler evaluates fewer in large clusters. Other values sample as it does."
        ),
        "profiles[].percentageOfNodesToScore": "As above, for this profile.",
        "enableProfiling": "Serves `/debug/tasks`; there is no `/debug/pprof`, which is Go's.",
        "enableContentionProfiling": "Has no effect: one thread schedules, and nothing contends.",
        "clientConnection.contentType": "Is noted; objects always travel as JSON.",
        "clientConnection.acceptContentTypes": "Is noted; objects always travel as JSON.",
        "extenders": "Are called by `steersman run`, not by simulations and `explain`.",
    }
)
