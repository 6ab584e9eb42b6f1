# SPDX-License-Identifier: Apache-2.0
"""The scheduler configuration as the rest of the program sees it: every default applied, names in snake_case.

Made by `documents` and `defaults`, checked by `validation` and `args_validation`, expanded to what really runs by
`effective_configuration`. Arguments of in-tree plugins are handed to the plugins by the runtime; a Struct of arguments that
is made without any is the plugin's default configuration.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

import msgspec

from steersman.api import NodeAffinity, TopologySpreadConstraint
from steersman.config.document_tree import PlainValue
from steersman.config.durations import Duration

# -- arguments of in-tree plugins --------------------------------------------------------------------------------------

MAX_CUSTOM_PRIORITY_SCORE: Final = 10
"""The largest score in the shape of a utilization function."""


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all configuration types: immutable, fields by name."""


class UtilizationShapePoint(ConfigStruct, frozen=True):
    """A point of a piecewise linear function from utilization (0 to 100) to score (0 to 10)."""

    utilization: int = 0
    score: int = 0


class ResourceSpec(ConfigStruct, frozen=True):
    name: str = ""
    weight: int = 1


DEFAULT_RESOURCES: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class ScoringStrategyType(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class RequestedToCapacityRatioParam(ConfigStruct, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct, frozen=True):
    """How NodeResourcesFit scores. `type` is plain text until validation, which allows `ScoringStrategyType` only."""

    type: str = ScoringStrategyType.LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(ConfigStruct, frozen=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class DynamicResourcesArgs(ConfigStruct, frozen=True):
    """Arguments of DynamicResources. A timeout of `None` means that its feature is off; a `filter_timeout` of zero means no
    limit."""

    filter_timeout: Duration | None = Duration.from_seconds(10)
    binding_timeout: Duration | None = Duration.from_seconds(600)


class InterPodAffinityArgs(ConfigStruct, frozen=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigStruct, frozen=True):
    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(ConfigStruct, frozen=True):
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class NodeResourcesFitArgs(ConfigStruct, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = ScoringStrategy()


class DefaultingType(StrEnum):
    SYSTEM = "System"
    LIST = "List"


class PodTopologySpreadArgs(ConfigStruct, frozen=True):
    """Arguments of PodTopologySpread. `defaulting_type` is plain text until validation, which allows `DefaultingType` only."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = DefaultingType.SYSTEM


class VolumeBindingArgs(ConfigStruct, frozen=True):
    """Arguments of VolumeBinding. A `shape` may only be given (even an empty one) with storage capacity scoring."""

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


PluginArgs: TypeAlias = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

ARGS_TYPES: Final[dict[str, type[PluginArgs]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""Plugin name to the type of its arguments, for the plugins that have one."""


# -- the configuration -------------------------------------------------------------------------------------------------

API_GROUP: Final = "kubescheduler.config.k8s.io"
API_VERSION: Final = f"{API_GROUP}/v1"
CONFIGURATION_KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
ALL_PLUGINS: Final = "*"
"""In a `disabled` list: all default plugins."""


class ExtensionPoint(StrEnum):
    """A point of the scheduling framework, by the name of its section in `plugins`."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"

    @property
    def interface(self) -> str:
        """Name of the Go interface, part of kube-scheduler's error texts: `PreFilterPlugin`."""
        return self.value[0].upper() + self.value[1:] + "Plugin"


class PluginEntry(ConfigStruct, frozen=True):
    """A plugin in a list; weight 0 means "not given"."""

    name: str = ""
    weight: int = 0


class PluginSet(ConfigStruct, frozen=True):
    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    """The plugins of a profile by extension point; `multi_point` stands for every point that a plugin implements."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: ExtensionPoint) -> PluginSet:
        """The section of one extension point, as written and not expanded."""
        section = getattr(self, point.name.lower())
        assert isinstance(section, PluginSet)
        return section

    def enabled_names(self) -> set[str]:
        """Every plugin that is enabled anywhere."""
        sections = (self.multi_point, *(self.at(point) for point in ExtensionPoint))
        return {plugin.name for section in sections for plugin in section.enabled}


Args: TypeAlias = "PluginArgs | PlainValue"
"""Typed arguments of an in-tree plugin, or the document's own value for any other plugin; `None` when not given."""

_ArgsT = TypeVar("_ArgsT")


class PluginConfig(ConfigStruct, frozen=True):
    name: str = ""
    args: Args = None


class KubeSchedulerProfile(ConfigStruct, frozen=True):
    """A scheduler name with its plugins: merged with the default plugins, not yet expanded to extension points."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()

    def args(self, name: str, type_: type[_ArgsT]) -> _ArgsT:
        """The arguments of plugin `name`; its defaults if the profile has none for it."""
        for entry in self.plugin_config:
            if entry.name == name and isinstance(entry.args, type_):
                return entry.args
        return type_()


class LeaderElectionConfiguration(ConfigStruct, frozen=True):
    leader_elect: bool = True
    lease_duration: Duration = Duration.from_seconds(15)
    renew_deadline: Duration = Duration.from_seconds(10)
    retry_period: Duration = Duration.from_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(ConfigStruct, frozen=True):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: int = 100


class ExtenderManagedResource(ConfigStruct, frozen=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct, frozen=True):
    """TLS settings of an extender. Data take precedence over the file of the same purpose."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigStruct, frozen=True):
    """An HTTP service that takes part in scheduling; an empty verb means that it does not take part there."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration(0)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class SchedulerConfiguration(ConfigStruct, frozen=True):
    """A `KubeSchedulerConfiguration`. Without profiles it is invalid; `loader.default_configuration` has one."""

    parallelism: int = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: int | None = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
