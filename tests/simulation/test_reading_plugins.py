# SPDX-License-Identifier: Apache-2.0
"""Plugins that read what is not watched, in simulations and in the harness."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import yaml

from steersman import Simulation, api
from steersman.framework import (
    BackgroundPlugin,
    Code,
    EnqueueExtensions,
    FilterPlugin,
    Handle,
    NodeInfo,
    PermitHandle,
    PermitPlugin,
    PermitResult,
    PodInfo,
    PreBindPlugin,
    Status,
    unschedulable,
)
from steersman.testing import Harness, NotPlacedError, make_node, make_pod

MAPS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "open", "namespace": "default"},
    "data": {"nodes": "n1"},
}


class ConfigMap(api.Object, frozen=True):
    API_VERSION, KIND, PLURAL = "v1", "ConfigMap", "configmaps"

    data: dict[str, str] = {}


class OpenNodes(FilterPlugin, BackgroundPlugin):
    """Lets pods on nodes that a ConfigMap names."""

    name = "OpenNodes"
    reads = (ConfigMap,)

    def __init__(self, args: object, handle: Handle) -> None:
        self._client = handle.client
        self._open = ""

    async def refresh(self) -> bool:
        found = await self._client.get(ConfigMap, "open", "default")
        self._open = "" if found is None else found.data["nodes"]
        return True

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool | str:
        return node.name in self._open.split() or "closed"


class NeedsBudget(PreBindPlugin):
    """Binds pods for which there is a budget, by the words of a document."""

    name = "NeedsBudget"
    reads = (ConfigMap,)

    def __init__(self, args: object, handle: Handle) -> None:
        self._client = handle.client

    async def pre_bind(self, pod: PodInfo, node_name: str) -> Status | None:
        found = await self._client.get_document("v1", "ConfigMap", f"budget-{pod.name}", pod.namespace)
        return None if found is not None else unschedulable("there is no budget")


class AsksBesides(PermitPlugin, EnqueueExtensions):
    """Lets a pod wait, asks beside the cycle, and allows or rejects it; nothing that happens would change that."""

    name = "AsksBesides"
    reads = (ConfigMap,)

    def __init__(self, args: object, handle: PermitHandle) -> None:
        self._handle = handle

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        self._handle.spawn(self._settle(pod))
        return PermitResult(Status(Code.WAIT), timeout_seconds=30)

    async def _settle(self, pod: PodInfo) -> None:
        found = await self._handle.client.list(ConfigMap, pod.namespace, label_selector=f"pod={pod.name}")
        waiting = self._handle.pods.waiting(pod.uid)
        assert waiting is not None
        waiting.allow(self.name) if found else waiting.reject(self.name, "nobody has allowed it")


def config_map(name: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=api.ObjectMeta(name=name, namespace="default", labels=labels))


def test_a_simulation_loads_what_is_read_and_a_refresh_sees_it(tmp_path: Path) -> None:
    file = tmp_path / "open.yaml"
    file.write_text(yaml.safe_dump(MAPS))
    nodes = [make_node("n0").obj(), make_node("n1").obj()]
    result = Simulation.load(*nodes, make_pod("web").obj(), str(file), plugins=[OpenNodes]).run()
    assert result.placements["default/web"].node == "n1"


def test_the_harness_reads_its_objects_and_refreshes_on_request() -> None:
    harness = Harness(plugins=[OpenNodes], nodes=[make_node("n1")])
    with pytest.raises(NotPlacedError, match="1 closed"):
        harness.place(make_pod("web"))
    harness.add(MAPS)
    harness.refresh()
    harness.advance(10)
    assert harness.cluster.get(api.Pod, "default/web").spec.node_name == "n1"


def test_pre_bind_may_read() -> None:
    harness = Harness(plugins=[NeedsBudget], nodes=[make_node("n1")], objects=[config_map("budget-rich")])
    assert harness.place(make_pod("rich")) == "n1"
    harness.add(make_pod("poor"))
    harness.advance(0.5)
    assert harness.message(make_pod("poor")) == "there is no budget"


def test_permit_may_read_in_work_that_it_starts() -> None:
    with Harness(plugins=[AsksBesides], nodes=[make_node("n1")], objects=[config_map("yes", pod="web")]) as harness:
        assert harness.place(make_pod("web")) == "n1"
        harness.add(make_pod("stranger"))
        harness.advance(0.5)
        assert "1 nobody has allowed it" in harness.message(make_pod("stranger"))


class Undeclared(BackgroundPlugin):
    name = "Undeclared"

    def __init__(self, args: object, handle: Handle) -> None:
        self._client = handle.client

    async def refresh(self) -> None:
        await self._client.list(ConfigMap)


def test_a_kind_that_the_plugin_does_not_declare_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    harness = Harness(plugins=[type("Scored", (Undeclared, OpenNodes), {"name": "Scored", "reads": ()})])
    harness.refresh()
    assert caplog.messages == [
        'plugin "Scored" cannot refresh: the embedded cluster does not have ConfigMap of v1; name its class in `reads` of '
        "the plugin"
    ]
