# SPDX-License-Identifier: Apache-2.0
"""Scheduler configuration: `KubeSchedulerConfiguration` v1, feature gates, the legacy `Policy` API.

`load` reads a document in kube-scheduler's stages (decode, defaults, validate), `build` and
`effective_profiles` determine the plugins that run, `to_document` and `dump_yaml` print. `plugins`
declares the in-tree plugins and their arguments. Imports no layer above `api`.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "comparison": "ConfigurationChange NOT_SET diff",
        "configuration": (
            "API_VERSION CONFIGURATION_KIND ClientConnection Extender ExtenderManagedResource "
            "ExtenderTLSConfig ExtensionPoint KubeSchedulerProfile "
            "LeaderElectionConfiguration PluginConfig PluginEntry PluginSet Plugins "
            "SchedulerConfiguration"
        ),
        "deviations": "refuse_unsupported without_effect",
        "documents": (
            "SECRET_FIELDS args_document default_configuration dump_public_yaml dump_yaml "
            "load load_unvalidated public_document to_document"
        ),
        "effective_configuration": "EffectiveConfiguration EffectiveProfile build check_disabled effective_profiles",
        "errors": "ConfigError ConfigProblem ConfigStage DecodeKind invalid required",
        "extenders": "in_call_order timeout with_extender_resources",
        "feature_gates": "DEFAULT_GATES FeatureGates GATES",
        "plugins.arguments": "PluginArgs",
        "plugins.default_preemption": "DefaultPreemptionArgs",
        "plugins.dynamic_resources": "DynamicResourcesArgs",
        "plugins.in_tree": (
            "ARGS_TYPES Capabilities IN_TREE_CAPABILITIES IN_TREE_PLUGINS InTreePlugin "
            "default_multi_point in_tree_capabilities in_tree_plugins"
        ),
        "plugins.inter_pod_affinity": "InterPodAffinityArgs",
        "plugins.node_affinity": "NodeAffinityArgs",
        "plugins.node_resources": (
            "NodeResourcesBalancedAllocationArgs NodeResourcesFitArgs "
            "RequestedToCapacityRatioParam ResourceSpec ScoringStrategy ScoringStrategyType"
        ),
        "plugins.pod_topology_spread": "DefaultingType PodTopologySpreadArgs",
        "plugins.utilization_shape": "UtilizationShapePoint",
        "plugins.volume_binding": "VolumeBindingArgs",
        "policy": "PolicyConversion convert_policy",
        "validation": "validate",
        "versions": (
            "DEFAULT_VERSION GateSpec GateStage KubernetesVersion Rule SUPPORTED_VERSIONS gates_of parse_version"
        ),
    },
)
