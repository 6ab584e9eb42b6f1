# SPDX-License-Identifier: Apache-2.0
"""Feature gates of v1.36 that the scheduler reads: their defaults, and parsing of `--feature-gates`.

`defaults` and `args_validation` ask whether a gate is on; the command line makes a `FeatureGates` from its flag. Gates
of other components are accepted, because one flag value is often shared between components, and change nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

import msgspec

from steersman.errors import InputError


class GateStage(StrEnum):
    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = "GA"


class GateSpec(msgspec.Struct, frozen=True):
    stage: GateStage
    default: bool
    locked: bool = False
    """The gate cannot be set to anything but its default."""
    needs: tuple[str, ...] = ()
    """Gates that must be on when this one is."""


GATES: Final[Mapping[str, GateSpec]] = MappingProxyType(
    {
        "ComponentFlagz": GateSpec(GateStage.BETA, True),
        "ComponentStatusz": GateSpec(GateStage.BETA, True),
        "DRAAdminAccess": GateSpec(GateStage.GA, True, locked=True, needs=("DynamicResourceAllocation",)),
        "DRAConsumableCapacity": GateSpec(GateStage.BETA, True, needs=("DynamicResourceAllocation",)),
        "DRADeviceBindingConditions": GateSpec(
            GateStage.BETA, True, needs=("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation")
        ),
        "DRADeviceTaintRules": GateSpec(GateStage.BETA, False, needs=("DRADeviceTaints",)),
        "DRADeviceTaints": GateSpec(GateStage.BETA, True, needs=("DynamicResourceAllocation",)),
        "DRAExtendedResource": GateSpec(GateStage.BETA, True, needs=("DynamicResourceAllocation",)),
        "DRAListTypeAttributes": GateSpec(GateStage.ALPHA, False, needs=("DynamicResourceAllocation",)),
        "DRANodeAllocatableResources": GateSpec(GateStage.ALPHA, False, needs=("DynamicResourceAllocation",)),
        "DRAPartitionableDevices": GateSpec(GateStage.BETA, True, needs=("DynamicResourceAllocation",)),
        "DRAPrioritizedList": GateSpec(GateStage.GA, True, needs=("DynamicResourceAllocation",)),
        "DRAResourceClaimDeviceStatus": GateSpec(GateStage.BETA, True),
        "DRASchedulerFilterTimeout": GateSpec(GateStage.BETA, True, needs=("DynamicResourceAllocation",)),
        "DRAWorkloadResourceClaims": GateSpec(
            GateStage.ALPHA, False, needs=("DynamicResourceAllocation", "GenericWorkload")
        ),
        "DynamicResourceAllocation": GateSpec(GateStage.GA, True, locked=True),
        "GangScheduling": GateSpec(GateStage.ALPHA, False, needs=("GenericWorkload",)),
        "GenericWorkload": GateSpec(GateStage.ALPHA, False),
        "InPlacePodLevelResourcesVerticalScaling": GateSpec(
            GateStage.BETA, True, needs=("InPlacePodVerticalScaling", "NodeDeclaredFeatures", "PodLevelResources")
        ),
        "InPlacePodVerticalScaling": GateSpec(GateStage.GA, True, locked=True),
        "MatchLabelKeysInPodTopologySpread": GateSpec(GateStage.BETA, True),
        "NodeDeclaredFeatures": GateSpec(GateStage.BETA, True),
        "NodeInclusionPolicyInPodTopologySpread": GateSpec(GateStage.GA, True, locked=True),
        "NominatedNodeNameForExpectation": GateSpec(GateStage.BETA, True),
        "OpportunisticBatching": GateSpec(GateStage.BETA, True),
        "PodLevelResources": GateSpec(GateStage.BETA, True),
        "SchedulerAsyncAPICalls": GateSpec(GateStage.BETA, False),
        "SchedulerAsyncPreemption": GateSpec(GateStage.BETA, True),
        "SchedulerPopFromBackoffQ": GateSpec(GateStage.BETA, True),
        "SchedulerQueueingHints": GateSpec(GateStage.GA, True, locked=True),
        "SidecarContainers": GateSpec(GateStage.GA, True, locked=True),
        "StorageCapacityScoring": GateSpec(GateStage.ALPHA, False),
        "TaintTolerationComparisonOperators": GateSpec(GateStage.ALPHA, False),
        "TopologyAwareWorkloadScheduling": GateSpec(GateStage.ALPHA, False, needs=("GenericWorkload",)),
        "VolumeAttributesClass": GateSpec(GateStage.GA, True, locked=True),
        "VolumeLimitScaling": GateSpec(GateStage.ALPHA, False),
        "WorkloadAwarePreemption": GateSpec(GateStage.ALPHA, False, needs=("GangScheduling",)),
    }
)

BINDING_CONDITION_GATES: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
"""Both must be on for the binding timeout of DynamicResources to mean anything."""

_ALL_OF_STAGE: Final = {"AllAlpha": GateStage.ALPHA, "AllBeta": GateStage.BETA}
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class FeatureGates:
    """The state of every gate. Immutable; `FeatureGates()` is the state without any flag."""

    def __init__(self, chosen: Mapping[str, bool] | None = None) -> None:
        """`chosen` overrides defaults; raises `InputError` if that is not allowed."""
        for name, value in (chosen or {}).items():
            _check_settable(name, value)
        self._state = _with_whole_stages(chosen or {})
        self._check_needs()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Gates from a flag value such as `A=true,B=false`."""
        return cls(dict(_assignment(part) for part in text.split(",") if part))

    def enabled(self, name: str) -> bool:
        """Whether the gate is on; a `KeyError` means that `name` is no gate the scheduler reads."""
        return self._state[name]

    def changed(self) -> dict[str, bool]:
        """The gates that differ from their defaults."""
        return {name: value for name, value in self._state.items() if value != GATES[name].default}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGates) and self._state == other._state

    def __hash__(self) -> int:
        return hash(tuple(self._state.items()))

    def __repr__(self) -> str:
        return f"FeatureGates({self.changed()})"

    def _check_needs(self) -> None:
        for name, spec in GATES.items():
            missing = [needed for needed in spec.needs if not self._state[needed]]
            if self._state[name] and missing:
                raise _flag_error(
                    f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
                    hint=f"add {','.join(f'{needed}=true' for needed in missing)}",
                )


def _with_whole_stages(chosen: Mapping[str, bool]) -> dict[str, bool]:
    """Defaults, overridden by gates for a whole stage, overridden by gates chosen by name."""
    of_stage = {stage: chosen[name] for name, stage in _ALL_OF_STAGE.items() if name in chosen}
    return {name: chosen.get(name, of_stage.get(spec.stage, spec.default)) for name, spec in GATES.items()}


def _assignment(part: str) -> tuple[str, bool]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals:
        raise _flag_error(f"missing bool value for {name}", hint="write NAME=true or NAME=false")
    if value not in _BOOLEANS:
        raise _flag_error(f"invalid value of {name}={value}", hint="use true or false")
    return name, _BOOLEANS[value]


def _check_settable(name: str, value: bool) -> None:
    if name in _ALL_OF_STAGE or name in OTHER_GATES:
        return
    if name not in GATES:
        raise _flag_error(f"unrecognized feature gate: {name}", hint="use a feature gate of Kubernetes v1.36")
    spec = GATES[name]
    if spec.locked and spec.default != value:
        locked_to = str(spec.default).lower()
        raise _flag_error(
            f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {locked_to}",
            hint=f"remove {name} from the flag",
        )


def _flag_error(message: str, *, hint: str) -> InputError:
    return InputError(message, object="--feature-gates", hint=hint)


DEFAULT_GATES: Final = FeatureGates()


#: Names of gates that the scheduler knows but does not read.
OTHER_GATES: Final = frozenset(
    [
        "APIResponseCompression",
        "APIServerIdentity",
        "APIServerTracing",
        "APIServingWithRoutine",
        "AggregatedDiscoveryRemoveBetaType",
        "AllowDNSOnlyNodeCSR",
        "AllowInsecureKubeletCertificateSigningRequests",
        "AllowOverwriteTerminationGracePeriodSeconds",
        "AllowParsingUserUIDFromCertAuth",
        "AllowServiceExternalIPs",
        "AllowUnsafeMalformedObjectDeletion",
        "AnonymousAuthConfigurableEndpoints",
        "AnyVolumeDataSource",
        "AtomicFIFO",
        "AuthorizeNodeWithSelectors",
        "AuthorizePodWebsocketUpgradeCreatePermission",
        "AuthorizeWithSelectors",
        "BtreeWatchCache",
        "CBORServingAndStorage",
        "CPUManagerPolicyAlphaOptions",
        "CPUManagerPolicyBetaOptions",
        "CPUManagerPolicyOptions",
        "CRDObservedGenerationTracking",
        "CRDValidationRatcheting",
        "CRIListStreaming",
        "CSIServiceAccountTokenSecrets",
        "CSIVolumeHealth",
        "ChangeContainerStatusOnKubeletRestart",
        "ClearingNominatedNodeNameAfterBinding",
        "ClientsAllowCARotation",
        "ClientsAllowCBOR",
        "ClientsAllowTLSCacheGC",
        "ClientsPreferCBOR",
        "CloudControllerManagerWatchBasedRoutesReconciliation",
        "CloudControllerManagerWebhook",
        "ClusterTrustBundle",
        "ClusterTrustBundleProjection",
        "ConcurrentWatchObjectDecode",
        "ConsistentListFromCache",
        "ConstrainedImpersonation",
        "ContainerCheckpoint",
        "ContainerRestartRules",
        "ContainerStopSignals",
        "CoordinatedLeaderElection",
        "CrossNamespaceVolumeDataSource",
        "CustomCPUCFSQuotaPeriod",
        "CustomResourceFieldSelectors",
        "DRAResourceClaimGranularStatusAuthorization",
        "DRAResourcePoolStatus",
        "DeclarativeValidation",
        "DeclarativeValidationBeta",
        "DeclarativeValidationTakeover",
        "DeploymentReplicaSetTerminatingReplicas",
        "DetectCacheInconsistency",
        "DisableAllocatorDualWrite",
        "DisableCPUQuotaWithExclusiveCPUs",
        "DisableNodeKubeProxyVersion",
        "EnvFiles",
        "EventedPLEG",
        "ExecProbeTimeout",
        "ExtendWebSocketsToKubelet",
        "ExternalServiceAccountTokenSigner",
        "GitRepoVolumeDriver",
        "GracefulNodeShutdown",
        "GracefulNodeShutdownBasedOnPodPriority",
        "HPAConfigurableTolerance",
        "HPAScaleToZero",
        "HostnameOverride",
        "ImageMaximumGCAge",
        "ImageVolume",
        "ImageVolumeWithDigest",
        "InOrderInformers",
        "InOrderInformersBatchProcess",
        "InPlacePodVerticalScalingExclusiveCPUs",
        "InPlacePodVerticalScalingExclusiveMemory",
        "InPlacePodVerticalScalingInitContainers",
        "InformerResourceVersion",
        "JobBackoffLimitPerIndex",
        "JobManagedBy",
        "JobPodReplacementPolicy",
        "JobSuccessPolicy",
        "KMSv1",
        "KubeletCgroupDriverFromCRI",
        "KubeletCrashLoopBackOffMax",
        "KubeletEnsureSecretPulledImages",
        "KubeletFineGrainedAuthz",
        "KubeletInUserNamespace",
        "KubeletPSI",
        "KubeletPodResourcesDynamicResources",
        "KubeletPodResourcesGet",
        "KubeletPodResourcesListUseActivePods",
        "KubeletRegistrationGetOnExistsOnly",
        "KubeletSeparateDiskGC",
        "KubeletServiceAccountTokenForCredentialProviders",
        "KubeletTracing",
        "ListFromCacheSnapshot",
        "LocalStorageCapacityIsolationFSQuotaMonitoring",
        "LogarithmicScaleDown",
        "ManifestBasedAdmissionControlConfig",
        "MatchLabelKeysInPodAffinity",
        "MatchLabelKeysInPodTopologySpreadSelectorMerge",
        "MaxUnavailableStatefulSet",
        "MemoryQoS",
        "MultiCIDRServiceAllocator",
        "MutableCSINodeAllocatableCount",
        "MutablePVNodeAffinity",
        "MutablePodResourcesForSuspendedJobs",
        "MutableSchedulingDirectivesForSuspendedJobs",
        "MutatingAdmissionPolicy",
        "NFTablesProxyMode",
        "NodeLogQuery",
        "NodeSwap",
        "OpenAPIEnums",
        "OrderedNamespaceDeletion",
        "PLEGOnDemandRelist",
        "PersistentVolumeClaimUnusedSinceTime",
        "PodAndContainerStatsFromCRI",
        "PodCertificateRequest",
        "PodDeletionCost",
        "PodLevelResourceManagers",
        "PodLifecycleSleepAction",
        "PodLifecycleSleepActionAllowZero",
        "PodLogsQuerySplitStreams",
        "PodObservedGenerationTracking",
        "PodReadyToStartContainersCondition",
        "PodSchedulingReadiness",
        "PodTopologyLabelsAdmission",
        "PodsAPI",
        "PortForwardWebsockets",
        "PreferSameTrafficDistribution",
        "PreventStaticPodAPIReferences",
        "ProcMountType",
        "QOSReserved",
        "RecoverVolumeExpansionFailure",
        "RecursiveReadOnlyMounts",
        "ReduceDefaultCrashLoopBackOffDecay",
        "RelaxedDNSSearchValidation",
        "RelaxedEnvironmentVariableValidation",
        "RelaxedServiceNameValidation",
        "ReloadKubeletClientCAFile",
        "ReloadKubeletServerCertificateFile",
        "RemoteRequestHeaderUID",
        "ResilientWatchCacheInitialization",
        "ResourceHealthStatus",
        "ResourceHealthStatusMessage",
        "RestartAllContainersOnContainerExits",
        "RetryGenerateName",
        "RotateKubeletServerCertificate",
        "RuntimeClassInImageCriApi",
        "SELinuxChangePolicy",
        "SELinuxMount",
        "SELinuxMountReadWriteOncePod",
        "SeparateCacheWatchRPC",
        "SeparateTaintEvictionController",
        "ServiceAccountNodeAudienceRestriction",
        "ServiceAccountTokenJTI",
        "ServiceAccountTokenNodeBinding",
        "ServiceAccountTokenNodeBindingValidation",
        "ServiceAccountTokenPodNodeInfo",
        "ServiceCIDRStatusFieldWiping",
        "ShardedListAndWatch",
        "SizeBasedListCostEstimate",
        "StaleControllerConsistencyDaemonSet",
        "StaleControllerConsistencyJob",
        "StaleControllerConsistencyReplicaSet",
        "StaleControllerConsistencyStatefulSet",
        "StatefulSetSemanticRevisionComparison",
        "StorageNamespaceIndex",
        "StorageVersionAPI",
        "StorageVersionHash",
        "StorageVersionMigrator",
        "StreamingCollectionEncodingToJSON",
        "StreamingCollectionEncodingToProtobuf",
        "StrictIPCIDRValidation",
        "StructuredAuthenticationConfiguration",
        "StructuredAuthenticationConfigurationEgressSelector",
        "StructuredAuthenticationConfigurationJWKSMetrics",
        "SupplementalGroupsPolicy",
        "SystemdWatchdog",
        "TokenRequestServiceAccountUIDValidation",
        "TopologyManagerPolicyAlphaOptions",
        "TopologyManagerPolicyBetaOptions",
        "TopologyManagerPolicyOptions",
        "TranslateStreamCloseWebsocketRequests",
        "UnauthenticatedHTTP2DOSMitigation",
        "UnknownVersionInteroperabilityProxy",
        "UnlockWhileProcessingFIFO",
        "UserNamespacesHostNetworkSupport",
        "UserNamespacesSupport",
        "WatchCacheInitializationPostStartHook",
        "WatchList",
        "WatchListClient",
        "WinDSR",
        "WinOverlay",
        "WindowsCPUAndMemoryAffinity",
        "WindowsGracefulNodeShutdown",
        "WindowsHostNetwork",
        "WorkloadWithJob",
    ]
)
