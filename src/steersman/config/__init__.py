# SPDX-License-Identifier: Apache-2.0
"""Scheduler configuration: `KubeSchedulerConfiguration` v1, feature gates, the legacy `Policy` API.

`load` reads a document in kube-scheduler's stages (decode, defaults, validate), `build` and
`effective_profiles` determine the plugins that run, `to_document` and `dump_yaml` print. `plugins`
declares the in-tree plugins and their arguments. Imports no layer above `api`.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.config.comparison import NOT_SET as NOT_SET, ConfigurationChange as ConfigurationChange, diff as diff
    from steersman.config.configuration import (
        API_VERSION as API_VERSION,
        CONFIGURATION_KIND as CONFIGURATION_KIND,
        ClientConnection as ClientConnection,
        Extender as Extender,
        ExtenderManagedResource as ExtenderManagedResource,
        ExtenderTLSConfig as ExtenderTLSConfig,
        ExtensionPoint as ExtensionPoint,
        KubeSchedulerProfile as KubeSchedulerProfile,
        LeaderElectionConfiguration as LeaderElectionConfiguration,
        PluginConfig as PluginConfig,
        PluginEntry as PluginEntry,
        Plugins as Plugins,
        PluginSet as PluginSet,
        SchedulerConfiguration as SchedulerConfiguration,
    )
    from steersman.config.deviations import refuse_unsupported as refuse_unsupported, without_effect as without_effect
    from steersman.config.documents import (
        SECRET_FIELDS as SECRET_FIELDS,
        args_document as args_document,
        default_configuration as default_configuration,
        dump_public_yaml as dump_public_yaml,
        dump_yaml as dump_yaml,
        load as load,
        load_unvalidated as load_unvalidated,
        public_document as public_document,
        to_document as to_document,
    )
    from steersman.config.effective_configuration import (
        EffectiveConfiguration as EffectiveConfiguration,
        EffectiveProfile as EffectiveProfile,
        build as build,
        check_disabled as check_disabled,
        effective_profiles as effective_profiles,
    )
    from steersman.config.errors import (
        ConfigError as ConfigError,
        ConfigProblem as ConfigProblem,
        ConfigStage as ConfigStage,
        DecodeKind as DecodeKind,
        invalid as invalid,
        required as required,
    )
    from steersman.config.extenders import (
        in_call_order as in_call_order,
        timeout as timeout,
        with_extender_resources as with_extender_resources,
    )
    from steersman.config.feature_gates import (
        DEFAULT_GATES as DEFAULT_GATES,
        GATES as GATES,
        FeatureGates as FeatureGates,
    )
    from steersman.config.plugins.arguments import PluginArgs as PluginArgs
    from steersman.config.plugins.default_preemption import DefaultPreemptionArgs as DefaultPreemptionArgs
    from steersman.config.plugins.dynamic_resources import DynamicResourcesArgs as DynamicResourcesArgs
    from steersman.config.plugins.in_tree import (
        ARGS_TYPES as ARGS_TYPES,
        IN_TREE_CAPABILITIES as IN_TREE_CAPABILITIES,
        IN_TREE_PLUGINS as IN_TREE_PLUGINS,
        Capabilities as Capabilities,
        InTreePlugin as InTreePlugin,
        default_multi_point as default_multi_point,
        in_tree_capabilities as in_tree_capabilities,
        in_tree_plugins as in_tree_plugins,
    )
    from steersman.config.plugins.inter_pod_affinity import InterPodAffinityArgs as InterPodAffinityArgs
    from steersman.config.plugins.node_affinity import NodeAffinityArgs as NodeAffinityArgs
    from steersman.config.plugins.node_resources import (
        NodeResourcesBalancedAllocationArgs as NodeResourcesBalancedAllocationArgs,
        NodeResourcesFitArgs as NodeResourcesFitArgs,
        RequestedToCapacityRatioParam as RequestedToCapacityRatioParam,
        ResourceSpec as ResourceSpec,
        ScoringStrategy as ScoringStrategy,
        ScoringStrategyType as ScoringStrategyType,
    )
    from steersman.config.plugins.pod_topology_spread import (
        DefaultingType as DefaultingType,
        PodTopologySpreadArgs as PodTopologySpreadArgs,
    )
    from steersman.config.plugins.utilization_shape import UtilizationShapePoint as UtilizationShapePoint
    from steersman.config.plugins.volume_binding import VolumeBindingArgs as VolumeBindingArgs
    from steersman.config.policy import PolicyConversion as PolicyConversion, convert_policy as convert_policy
    from steersman.config.validation import validate as validate
    from steersman.config.versions import (
        DEFAULT_VERSION as DEFAULT_VERSION,
        SUPPORTED_VERSIONS as SUPPORTED_VERSIONS,
        GateSpec as GateSpec,
        GateStage as GateStage,
        KubernetesVersion as KubernetesVersion,
        Rule as Rule,
        gates_of as gates_of,
        parse_version as parse_version,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "comparison": "ConfigurationChange NOT_SET diff",
            "configuration": (
                "API_VERSION CONFIGURATION_KIND ClientConnection Extender "
                "ExtenderManagedResource ExtenderTLSConfig ExtensionPoint KubeSchedulerProfile "
                "LeaderElectionConfiguration PluginConfig PluginEntry PluginSet Plugins "
                "SchedulerConfiguration"
            ),
            "deviations": "refuse_unsupported without_effect",
            "documents": (
                "SECRET_FIELDS args_document default_configuration dump_public_yaml "
                "dump_yaml load load_unvalidated public_document to_document"
            ),
            "effective_configuration": (
                "EffectiveConfiguration EffectiveProfile build check_disabled effective_profiles"
            ),
            "errors": "ConfigError ConfigProblem ConfigStage DecodeKind invalid required",
            "extenders": "in_call_order timeout with_extender_resources",
            "feature_gates": "DEFAULT_GATES FeatureGates GATES",
            "plugins.arguments": "PluginArgs",
            "plugins.default_preemption": "DefaultPreemptionArgs",
            "plugins.dynamic_resources": "DynamicResourcesArgs",
            "plugins.in_tree": (
                "ARGS_TYPES Capabilities IN_TREE_CAPABILITIES IN_TREE_PLUGINS "
                "InTreePlugin default_multi_point in_tree_capabilities in_tree_plugins"
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
