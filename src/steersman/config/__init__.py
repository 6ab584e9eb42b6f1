# SPDX-License-Identifier: Apache-2.0
"""Scheduler configuration: `KubeSchedulerConfiguration` v1 files, feature gates, and the legacy `Policy` API.

`load` turns a document into a typed configuration in kube-scheduler's stages (decode, defaults, validate), `build` and
`effective_profiles` say what runs with it, `to_document` and `dump_yaml` print it. Plugins and the runtime import the
argument types; nothing here imports from layers above `api`.
"""

from steersman.config.catalog import IN_TREE_CAPABILITIES, Capabilities, default_multi_point
from steersman.config.comparison import ConfigurationChange, diff
from steersman.config.configuration import (
    API_VERSION,
    CONFIGURATION_KIND,
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    ExtensionPoint,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginEntry,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
)
from steersman.config.deviations import refuse_unsupported, without_effect
from steersman.config.documents import (
    args_document,
    default_configuration,
    dump_public_yaml,
    dump_yaml,
    load,
    load_unvalidated,
    public_document,
    to_document,
)
from steersman.config.durations import Duration, DurationError
from steersman.config.effective_configuration import (
    EffectiveConfiguration,
    EffectiveProfile,
    build,
    check_disabled,
    effective_profiles,
)
from steersman.config.errors import ConfigError, ConfigProblem, ConfigStage, DecodeKind
from steersman.config.feature_gates import DEFAULT_GATES, GATES, FeatureGates
from steersman.config.plugin_args import (
    ARGS_TYPES,
    DefaultingType,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from steersman.config.policy import PolicyConversion, convert_policy
from steersman.config.validation import validate

__all__ = [
    "API_VERSION",
    "ARGS_TYPES",
    "CONFIGURATION_KIND",
    "DEFAULT_GATES",
    "DEFAULT_SCHEDULER_NAME",
    "GATES",
    "IN_TREE_CAPABILITIES",
    "Capabilities",
    "ClientConnection",
    "ConfigError",
    "ConfigProblem",
    "ConfigStage",
    "ConfigurationChange",
    "DecodeKind",
    "DefaultPreemptionArgs",
    "DefaultingType",
    "Duration",
    "DurationError",
    "DynamicResourcesArgs",
    "EffectiveConfiguration",
    "EffectiveProfile",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "ExtensionPoint",
    "FeatureGates",
    "InterPodAffinityArgs",
    "KubeSchedulerProfile",
    "LeaderElectionConfiguration",
    "NodeAffinityArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PluginArgs",
    "PluginConfig",
    "PluginEntry",
    "PluginSet",
    "Plugins",
    "PodTopologySpreadArgs",
    "PolicyConversion",
    "RequestedToCapacityRatioParam",
    "ResourceSpec",
    "SchedulerConfiguration",
    "ScoringStrategy",
    "ScoringStrategyType",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
    "args_document",
    "build",
    "check_disabled",
    "convert_policy",
    "default_configuration",
    "default_multi_point",
    "diff",
    "dump_public_yaml",
    "dump_yaml",
    "effective_profiles",
    "load",
    "load_unvalidated",
    "public_document",
    "refuse_unsupported",
    "to_document",
    "validate",
    "without_effect",
]
