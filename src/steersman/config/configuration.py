# SPDX-License-Identifier: Apache-2.0
"""The typed scheduler configuration: every default applied, names in snake_case.

Created by `documents` and `defaults`, checked by `validation`, expanded to the plugins that run by
`effective_configuration`. The types of plugin arguments are in `plugins`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

import msgspec

from steersman.api import DEFAULT_SCHEDULER_NAME, Duration
from steersman.config.document_tree import PlainValue
from steersman.config.versions import V1_36, KubernetesVersion

API_GROUP: Final = "kubescheduler.config.k8s.io"
API_VERSION: Final = f"{API_GROUP}/v1"
CONFIGURATION_KIND: Final = "KubeSchedulerConfiguration"
ALL_PLUGINS: Final = "*"
"""In a `disabled` list: all default plugins."""


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all configuration types: immutable, with keyword arguments."""


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
    POD_GROUP_POST_FILTER = "podGroupPostFilter"

    @property
    def interface(self) -> str:
        """The name of the Go interface in kube-scheduler's error messages: `PreFilterPlugin`."""
        return self.value[0].upper() + self.value[1:] + "Plugin"


def points_of(version: KubernetesVersion) -> tuple[ExtensionPoint, ...]:
    """Return the extension points of a version."""
    later = () if version > V1_36 else (ExtensionPoint.POD_GROUP_POST_FILTER,)
    return tuple(point for point in ExtensionPoint if point not in later)


class PluginEntry(ConfigStruct, frozen=True):
    """A plugin in a list; weight 0 means "not given"."""

    name: str = ""
    weight: int = 0


class PluginSet(ConfigStruct, frozen=True):
    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    """The plugins of a profile by extension point; `multi_point` covers all points of a plugin."""

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
    pod_group_post_filter: PluginSet = PluginSet()

    def plugins_at(self, point: ExtensionPoint) -> PluginSet:
        """Return the section of one extension point, as written and not expanded."""
        section = getattr(self, point.name.lower())
        assert isinstance(section, PluginSet)
        return section

    def enabled_names(self) -> set[str]:
        """Return all plugins that are enabled at any point."""
        sections = (self.multi_point, *(self.plugins_at(point) for point in ExtensionPoint))
        return {plugin.name for section in sections for plugin in section.enabled}


Args: TypeAlias = "ConfigStruct | PlainValue"
"""`PluginArgs` of an in-tree plugin, or the raw value for other plugins; `None` if not given."""

_ArgsT = TypeVar("_ArgsT")


class PluginConfig(ConfigStruct, frozen=True):
    name: str = ""
    args: Args = None


class KubeSchedulerProfile(ConfigStruct, frozen=True):
    """A scheduler name and its plugins, merged with the defaults, not expanded to points."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()

    def args(self, name: str, type_: type[_ArgsT]) -> _ArgsT:
        """Return the arguments of plugin `name`, by default those of `type_`."""
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
    """TLS settings of an extender. Data take precedence over the corresponding files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigStruct, frozen=True):
    """An HTTP service that takes part in scheduling at the points with a verb."""

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
    """A `KubeSchedulerConfiguration`. Invalid without profiles; `default_configuration` has one."""

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
