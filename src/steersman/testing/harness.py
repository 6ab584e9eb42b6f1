# SPDX-License-Identifier: Apache-2.0
"""A whole scheduler for tests: the real assembly on an embedded cluster, with a plugin enabled.

    harness = Harness(plugins=[CheapNodes], nodes=[make_node("a").label("price", "10"), …], args={"CheapNodes": {"most": 80}})
    assert harness.scores(make_pod("web"))["CheapNodes"] == {"a": 90, "b": 20}
    assert harness.place(make_pod("web")) == "a"

Time is virtual and advances when the scheduler is idle, or by `advance`; randomness is seeded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self, TypeAlias

import msgspec

from steersman import api, config
from steersman.base import ManualClock
from steersman.cluster.store import KubeAdmission, Pods, Store
from steersman.config import FeatureGates, KubeSchedulerProfile, PluginConfig, SchedulerConfiguration
from steersman.framework import Status
from steersman.scheduler.assembly import PluginSource, SchedulerOptions, register, with_enabled
from steersman.scheduler.cycle import Decision, Scheduled
from steersman.scheduler.engine import Evaluation
from steersman.simulation import REASON_GATED, Driver, PlacementReport, gather
from steersman.testing.building import Builder
from steersman.testing.nodes import NodeBuilder
from steersman.testing.pods import PodBuilder

AnyPod: TypeAlias = "api.Pod | PodBuilder"
AnyNode: TypeAlias = "api.Node | NodeBuilder"
AnyObject: TypeAlias = "api.Object | Builder[Any] | str | PathLike[str] | dict[str, Any]"
"""An object, a builder, a JSON object as a dict, or a file with manifests."""
AnyConfiguration: TypeAlias = "SchedulerConfiguration | Mapping[str, Any] | str | PathLike[str]"
"""A configuration, its document, or a file with one."""


_replace = msgspec.structs.replace


class NotPlacedError(AssertionError):
    """The pod has no node; the message is that of its condition."""


class Harness:
    """A scheduler with its plugins on an embedded cluster, for tests. `scheduler` and `cluster`
    give access to everything else."""

    def __init__(
        self,
        plugins: Sequence[PluginSource] = (),
        nodes: Iterable[AnyNode] = (),
        pods: Iterable[AnyPod] = (),
        objects: Iterable[AnyObject] = (),
        configuration: AnyConfiguration | None = None,
        seed: int = 0,
        args: Mapping[str, Mapping[str, Any]] | None = None,
        gates: Mapping[str, bool] | None = None,
        emulated_version: str = "",
    ) -> None:
        """`plugins` are classes or Python files, enabled in every profile unless the configuration
        mentions them; `args` are their arguments by name, as in `pluginConfig`, for every profile.
        `objects` may be of any kind, including those declared by the plugins. Raises `InputError`,
        `ConfigError` and `PluginError`."""
        registry, names = register(plugins)
        chosen = FeatureGates(gates, emulated_version)
        configured = _with_args(_configuration(configuration, chosen), args or {}, chosen)
        enabled = with_enabled(configured, names)
        clock = ManualClock()
        self.cluster = Store(clock, admission=KubeAdmission())
        self._driver = Driver(self.cluster, clock, seed, SchedulerOptions(enabled, chosen, registry))
        self.scheduler = self._driver.scheduler
        for obj in (*objects, *nodes, *pods):
            self.add(obj)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel bindings in progress; a test that leaves any should use the harness as a context
        manager."""
        self._driver.close()

    # -- changing the cluster
    # ----------------------------------------------------------------------------

    def add(self, obj: AnyObject) -> None:
        """Create or replace the object, or all objects of the file."""
        given = obj.obj() if isinstance(obj, Builder) else obj
        for found in gather([given], custom=self.scheduler.known_kinds, validate="lenient").objects:
            is_known = self.cluster.find(type(found.object), _stored_key(found.object)) is not None
            self.cluster.replace(found.object) if is_known else self.cluster.create(found.object)

    def delete(self, obj: api.Object | Builder[Any]) -> None:
        """Delete the object of this kind and name; a pod is removed immediately."""
        gone: api.Object = obj.obj() if isinstance(obj, Builder) else obj
        if isinstance(gone, api.Pod):
            Pods(self.cluster).delete(api.key(gone))
        else:
            self.cluster.delete(type(gone), api.key(gone))

    # -- scheduling
    # --------------------------------------------------------------------------------------

    def run(self) -> list[Decision]:
        """Schedule until nothing changes any more; virtual time advances as needed."""
        decisions: list[Decision] = []
        self._driver.run(on_decision=decisions.append)
        return decisions

    def advance(self, seconds: float) -> list[Decision]:
        """Schedule for this many seconds of virtual time: backoffs end, and unschedulable pods are
        retried."""
        decisions: list[Decision] = []
        self._driver.run(self._driver.now + seconds, decisions.append)
        return decisions

    def place(self, pod: AnyPod) -> str:
        """Add the pod, schedule, and return its node. Raises NotPlacedError with the message if it
        has none."""
        built = _built(pod)
        self.add(built)
        for decision in self.run():
            if isinstance(decision, Scheduled) and decision.pod.key == api.key(built):
                return decision.node
        raise NotPlacedError(self.message(built))

    def message(self, pod: AnyPod | str) -> str:
        """Return why the pod is pending: the message of its condition, or of the PreEnqueue plugin
        that gates it; "" if no attempt has failed. The pod may be given by name: `web` or
        `shop/web`."""
        key = pod if isinstance(pod, str) else api.key(_built(pod))
        stored = self.cluster.get(api.Pod, key if "/" in key else f"{api.DEFAULT_NAMESPACE}/{key}")
        placement = PlacementReport(self.scheduler, self._driver.writer, self._driver.pod_times, ()).placement(stored)
        if placement is not None and placement.reason == REASON_GATED:
            return placement.message
        condition = next((c for c in stored.status.conditions if c.type == api.POD_SCHEDULED), None)
        return condition.message if condition is not None else ""

    def refresh(self) -> None:
        """Refresh background plugins (`BackgroundPlugin`), as the first `run` does."""
        self.scheduler.background.refresh_now()

    # -- evaluating without scheduling
    # -------------------------------------------------------------------

    def evaluate(self, pod: AnyPod) -> Evaluation:
        """Evaluate the pod against all nodes without changing anything."""
        self._driver.refresh_plugins_once()
        info = self.scheduler.cache.shapes.info(_built(pod))
        return self.scheduler.cycle.evaluate(self.scheduler.profiles[info.scheduler_name], info)

    def rejections(self, pod: AnyPod) -> dict[str, Status]:
        """Return the infeasible nodes with the first rejection of each."""
        statuses = self.evaluate(pod).statuses()
        names = (node.metadata.name for node in self.cluster.objects(api.Node).values())
        return {name: status for name in names if (status := statuses.status_of(name)) is not None}

    def scores(self, pod: AnyPod) -> dict[str, dict[str, int]]:
        """Return scores by plugin and node, after normalisation and before weights; empty with
        fewer than two feasible nodes."""
        table = self.evaluate(pod).scores()
        if table is None:
            return {}
        return {p.name: dict(zip(table.nodes, p.normalised, strict=True)) for p in table.plugins}


def _built(pod: AnyPod) -> api.Pod:
    return pod.obj() if isinstance(pod, PodBuilder) else pod


def _stored_key(obj: api.Object) -> str:
    """Return the object with its effective namespace: the default one if it has none."""
    meta = obj.metadata
    return f"{meta.namespace or api.DEFAULT_NAMESPACE}/{meta.name}" if obj.NAMESPACED else meta.name


def _configuration(given: AnyConfiguration | None, gates: FeatureGates) -> SchedulerConfiguration:
    if given is None:
        return config.default_configuration(gates)
    if isinstance(given, SchedulerConfiguration):
        return given
    if isinstance(given, Mapping):
        document = {"apiVersion": config.API_VERSION, "kind": config.CONFIGURATION_KIND, **given}
        return config.load(json.dumps(document), "configuration", gates)
    return config.load(Path(given).read_text(encoding="utf-8"), fspath(given), gates)


def _with_args(
    configuration: SchedulerConfiguration, args: Mapping[str, Mapping[str, Any]], gates: FeatureGates
) -> SchedulerConfiguration:
    """Parse arguments like those of a file, so that arguments of in-tree plugins are validated and
    defaulted."""
    if not args:
        return configuration
    document = {"profiles": [{"pluginConfig": [{"name": name, "args": dict(given)} for name, given in args.items()]}]}
    decoded = _configuration(document, gates).profiles[0].plugin_config
    entries = tuple(entry for entry in decoded if entry.name in args)
    return _replace(
        configuration, profiles=tuple(_profile_with(profile, entries) for profile in configuration.profiles)
    )


def _profile_with(profile: KubeSchedulerProfile, entries: tuple[PluginConfig, ...]) -> KubeSchedulerProfile:
    names = {entry.name for entry in entries}
    others = (entry for entry in profile.plugin_config if entry.name not in names)
    return _replace(profile, plugin_config=(*others, *entries))
