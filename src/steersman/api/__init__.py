# SPDX-License-Identifier: Apache-2.0
"""Kubernetes API objects as frozen Structs, and the API's own rules.

Lowest layer except for `errors`, `clock` and `rng`. `codec` and `manifests` decode JSON, YAML and
dumps to typed objects with Kubernetes' field names in snake_case. `quantity`, `selectors`,
`node_selectors`, `tolerations` and `timestamps` have the rules of single fields and are imported as
modules (`from steersman.api import quantity`).
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "autoscaling": (
            "CrossVersionObjectReference HorizontalPodAutoscaler HorizontalPodAutoscalerSpec "
            "HorizontalPodAutoscalerStatus MetricIdentifier MetricSource MetricSourceStatus "
            "MetricSpec MetricStatus MetricTarget MetricValueStatus ScalingBehavior "
            "ScalingPolicy ScalingRules"
        ),
        "batch": (
            "CronJob CronJobSpec CronJobStatus Job JobCondition JobSpec JobStatus "
            "JobTemplateSpec OnExitCodes OnPodCondition PodFailurePolicy PodFailurePolicyRule "
            "SuccessPolicy SuccessPolicyRule UncountedTerminatedPods"
        ),
        "cron_schedule": "CronSchedule is_known_zone parse_schedule",
        "csi_migration": (
            "InTreePlugin MIGRATED_PLUGINS inline_handle is_migrated_on persistent_handle "
            "plugin_named plugin_of translated"
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
        "json_values": (
            "Document TOO_DEEP create_merge_patch elements fields_in_order group_kind is_same json_type merge_patch part"
        ),
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
            "Condition Int32 Int64 IntOrPercent LabelSelector LabelSelectorRequirement Object ObjectMeta "
            "ObjectReference OwnerReference Quantity ResourceList Struct key kind_of "
            "reference_to version_number"
        ),
        "node": (
            "AttachedVolume ContainerImage Namespace NamespaceSpec NamespaceStatus Node NodeAddress NodeSpec NodeStatus"
        ),
        "node_selectors": (
            "AnyTerm FieldRequirement NAME_FIELD PreferredTerms RequiredNodeAffinity Term lazy required strict"
        ),
        "object_check": "ObjectCheck UNKNOWN Validation",
        "persistent_volumes": (
            "BIND_COMPLETED BOUND_BY_CONTROLLER ClaimUse NO_PROVISIONER READ_WRITE_ONCE_POD "
            "SELECTED_NODE STORAGE WAIT_FOR_FIRST_CONSUMER admits_node annotated bound_to "
            "claim_uses class_of_claim class_of_volume ephemeral_claim_name is_bound_to "
            "is_fully_bound node_selector_of not_made_for why_not_admitted"
        ),
        "pod": (
            "Container ContainerExtendedResourceRequest ContainerPort ContainerResizePolicy "
            "ContainerResourceClaim ContainerRestartRule ContainerState "
            "ContainerStateTerminated ContainerStatus NodeAllocatableResourceClaimStatus Pod "
            "PodExtendedResourceClaimStatus PodOS PodReadinessGate PodResourceClaim "
            "PodResourceClaimStatus PodSchedulingGate PodSchedulingGroup PodSpec PodStatus "
            "PodTemplateSpec ResourceRequirements"
        ),
        "pod_groups": (
            "AllDisruptionMode BasicSchedulingPolicy "
            "CompositeGangSchedulingPolicy CompositePodGroup "
            "CompositePodGroupSchedulingPolicy CompositePodGroupSpec CompositePodGroupStatus "
            "CompositePodGroupTemplate DisruptionMode GangSchedulingPolicy "
            "PodGroup PodGroupResourceClaimStatus "
            "PodGroupSchedulingConstraints PodGroupSchedulingPolicy PodGroupSpec "
            "PodGroupStatus PodGroupTemplate SingleDisruptionMode TopologyConstraint Workload "
            "WorkloadReference WorkloadSpec"
        ),
        "pod_group_rules": "AnyPodGroup INITIALLY_SCHEDULED group_priority is_disrupted_as_one topology_key",
        "policy": "PodDisruptionBudget PodDisruptionBudgetSpec PodDisruptionBudgetStatus PriorityClass",
        "quantity": "Amount Format MAX_INT64 MILLI NANO canonical memoised parse value_of",
        "quantity_fields": "check_readable",
        "resource_claim": (
            "AllocatedDeviceStatus AllocationResult CELDeviceSelector CapacityRequirements "
            "DeviceAllocationConfiguration DeviceAllocationResult DeviceClaim "
            "DeviceClaimConfiguration DeviceConstraint DeviceRequest "
            "DeviceRequestAllocationResult DeviceSelector DeviceSubRequest DeviceToleration "
            "ExactDeviceRequest OpaqueDeviceConfiguration ResourceClaim "
            "ResourceClaimConsumerReference ResourceClaimSpec ResourceClaimStatus "
            "ResourceClaimTemplate ResourceClaimTemplateSpec"
        ),
        "scheduling": (
            "Affinity NodeAffinity NodeSelector NodeSelectorRequirement NodeSelectorTerm "
            "PodAffinity PodAffinityTerm PodAntiAffinity PreferredSchedulingTerm Taint "
            "Toleration TopologySpreadConstraint WeightedPodAffinityTerm"
        ),
        "schemas": "FieldSchema OBJECT_META REFERENCE definition_names definitions schema_of",
        "selector_text": "SelectorSyntaxError label_selector parse_label_selector",
        "selectors": (
            "EVERYTHING MAX_SEPARATE_REQUIREMENTS NOTHING Operator Requirement Selector SelectorSum "
            "from_label_selector from_labels parse_int64 requirement"
        ),
        "storage": (
            "CSIDriver CSIDriverSpec CSINode CSINodeDriver CSINodeSpec CSIStorageCapacity "
            "PersistentVolume PersistentVolumeClaim PersistentVolumeClaimStatus "
            "PersistentVolumeSpec PersistentVolumeStatus StorageClass "
            "TopologySelectorLabelRequirement TopologySelectorTerm VolumeAttachment "
            "VolumeAttachmentSource VolumeAttachmentSpec VolumeAttachmentStatus "
            "VolumeNodeAffinity VolumeNodeResources"
        ),
        "strict_decoding": "Decoded DecodingError FieldValidation unhandled",
        "text_files": "DocumentKind DocumentPart DocumentSource errors_in_file read_text",
        "tolerations": "NO_EXECUTE NO_SCHEDULE PREFER_NO_SCHEDULE find_untolerated_taint tolerates",
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
            "BETA_REGION_LABEL BETA_ZONE_LABEL DEFAULT_NAMESPACE DEFAULT_SCHEDULER_NAME "
            "EVENT_NORMAL EVENT_WARNING FINISHED_PHASES HOSTNAME_LABEL POD_SCHEDULED "
            "REGION_LABEL ZONE_LABEL"
        ),
        "workload": (
            "ClaimRetentionPolicy ControllerRevision DaemonSet DaemonSetSpec DaemonSetStatus "
            "DaemonSetUpdateStrategy Deployment DeploymentCondition DeploymentSpec "
            "DeploymentStatus DeploymentStrategy ReplicaSet ReplicaSetSpec "
            "ReplicaSetStatus ReplicationController ReplicationControllerSpec "
            "RollingUpdateDaemonSet RollingUpdateDeployment RollingUpdateStatefulSetStrategy "
            "Service ServiceSpec StatefulSet StatefulSetOrdinals StatefulSetSpec "
            "StatefulSetStatus StatefulSetUpdateStrategy"
        ),
    },
)
