# SPDX-License-Identifier: Apache-2.0
"""Kubernetes API objects as frozen Structs, and the API's own rules.

Lowest layer except for `errors`, `clock` and `rng`. `codec` and `manifests` decode JSON, YAML and dumps to typed
objects with Kubernetes' field names in snake_case. `quantity`, `selectors`, `node_selectors`, `tolerations` and
`timestamps` have the rules of single fields and are imported as modules (`from steersman.api import quantity`).
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.api.autoscaling import (
        CrossVersionObjectReference as CrossVersionObjectReference,
        HorizontalPodAutoscaler as HorizontalPodAutoscaler,
        HorizontalPodAutoscalerSpec as HorizontalPodAutoscalerSpec,
        HorizontalPodAutoscalerStatus as HorizontalPodAutoscalerStatus,
        MetricIdentifier as MetricIdentifier,
        MetricSource as MetricSource,
        MetricSourceStatus as MetricSourceStatus,
        MetricSpec as MetricSpec,
        MetricStatus as MetricStatus,
        MetricTarget as MetricTarget,
        MetricValueStatus as MetricValueStatus,
        ScalingBehavior as ScalingBehavior,
        ScalingPolicy as ScalingPolicy,
        ScalingRules as ScalingRules,
    )
    from steersman.api.batch import (
        CronJob as CronJob,
        CronJobSpec as CronJobSpec,
        CronJobStatus as CronJobStatus,
        Job as Job,
        JobCondition as JobCondition,
        JobSpec as JobSpec,
        JobStatus as JobStatus,
        JobTemplateSpec as JobTemplateSpec,
        OnExitCodes as OnExitCodes,
        OnPodCondition as OnPodCondition,
        PodFailurePolicy as PodFailurePolicy,
        PodFailurePolicyRule as PodFailurePolicyRule,
        SuccessPolicy as SuccessPolicy,
        SuccessPolicyRule as SuccessPolicyRule,
        UncountedTerminatedPods as UncountedTerminatedPods,
    )
    from steersman.api.cron_schedule import (
        CronSchedule as CronSchedule,
        is_known_zone as is_known_zone,
        parse_schedule as parse_schedule,
    )
    from steersman.api.csi_migration import (
        MIGRATED_PLUGINS as MIGRATED_PLUGINS,
        InTreePlugin as InTreePlugin,
        inline_handle as inline_handle,
        is_migrated_on as is_migrated_on,
        persistent_handle as persistent_handle,
        plugin_named as plugin_named,
        plugin_of as plugin_of,
        translated as translated,
    )
    from steersman.api.csi_topology import ZONE_DELIMITER as ZONE_DELIMITER
    from steersman.api.custom import CustomObject as CustomObject, custom_kind as custom_kind
    from steersman.api.device import (
        CapacityRequestPolicy as CapacityRequestPolicy,
        CapacityRequestPolicyRange as CapacityRequestPolicyRange,
        Counter as Counter,
        CounterSet as CounterSet,
        Device as Device,
        DeviceAttribute as DeviceAttribute,
        DeviceCapacity as DeviceCapacity,
        DeviceClass as DeviceClass,
        DeviceClassConfiguration as DeviceClassConfiguration,
        DeviceClassSpec as DeviceClassSpec,
        DeviceCounterConsumption as DeviceCounterConsumption,
        DeviceTaint as DeviceTaint,
        DeviceTaintRule as DeviceTaintRule,
        NodeAllocatableResourceMapping as NodeAllocatableResourceMapping,
        ResourcePool as ResourcePool,
        ResourceSlice as ResourceSlice,
        ResourceSliceSpec as ResourceSliceSpec,
    )
    from steersman.api.document_fields import convert_document as convert_document, similar as similar
    from steersman.api.documents import Found as Found, SourcePlace as SourcePlace, find_objects as find_objects
    from steersman.api.field_errors import aggregate as aggregate, child as child
    from steersman.api.go_durations import SECOND as SECOND, Duration as Duration, DurationError as DurationError
    from steersman.api.go_text import go_list as go_list, quote as quote
    from steersman.api.go_values import as_go_writes as as_go_writes
    from steersman.api.json_paths import compile_path as compile_path, find_values as find_values
    from steersman.api.json_values import (
        TOO_DEEP as TOO_DEEP,
        Document as Document,
        elements as elements,
        fields_in_order as fields_in_order,
        group_kind as group_kind,
        is_same as is_same,
        json_type as json_type,
        merge_patch as merge_patch,
        part as part,
    )
    from steersman.api.kinds import KINDS as KINDS
    from steersman.api.label_syntax import key_errors as key_errors, value_errors as value_errors
    from steersman.api.lenient import readable_part as readable_part
    from steersman.api.limits import (
        LimitRange as LimitRange,
        LimitRangeItem as LimitRangeItem,
        LimitRangeSpec as LimitRangeSpec,
        ResourceQuota as ResourceQuota,
        ResourceQuotaSpec as ResourceQuotaSpec,
        ResourceQuotaStatus as ResourceQuotaStatus,
        RuntimeClass as RuntimeClass,
        RuntimeClassOverhead as RuntimeClassOverhead,
        RuntimeClassScheduling as RuntimeClassScheduling,
        ScopedSelectorRequirement as ScopedSelectorRequirement,
        ScopeSelector as ScopeSelector,
    )
    from steersman.api.manifest_folders import Renderer as Renderer, renderer_of as renderer_of
    from steersman.api.manifests import decompressed as decompressed, find_all as find_all
    from steersman.api.meta import (
        Condition as Condition,
        Int32 as Int32,
        Int64 as Int64,
        LabelSelector as LabelSelector,
        LabelSelectorRequirement as LabelSelectorRequirement,
        Object as Object,
        ObjectMeta as ObjectMeta,
        ObjectReference as ObjectReference,
        OwnerReference as OwnerReference,
        Quantity as Quantity,
        ResourceList as ResourceList,
        Struct as Struct,
        key as key,
        kind_of as kind_of,
        reference_to as reference_to,
        version_number as version_number,
    )
    from steersman.api.node import (
        AttachedVolume as AttachedVolume,
        ContainerImage as ContainerImage,
        Namespace as Namespace,
        NamespaceSpec as NamespaceSpec,
        NamespaceStatus as NamespaceStatus,
        Node as Node,
        NodeAddress as NodeAddress,
        NodeSpec as NodeSpec,
        NodeStatus as NodeStatus,
    )
    from steersman.api.node_selectors import (
        NAME_FIELD as NAME_FIELD,
        AnyTerm as AnyTerm,
        FieldRequirement as FieldRequirement,
        PreferredTerms as PreferredTerms,
        RequiredNodeAffinity as RequiredNodeAffinity,
        Term as Term,
        lazy as lazy,
        required as required,
        strict as strict,
    )
    from steersman.api.object_check import UNKNOWN as UNKNOWN, ObjectCheck as ObjectCheck, Validation as Validation
    from steersman.api.persistent_volumes import (
        BIND_COMPLETED as BIND_COMPLETED,
        BOUND_BY_CONTROLLER as BOUND_BY_CONTROLLER,
        NO_PROVISIONER as NO_PROVISIONER,
        READ_WRITE_ONCE_POD as READ_WRITE_ONCE_POD,
        SELECTED_NODE as SELECTED_NODE,
        STORAGE as STORAGE,
        WAIT_FOR_FIRST_CONSUMER as WAIT_FOR_FIRST_CONSUMER,
        ClaimUse as ClaimUse,
        admits_node as admits_node,
        annotated as annotated,
        bound_to as bound_to,
        claim_uses as claim_uses,
        class_of_claim as class_of_claim,
        class_of_volume as class_of_volume,
        ephemeral_claim_name as ephemeral_claim_name,
        is_bound_to as is_bound_to,
        is_fully_bound as is_fully_bound,
        node_selector_of as node_selector_of,
        not_made_for as not_made_for,
        why_not_admitted as why_not_admitted,
    )
    from steersman.api.pod import (
        Container as Container,
        ContainerExtendedResourceRequest as ContainerExtendedResourceRequest,
        ContainerPort as ContainerPort,
        ContainerResizePolicy as ContainerResizePolicy,
        ContainerResourceClaim as ContainerResourceClaim,
        ContainerRestartRule as ContainerRestartRule,
        ContainerState as ContainerState,
        ContainerStateTerminated as ContainerStateTerminated,
        ContainerStatus as ContainerStatus,
        NodeAllocatableResourceClaimStatus as NodeAllocatableResourceClaimStatus,
        Pod as Pod,
        PodExtendedResourceClaimStatus as PodExtendedResourceClaimStatus,
        PodOS as PodOS,
        PodReadinessGate as PodReadinessGate,
        PodResourceClaim as PodResourceClaim,
        PodResourceClaimStatus as PodResourceClaimStatus,
        PodSchedulingGate as PodSchedulingGate,
        PodSchedulingGroup as PodSchedulingGroup,
        PodSpec as PodSpec,
        PodStatus as PodStatus,
        PodTemplateSpec as PodTemplateSpec,
        ResourceRequirements as ResourceRequirements,
    )
    from steersman.api.pod_groups import (
        INITIALLY_SCHEDULED as INITIALLY_SCHEDULED,
        AllDisruptionMode as AllDisruptionMode,
        AnyPodGroup as AnyPodGroup,
        BasicSchedulingPolicy as BasicSchedulingPolicy,
        CompositeGangSchedulingPolicy as CompositeGangSchedulingPolicy,
        CompositePodGroup as CompositePodGroup,
        CompositePodGroupSchedulingPolicy as CompositePodGroupSchedulingPolicy,
        CompositePodGroupSpec as CompositePodGroupSpec,
        CompositePodGroupStatus as CompositePodGroupStatus,
        CompositePodGroupTemplate as CompositePodGroupTemplate,
        DisruptionMode as DisruptionMode,
        GangSchedulingPolicy as GangSchedulingPolicy,
        PodGroup as PodGroup,
        PodGroupResourceClaimStatus as PodGroupResourceClaimStatus,
        PodGroupSchedulingConstraints as PodGroupSchedulingConstraints,
        PodGroupSchedulingPolicy as PodGroupSchedulingPolicy,
        PodGroupSpec as PodGroupSpec,
        PodGroupStatus as PodGroupStatus,
        PodGroupTemplate as PodGroupTemplate,
        SingleDisruptionMode as SingleDisruptionMode,
        TopologyConstraint as TopologyConstraint,
        Workload as Workload,
        WorkloadReference as WorkloadReference,
        WorkloadSpec as WorkloadSpec,
        group_priority as group_priority,
        is_disrupted_as_one as is_disrupted_as_one,
        topology_key as topology_key,
    )
    from steersman.api.policy import (
        PodDisruptionBudget as PodDisruptionBudget,
        PodDisruptionBudgetSpec as PodDisruptionBudgetSpec,
        PodDisruptionBudgetStatus as PodDisruptionBudgetStatus,
        PriorityClass as PriorityClass,
    )
    from steersman.api.quantity import (
        MAX_INT64 as MAX_INT64,
        MILLI as MILLI,
        NANO as NANO,
        Amount as Amount,
        Format as Format,
        canonical as canonical,
        memoised as memoised,
        parse as parse,
        value_of as value_of,
    )
    from steersman.api.quantity_fields import check_readable as check_readable
    from steersman.api.resource_claim import (
        AllocatedDeviceStatus as AllocatedDeviceStatus,
        AllocationResult as AllocationResult,
        CapacityRequirements as CapacityRequirements,
        CELDeviceSelector as CELDeviceSelector,
        DeviceAllocationConfiguration as DeviceAllocationConfiguration,
        DeviceAllocationResult as DeviceAllocationResult,
        DeviceClaim as DeviceClaim,
        DeviceClaimConfiguration as DeviceClaimConfiguration,
        DeviceConstraint as DeviceConstraint,
        DeviceRequest as DeviceRequest,
        DeviceRequestAllocationResult as DeviceRequestAllocationResult,
        DeviceSelector as DeviceSelector,
        DeviceSubRequest as DeviceSubRequest,
        DeviceToleration as DeviceToleration,
        ExactDeviceRequest as ExactDeviceRequest,
        OpaqueDeviceConfiguration as OpaqueDeviceConfiguration,
        ResourceClaim as ResourceClaim,
        ResourceClaimConsumerReference as ResourceClaimConsumerReference,
        ResourceClaimSpec as ResourceClaimSpec,
        ResourceClaimStatus as ResourceClaimStatus,
        ResourceClaimTemplate as ResourceClaimTemplate,
        ResourceClaimTemplateSpec as ResourceClaimTemplateSpec,
    )
    from steersman.api.scheduling import (
        Affinity as Affinity,
        NodeAffinity as NodeAffinity,
        NodeSelector as NodeSelector,
        NodeSelectorRequirement as NodeSelectorRequirement,
        NodeSelectorTerm as NodeSelectorTerm,
        PodAffinity as PodAffinity,
        PodAffinityTerm as PodAffinityTerm,
        PodAntiAffinity as PodAntiAffinity,
        PreferredSchedulingTerm as PreferredSchedulingTerm,
        Taint as Taint,
        Toleration as Toleration,
        TopologySpreadConstraint as TopologySpreadConstraint,
        WeightedPodAffinityTerm as WeightedPodAffinityTerm,
    )
    from steersman.api.schemas import (
        OBJECT_META as OBJECT_META,
        REFERENCE as REFERENCE,
        FieldSchema as FieldSchema,
        definition_names as definition_names,
        definitions as definitions,
        schema_of as schema_of,
    )
    from steersman.api.selector_text import (
        SelectorSyntaxError as SelectorSyntaxError,
        label_selector as label_selector,
        parse_label_selector as parse_label_selector,
    )
    from steersman.api.selectors import (
        EVERYTHING as EVERYTHING,
        FEW_REQUIREMENTS as FEW_REQUIREMENTS,
        NOTHING as NOTHING,
        Operator as Operator,
        Requirement as Requirement,
        Selector as Selector,
        SelectorSum as SelectorSum,
        from_label_selector as from_label_selector,
        from_labels as from_labels,
        parse_int64 as parse_int64,
        requirement as requirement,
    )
    from steersman.api.storage import (
        CSIDriver as CSIDriver,
        CSIDriverSpec as CSIDriverSpec,
        CSINode as CSINode,
        CSINodeDriver as CSINodeDriver,
        CSINodeSpec as CSINodeSpec,
        CSIStorageCapacity as CSIStorageCapacity,
        PersistentVolume as PersistentVolume,
        PersistentVolumeClaim as PersistentVolumeClaim,
        PersistentVolumeClaimStatus as PersistentVolumeClaimStatus,
        PersistentVolumeSpec as PersistentVolumeSpec,
        PersistentVolumeStatus as PersistentVolumeStatus,
        StorageClass as StorageClass,
        TopologySelectorLabelRequirement as TopologySelectorLabelRequirement,
        TopologySelectorTerm as TopologySelectorTerm,
        VolumeAttachment as VolumeAttachment,
        VolumeAttachmentSource as VolumeAttachmentSource,
        VolumeAttachmentSpec as VolumeAttachmentSpec,
        VolumeAttachmentStatus as VolumeAttachmentStatus,
        VolumeNodeAffinity as VolumeNodeAffinity,
        VolumeNodeResources as VolumeNodeResources,
    )
    from steersman.api.strict_decoding import (
        Decoded as Decoded,
        DecodingError as DecodingError,
        FieldValidation as FieldValidation,
        unhandled as unhandled,
    )
    from steersman.api.text_files import (
        DocumentKind as DocumentKind,
        DocumentPart as DocumentPart,
        DocumentSource as DocumentSource,
        errors_in_file as errors_in_file,
        read_text as read_text,
    )
    from steersman.api.tolerations import (
        NO_EXECUTE as NO_EXECUTE,
        NO_SCHEDULE as NO_SCHEDULE,
        PREFER_NO_SCHEDULE as PREFER_NO_SCHEDULE,
        find_untolerated_taint as find_untolerated_taint,
        tolerates as tolerates,
    )
    from steersman.api.unknown_fields import UnknownField as UnknownField, find_unknown_fields as find_unknown_fields
    from steersman.api.volume import (
        ISCSI as ISCSI,
        NFS as NFS,
        RBD as RBD,
        AWSElasticBlockStore as AWSElasticBlockStore,
        AzureDisk as AzureDisk,
        AzureFile as AzureFile,
        Cinder as Cinder,
        CSIPersistentVolumeSource as CSIPersistentVolumeSource,
        CSIVolumeSource as CSIVolumeSource,
        EmptyDir as EmptyDir,
        EphemeralVolumeSource as EphemeralVolumeSource,
        GCEPersistentDisk as GCEPersistentDisk,
        HostPath as HostPath,
        ImageVolumeSource as ImageVolumeSource,
        LocalVolume as LocalVolume,
        PersistentVolumeClaimSpec as PersistentVolumeClaimSpec,
        PersistentVolumeClaimTemplate as PersistentVolumeClaimTemplate,
        PersistentVolumeClaimVolumeSource as PersistentVolumeClaimVolumeSource,
        PortworxVolume as PortworxVolume,
        TypedLocalObjectReference as TypedLocalObjectReference,
        Volume as Volume,
        VolumeResourceRequirements as VolumeResourceRequirements,
        VsphereVolume as VsphereVolume,
    )
    from steersman.api.volume_matching import (
        VolumeChoice as VolumeChoice,
        offered_storage as offered_storage,
        requested_size as requested_size,
        requested_storage as requested_storage,
    )
    from steersman.api.wellknown import (
        BETA_REGION_LABEL as BETA_REGION_LABEL,
        BETA_ZONE_LABEL as BETA_ZONE_LABEL,
        DEFAULT_NAMESPACE as DEFAULT_NAMESPACE,
        DEFAULT_SCHEDULER_NAME as DEFAULT_SCHEDULER_NAME,
        EVENT_NORMAL as EVENT_NORMAL,
        EVENT_WARNING as EVENT_WARNING,
        FINISHED_PHASES as FINISHED_PHASES,
        HOSTNAME_LABEL as HOSTNAME_LABEL,
        POD_SCHEDULED as POD_SCHEDULED,
        REGION_LABEL as REGION_LABEL,
        ZONE_LABEL as ZONE_LABEL,
    )
    from steersman.api.workload import (
        ClaimRetentionPolicy as ClaimRetentionPolicy,
        ControllerRevision as ControllerRevision,
        DaemonSet as DaemonSet,
        DaemonSetSpec as DaemonSetSpec,
        DaemonSetStatus as DaemonSetStatus,
        DaemonSetUpdateStrategy as DaemonSetUpdateStrategy,
        Deployment as Deployment,
        DeploymentCondition as DeploymentCondition,
        DeploymentSpec as DeploymentSpec,
        DeploymentStatus as DeploymentStatus,
        DeploymentStrategy as DeploymentStrategy,
        IntOrPercent as IntOrPercent,
        ReplicaSet as ReplicaSet,
        ReplicaSetSpec as ReplicaSetSpec,
        ReplicaSetStatus as ReplicaSetStatus,
        ReplicationController as ReplicationController,
        ReplicationControllerSpec as ReplicationControllerSpec,
        RollingUpdateDaemonSet as RollingUpdateDaemonSet,
        RollingUpdateDeployment as RollingUpdateDeployment,
        RollingUpdateStatefulSetStrategy as RollingUpdateStatefulSetStrategy,
        Service as Service,
        ServiceSpec as ServiceSpec,
        StatefulSet as StatefulSet,
        StatefulSetOrdinals as StatefulSetOrdinals,
        StatefulSetSpec as StatefulSetSpec,
        StatefulSetStatus as StatefulSetStatus,
        StatefulSetUpdateStrategy as StatefulSetUpdateStrategy,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "autoscaling": (
                "CrossVersionObjectReference HorizontalPodAutoscaler "
                "HorizontalPodAutoscalerSpec HorizontalPodAutoscalerStatus MetricIdentifier "
                "MetricSource MetricSourceStatus MetricSpec MetricStatus MetricTarget "
                "MetricValueStatus ScalingBehavior ScalingPolicy ScalingRules"
            ),
            "batch": (
                "CronJob CronJobSpec CronJobStatus Job JobCondition JobSpec JobStatus "
                "JobTemplateSpec OnExitCodes OnPodCondition PodFailurePolicy PodFailurePolicyRule "
                "SuccessPolicy SuccessPolicyRule UncountedTerminatedPods"
            ),
            "cron_schedule": "CronSchedule is_known_zone parse_schedule",
            "csi_migration": (
                "InTreePlugin MIGRATED_PLUGINS inline_handle is_migrated_on "
                "persistent_handle plugin_named plugin_of translated"
            ),
            "csi_topology": "ZONE_DELIMITER",
            "custom": "CustomObject custom_kind",
            "device": (
                "CapacityRequestPolicy CapacityRequestPolicyRange Counter CounterSet Device "
                "DeviceAttribute DeviceCapacity DeviceClass DeviceClassConfiguration "
                "DeviceClassSpec DeviceCounterConsumption DeviceTaint DeviceTaintRule "
                "NodeAllocatableResourceMapping ResourcePool ResourceSlice ResourceSliceSpec"
            ),
            "document_fields": "convert_document similar",
            "documents": "Found SourcePlace find_objects",
            "field_errors": "aggregate child",
            "go_durations": "Duration DurationError SECOND",
            "go_text": "go_list quote",
            "go_values": "as_go_writes",
            "json_paths": "compile_path find_values",
            "json_values": ("Document TOO_DEEP elements fields_in_order group_kind is_same json_type merge_patch part"),
            "kinds": "KINDS",
            "label_syntax": "key_errors value_errors",
            "lenient": "readable_part",
            "limits": (
                "LimitRange LimitRangeItem LimitRangeSpec ResourceQuota ResourceQuotaSpec "
                "ResourceQuotaStatus RuntimeClass RuntimeClassOverhead RuntimeClassScheduling "
                "ScopeSelector ScopedSelectorRequirement"
            ),
            "manifest_folders": "Renderer renderer_of",
            "manifests": "decompressed find_all",
            "meta": (
                "Condition Int32 Int64 LabelSelector LabelSelectorRequirement Object "
                "ObjectMeta ObjectReference OwnerReference Quantity ResourceList Struct key "
                "kind_of reference_to version_number"
            ),
            "node": (
                "AttachedVolume ContainerImage Namespace NamespaceSpec NamespaceStatus Node "
                "NodeAddress NodeSpec NodeStatus"
            ),
            "node_selectors": (
                "AnyTerm FieldRequirement NAME_FIELD PreferredTerms RequiredNodeAffinity Term lazy required strict"
            ),
            "object_check": "ObjectCheck UNKNOWN Validation",
            "persistent_volumes": (
                "BIND_COMPLETED BOUND_BY_CONTROLLER ClaimUse NO_PROVISIONER "
                "READ_WRITE_ONCE_POD SELECTED_NODE STORAGE WAIT_FOR_FIRST_CONSUMER admits_node "
                "annotated bound_to claim_uses class_of_claim class_of_volume "
                "ephemeral_claim_name is_bound_to is_fully_bound node_selector_of not_made_for "
                "why_not_admitted"
            ),
            "pod": (
                "Container ContainerExtendedResourceRequest ContainerPort "
                "ContainerResizePolicy ContainerResourceClaim ContainerRestartRule ContainerState "
                "ContainerStateTerminated ContainerStatus NodeAllocatableResourceClaimStatus Pod "
                "PodExtendedResourceClaimStatus PodOS PodReadinessGate PodResourceClaim "
                "PodResourceClaimStatus PodSchedulingGate PodSchedulingGroup PodSpec PodStatus "
                "PodTemplateSpec ResourceRequirements"
            ),
            "pod_groups": (
                "AllDisruptionMode AnyPodGroup BasicSchedulingPolicy CompositeGangSchedulingPolicy "
                "CompositePodGroup CompositePodGroupSchedulingPolicy CompositePodGroupSpec "
                "CompositePodGroupStatus CompositePodGroupTemplate DisruptionMode "
                "GangSchedulingPolicy INITIALLY_SCHEDULED PodGroup PodGroupResourceClaimStatus "
                "PodGroupSchedulingConstraints PodGroupSchedulingPolicy PodGroupSpec PodGroupStatus "
                "PodGroupTemplate SingleDisruptionMode TopologyConstraint Workload WorkloadReference "
                "WorkloadSpec group_priority is_disrupted_as_one topology_key"
            ),
            "policy": ("PodDisruptionBudget PodDisruptionBudgetSpec PodDisruptionBudgetStatus PriorityClass"),
            "quantity": "Amount Format MAX_INT64 MILLI NANO canonical memoised parse value_of",
            "quantity_fields": "check_readable",
            "resource_claim": (
                "AllocatedDeviceStatus AllocationResult CELDeviceSelector "
                "CapacityRequirements DeviceAllocationConfiguration DeviceAllocationResult "
                "DeviceClaim DeviceClaimConfiguration DeviceConstraint DeviceRequest "
                "DeviceRequestAllocationResult DeviceSelector DeviceSubRequest DeviceToleration "
                "ExactDeviceRequest OpaqueDeviceConfiguration ResourceClaim "
                "ResourceClaimConsumerReference ResourceClaimSpec ResourceClaimStatus "
                "ResourceClaimTemplate ResourceClaimTemplateSpec"
            ),
            "scheduling": (
                "Affinity NodeAffinity NodeSelector NodeSelectorRequirement "
                "NodeSelectorTerm PodAffinity PodAffinityTerm PodAntiAffinity "
                "PreferredSchedulingTerm Taint Toleration TopologySpreadConstraint "
                "WeightedPodAffinityTerm"
            ),
            "schemas": "FieldSchema OBJECT_META REFERENCE definition_names definitions schema_of",
            "selector_text": "SelectorSyntaxError label_selector parse_label_selector",
            "selectors": (
                "EVERYTHING FEW_REQUIREMENTS NOTHING Operator Requirement Selector "
                "SelectorSum from_label_selector from_labels parse_int64 requirement"
            ),
            "storage": (
                "CSIDriver CSIDriverSpec CSINode CSINodeDriver CSINodeSpec "
                "CSIStorageCapacity PersistentVolume PersistentVolumeClaim "
                "PersistentVolumeClaimStatus PersistentVolumeSpec PersistentVolumeStatus "
                "StorageClass TopologySelectorLabelRequirement TopologySelectorTerm "
                "VolumeAttachment VolumeAttachmentSource VolumeAttachmentSpec "
                "VolumeAttachmentStatus VolumeNodeAffinity VolumeNodeResources"
            ),
            "strict_decoding": "Decoded DecodingError FieldValidation unhandled",
            "text_files": "DocumentKind DocumentPart DocumentSource errors_in_file read_text",
            "tolerations": ("NO_EXECUTE NO_SCHEDULE PREFER_NO_SCHEDULE find_untolerated_taint tolerates"),
            "unknown_fields": "UnknownField find_unknown_fields",
            "volume": (
                "AWSElasticBlockStore AzureDisk AzureFile CSIPersistentVolumeSource "
                "CSIVolumeSource Cinder EmptyDir EphemeralVolumeSource GCEPersistentDisk HostPath "
                "ISCSI ImageVolumeSource LocalVolume NFS PersistentVolumeClaimSpec "
                "PersistentVolumeClaimTemplate PersistentVolumeClaimVolumeSource PortworxVolume "
                "RBD TypedLocalObjectReference Volume VolumeResourceRequirements VsphereVolume"
            ),
            "volume_matching": "VolumeChoice offered_storage requested_size requested_storage",
            "wellknown": (
                "BETA_REGION_LABEL BETA_ZONE_LABEL DEFAULT_NAMESPACE "
                "DEFAULT_SCHEDULER_NAME EVENT_NORMAL EVENT_WARNING FINISHED_PHASES HOSTNAME_LABEL "
                "POD_SCHEDULED REGION_LABEL ZONE_LABEL"
            ),
            "workload": (
                "ClaimRetentionPolicy ControllerRevision DaemonSet DaemonSetSpec "
                "DaemonSetStatus DaemonSetUpdateStrategy Deployment DeploymentCondition "
                "DeploymentSpec DeploymentStatus DeploymentStrategy IntOrPercent ReplicaSet "
                "ReplicaSetSpec ReplicaSetStatus ReplicationController ReplicationControllerSpec "
                "RollingUpdateDaemonSet RollingUpdateDeployment RollingUpdateStatefulSetStrategy "
                "Service ServiceSpec StatefulSet StatefulSetOrdinals StatefulSetSpec "
                "StatefulSetStatus StatefulSetUpdateStrategy"
            ),
        },
    )
