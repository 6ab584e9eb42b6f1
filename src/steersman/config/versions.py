# SPDX-License-Identifier: Apache-2.0
"""Differences between the Kubernetes versions that can be emulated, one row each.

A row names a feature, the first and the last version that has it, and its kind. Rules and feature
gates are read when a profile, a plugin or a queue is created (`FeatureGates.has_rule`,
`FeatureGates.enabled`), not later. Plugins by version: `plugins.in_tree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

import msgspec

from steersman.base import DEFAULT_EMULATED_VERSION, InputError


class KubernetesVersion(NamedTuple):
    """A minor release of Kubernetes; versions compare by age."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


V1_36: Final = KubernetesVersion(1, 36)
V1_37: Final = KubernetesVersion(1, 37)
V1_38: Final = KubernetesVersion(1, 38)

SUPPORTED_VERSIONS: Final = (V1_36, V1_37)
"""The versions whose decisions can be emulated, oldest first."""
DEFAULT_VERSION: Final = next(version for version in SUPPORTED_VERSIONS if str(version) == DEFAULT_EMULATED_VERSION)
"""The version that is emulated unless `--emulated-version` names another one."""


class DifferenceKind(StrEnum):
    """What differs between two versions."""

    GATE = "gate"
    DEFAULT = "default"
    PLUGIN_ORDER = "plugin order"
    MESSAGE = "message"
    RULE = "rule"
    API_VERSION = "API version"


class Rule(StrEnum):
    """A behaviour of some versions. Code calls `has_rule` when it creates the affected part."""

    IMAGE_VOLUMES_RAISE_THRESHOLD = "ImageVolumesRaiseThreshold"
    RESIZE_BY_TOTALS = "ResizeByTotals"
    BUDGETS_END_AT_VIOLATION = "BudgetsEndAtViolation"
    PREEMPTION_IS_REPORTED = "PreemptionIsReported"
    DEALLOCATION_IS_REPORTED = "DeallocationIsReported"
    POD_EVENTS_BY_ROLE = "PodEventsByRole"
    DELETED_PODS_ARE_UNCOUNTED = "DeletedPodsAreUncounted"
    TAINT_UPDATES_OF_NEW_NODES = "TaintUpdatesOfNewNodes"
    CLAIM_DELETION_REQUEUES = "ClaimDeletionRequeues"
    DEVICE_TAINT_RULES_V1 = "DeviceTaintRulesV1"
    GATED_PODS_KEEP_NOMINATIONS = "GatedPodsKeepNominations"
    PREEMPTION_IN_MEMORY_ACTIVATES = "PreemptionInMemoryActivates"
    CONFIG_OF_ALL_REQUESTS = "ConfigOfAllRequests"
    DISTINCT_WITHIN_REQUESTS = "DistinctWithinRequests"


class GateStage(StrEnum):
    """The maturity of a feature gate."""

    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = "GA"


class GateSpec(msgspec.Struct, frozen=True):
    """Stage and default of a feature gate in one version."""

    stage: GateStage
    default: bool
    locked: bool = False
    """Whether the gate cannot be set to anything but its default."""
    needs: tuple[str, ...] = ()
    """Gates that must be on when this one is."""


class Difference(msgspec.Struct, frozen=True):
    """A row of the table: a feature with the range of versions that have it."""

    feature: str
    kind: DifferenceKind
    first: KubernetesVersion = V1_36
    """The first version with the feature; `V1_36` also covers all older versions."""
    last: KubernetesVersion | None = None
    """The last version with the feature; None if no announced version drops it."""
    text: str = ""
    gate: GateSpec | None = None
    is_implemented: bool = True

    def is_in(self, version: KubernetesVersion) -> bool:
        """Return whether the version has the feature."""
        return self.first <= version and (self.last is None or version <= self.last)


def _gate(
    feature: str,
    stage: GateStage,
    default: bool,
    *needs: str,
    locked: bool = False,
    first: KubernetesVersion = V1_36,
    last: KubernetesVersion | None = None,
    is_implemented: bool = True,
) -> Difference:
    spec = GateSpec(stage, default, locked, needs)
    return Difference(feature, DifferenceKind.GATE, first, last, gate=spec, is_implemented=is_implemented)


def _rule(rule: Rule, kind: DifferenceKind, text: str, *, last: KubernetesVersion | None = None) -> Difference:
    first = V1_37 if last is None else V1_36
    return Difference(rule.value, kind, first, last, text)


def _announced(feature: str, kind: DifferenceKind, text: str) -> Difference:
    return Difference(feature, kind, V1_38, text=text, is_implemented=False)


_ALPHA, _BETA, _GA = GateStage.ALPHA, GateStage.BETA, GateStage.GA
_DEVICES: Final = "DynamicResourceAllocation"
_MESSAGE, _RULE = DifferenceKind.MESSAGE, DifferenceKind.RULE

DIFFERENCES: Final[tuple[Difference, ...]] = (
    # Rules, messages and defaults.
    _rule(
        Rule.IMAGE_VOLUMES_RAISE_THRESHOLD,
        _RULE,
        "The upper threshold of ImageLocality grows with image volumes, not only with containers.",
    ),
    _rule(
        Rule.RESIZE_BY_TOTALS,
        _RULE,
        "A resized pod counts with the greatest total of spec, allocated and actual requests, not container by container.",
    ),
    _rule(
        Rule.BUDGETS_END_AT_VIOLATION,
        _RULE,
        "A victim is charged to its disruption budgets until one of them is exceeded, not to all.",
    ),
    _rule(
        Rule.PREEMPTION_IS_REPORTED,
        _MESSAGE,
        "The message of a failed attempt names the node and the number of victims of a successful preemption.",
    ),
    _rule(
        Rule.DEALLOCATION_IS_REPORTED,
        _MESSAGE,
        "DynamicResources reports that there was nothing to deallocate.",
        last=V1_36,
    ),
    _rule(
        Rule.POD_EVENTS_BY_ROLE,
        _RULE,
        "Events of a waiting pod itself (TargetPod), of other pods without a node (UnscheduledPod) and larger requests "
        "(UpdatePodScaleUp) are distinguished.",
    ),
    _rule(
        Rule.TAINT_UPDATES_OF_NEW_NODES,
        _RULE,
        "A registration for new nodes also covers updates of their taints.",
        last=V1_36,
    ),
    _rule(
        Rule.DELETED_PODS_ARE_UNCOUNTED,
        _RULE,
        "The metric unschedulable_pods drops a deleted pod that waited in activeQ or backoffQ, too.",
    ),
    _rule(Rule.CLAIM_DELETION_REQUEUES, _RULE, "DynamicResources registers deleted claims."),
    _rule(
        Rule.GATED_PODS_KEEP_NOMINATIONS,
        _RULE,
        "Adding a pod to the queue registers the nomination of its status at once; an empty node is no nomination.",
    ),
    _rule(
        Rule.PREEMPTION_IN_MEMORY_ACTIVATES,
        _RULE,
        "A preemptor whose last victim was not bound yet is activated at the end of the preemption.",
    ),
    _rule(
        Rule.CONFIG_OF_ALL_REQUESTS,
        _RULE,
        "A configuration of devices is allocated once, and names no requests if it applies to all.",
    ),
    _rule(
        Rule.DISTINCT_WITHIN_REQUESTS,
        _RULE,
        "A distinct attribute differs between all devices, not only between the last ones of different requests.",
    ),
    Difference(
        "PreFilterOfNodeChecks",
        DifferenceKind.PLUGIN_ORDER,
        V1_37,
        text="NodeName comes before NodeUnschedulable; both and TaintToleration extend preFilter.",
    ),
    Difference(
        "PodGroupPostFilter", DifferenceKind.PLUGIN_ORDER, V1_37, text="podGroupPostFilter is an extension point."
    ),
    Difference("StorageCapacityShape", DifferenceKind.DEFAULT, V1_37, text="VolumeBindingArgs have a default shape."),
    _rule(
        Rule.DEVICE_TAINT_RULES_V1,
        DifferenceKind.API_VERSION,
        "DeviceTaintRule is served as resource.k8s.io/v1; older versions of its API are not read.",
    ),
    # Feature gates that the scheduler reads.
    _gate("ComponentFlagz", _BETA, True),
    _gate("ComponentStatusz", _BETA, True),
    _gate("CompositePodGroup", _ALPHA, False, "GenericWorkload", "TopologyAwareWorkloadScheduling", first=V1_37),
    _gate("CoordinatedLeaderElection", _BETA, False),
    _gate("DRAAdminAccess", _GA, True, _DEVICES, locked=True),
    _gate("DRAConsumableCapacity", _BETA, True, _DEVICES),
    _gate("DRADerivedAttributes", _ALPHA, False, _DEVICES, first=V1_37),
    _gate("DRADeviceBindingConditions", _BETA, True, "DRAResourceClaimDeviceStatus", _DEVICES),
    _gate("DRADeviceCompatibilityGroups", _ALPHA, False, _DEVICES, "DRAPartitionableDevices", first=V1_37),
    _gate("DRADeviceTaintRules", _BETA, False, "DRADeviceTaints", last=V1_36),
    _gate("DRADeviceTaintRules", _GA, True, "DRADeviceTaints", first=V1_37),
    _gate("DRADeviceTaints", _BETA, True, _DEVICES, last=V1_36),
    _gate("DRADeviceTaints", _GA, True, _DEVICES, first=V1_37),
    _gate("DRAExtendedResource", _BETA, True, _DEVICES, last=V1_36),
    _gate("DRAExtendedResource", _GA, True, _DEVICES, locked=True, first=V1_37),
    _gate("DRAFractionalCapacityRange", _BETA, True, "DRAConsumableCapacity", first=V1_37),
    _gate("DRAListTypeAttributes", _ALPHA, False, _DEVICES),
    _gate("DRANodeAllocatableResources", _ALPHA, False, _DEVICES),
    _gate("DRAOptionalNodeOperations", _ALPHA, False, _DEVICES, "NodeDeclaredFeatures", first=V1_37),
    _gate("DRAPartitionableDevices", _BETA, True, _DEVICES),
    _gate("DRAPrioritizedList", _GA, True, _DEVICES),
    _gate("DRAResourceClaimDeviceStatus", _BETA, True, last=V1_36),
    _gate("DRAResourceClaimDeviceStatus", _GA, True, locked=True, first=V1_37),
    _gate("DRASchedulerFilterTimeout", _BETA, True, _DEVICES),
    _gate("DRAWorkloadResourceClaims", _ALPHA, False, _DEVICES, "GenericWorkload", last=V1_36),
    _gate("DRAWorkloadResourceClaims", _BETA, False, _DEVICES, "GenericWorkload", first=V1_37),
    _gate(_DEVICES, _GA, True, locked=True),
    _gate("GangScheduling", _ALPHA, False, "GenericWorkload", last=V1_36),
    _gate("GenericWorkload", _ALPHA, False, last=V1_36),
    _gate("GenericWorkload", _BETA, False, first=V1_37, last=V1_37),
    _gate(
        "InPlacePodLevelResourcesVerticalScaling",
        _BETA,
        True,
        "InPlacePodVerticalScaling",
        "NodeDeclaredFeatures",
        "PodLevelResources",
    ),
    _gate("InPlacePodVerticalScaling", _GA, True, locked=True),
    _gate("InPlacePodVerticalScalingSchedulerPreemption", _ALPHA, False, "InPlacePodVerticalScaling", first=V1_37),
    _gate("InterPodAffinityHostnameFastPath", _ALPHA, False, first=V1_37),
    _gate("MatchLabelKeysInPodTopologySpread", _BETA, True),
    _gate("NodeDeclaredFeatures", _BETA, True, last=V1_36),
    _gate("NodeDeclaredFeatures", _GA, True, locked=True, first=V1_37),
    _gate("NodeInclusionPolicyInPodTopologySpread", _GA, True, locked=True),
    _gate("NominatedNodeNameForExpectation", _BETA, True),
    _gate("OpportunisticBatching", _BETA, True),
    _gate("PodGroupPreemptionPolicy", _ALPHA, False, "GenericWorkload", first=V1_37),
    _gate("PodLevelResources", _BETA, True),
    _gate("SchedulerAsyncAPICalls", _BETA, False),
    _gate("SchedulerAsyncPreemption", _BETA, True),
    _gate("SchedulerPopFromBackoffQ", _BETA, True),
    _gate("SchedulerPreQueueingHints", _ALPHA, False, first=V1_37),
    _gate("SchedulerQueueingHints", _GA, True, locked=True, last=V1_36),
    _gate("SidecarContainers", _GA, True, locked=True, last=V1_36),
    _gate("StorageCapacityScoring", _ALPHA, False, last=V1_36),
    _gate("StorageCapacityScoring", _BETA, True, first=V1_37),
    _gate("TaintTolerationComparisonOperators", _ALPHA, False),
    _gate("TopologyAwareWorkloadScheduling", _ALPHA, False, "GenericWorkload", last=V1_37),
    _gate("VolumeAttributesClass", _GA, True, locked=True),
    _gate("VolumeLimitScaling", _ALPHA, False, last=V1_36),
    _gate("VolumeLimitScaling", _BETA, True, first=V1_37),
    _gate("WorkloadAwarePreemption", _ALPHA, False, "GangScheduling", last=V1_36),
    # Announced for v1.38.
    _gate("GenericWorkload", _GA, True, first=V1_38, is_implemented=False),
    _gate("TopologyAwareWorkloadScheduling", _BETA, False, "GenericWorkload", first=V1_38, is_implemented=False),
    _announced("CompositePodGroupBeta", DifferenceKind.GATE, "CompositePodGroup is beta."),
    _announced(
        "GangsWithoutPermit", _RULE, "GangScheduling has no Permit: no quorum wait and no timeout of five minutes."
    ),
    _announced("PodGroupConditionReasons", _MESSAGE, "Reasons Scheduled, PodGroupError and CompositePodGroupError."),
    _announced("MutableMinGroupCount", DifferenceKind.API_VERSION, "minGroupCount of a pod group can be changed."),
)


def parse_version(text: str) -> KubernetesVersion:
    """Return the version of a flag: `1.37`, `kube=1.37` or "" (default). Raises `InputError`."""
    if not text.strip():
        return DEFAULT_VERSION
    component, equals, number = text.strip().rpartition("=")
    major, dot, minor = number.strip().removeprefix("v").partition(".")
    if (equals and component.strip() != "kube") or not (dot and major.isdecimal() and minor.isdecimal()):
        raise _refused(f"{text!r} is not a version", f"write {' or '.join(map(str, SUPPORTED_VERSIONS))}")
    return supported(KubernetesVersion(int(major), int(minor)))


def supported(version: KubernetesVersion) -> KubernetesVersion:
    """Return the version. Raises `InputError` with the missing rows if it cannot be emulated."""
    if version in SUPPORTED_VERSIONS:
        return version
    missing = ", ".join(row.feature for row in not_implemented(version))
    reason = f"not implemented: {missing}" if missing else "decisions of this version are not known"
    raise _refused(f"{version} cannot be emulated: {reason}", f"use {' or '.join(map(str, SUPPORTED_VERSIONS))}")


def not_implemented(version: KubernetesVersion) -> Iterator[Difference]:
    """Yield the missing rows of a version; none for a version without announced changes."""
    if version <= max(row.first for row in DIFFERENCES):
        yield from (row for row in DIFFERENCES if row.is_in(version) and not row.is_implemented)


@cache
def gates_of(version: KubernetesVersion) -> Mapping[str, GateSpec]:
    """Return the feature gates that the scheduler of a version reads, by name."""
    rows = (row for row in DIFFERENCES if row.is_in(version))
    return {row.feature: row.gate for row in rows if row.gate is not None}


@cache
def rules_of(version: KubernetesVersion) -> frozenset[str]:
    """Return the rules of a version."""
    return frozenset(row.feature for row in DIFFERENCES if row.is_in(version) and row.feature in frozenset(Rule))


def _refused(message: str, hint: str) -> InputError:
    return InputError(message, object="--emulated-version", hint=hint)
