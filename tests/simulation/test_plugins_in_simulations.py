# SPDX-License-Identifier: Apache-2.0
"""Plugins from outside: files and classes run without being named, unless the configuration says something of them."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest
from tests.simulation.clusters import nodes, pods

from steersman.base.errors import InputError
from steersman.config import ConfigError, Extender, default_configuration
from steersman.framework import NodeInfo, PodInfo, ScorePlugin
from steersman.scheduler.runtime import PluginError, registry
from steersman.simulation import Simulation

CHEAP_NODES = """
from steersman.framework import ScorePlugin

class CheapNodes(ScorePlugin):
    name = "CheapNodes"

    def score(self, pod, node):
        return 100 if node.name == "n2" else 0
"""


class LikesN3(ScorePlugin):
    name = "LikesN3"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 100 if node.name == "n3" else 0


def config(tmp_path: Path, plugins: str) -> str:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles:\n- plugins: {plugins}\n",
        encoding="utf-8",
    )
    return str(file)


def test_a_file_with_a_plugin_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "cheap.py"
    file.write_text(CHEAP_NODES, encoding="utf-8")
    result = Simulation.load(nodes("n1", "n2", "n3"), pods(1), plugins=[file]).run()
    assert result.placements["default/pod-0"].node == "n2"
    scores = {score.plugin: score for score in result.explain("pod-0").node_explanation("n2").scores}
    assert (scores["CheapNodes"].weight, scores["CheapNodes"].weighted) == (1, 100)


def test_a_class_is_enough_too() -> None:
    result = Simulation.load(nodes("n1", "n2", "n3"), pods(1), plugins=[LikesN3]).run()
    assert result.placements["default/pod-0"].node == "n3"


def test_the_configuration_has_the_last_word(tmp_path: Path) -> None:
    weighted = config(tmp_path, "{score: {enabled: [{name: LikesN3, weight: 7}]}}")
    result = Simulation.load(nodes("n1", "n2", "n3"), pods(1), plugins=[LikesN3], config=weighted).run()
    scores = {score.plugin: score for score in result.explain("pod-0").node_explanation("n3").scores}
    assert scores["LikesN3"].weight == 7
    disabled = config(tmp_path, "{score: {disabled: [{name: LikesN3}]}}")
    result = Simulation.load(nodes("n1", "n2", "n3"), pods(1), plugins=[LikesN3], config=disabled).run()
    assert "LikesN3" not in {score.plugin for score in result.explain("pod-0").node_explanation("n3").scores}


def test_a_configuration_that_names_an_unknown_plugin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='"Ghost" does not exist'):
        Simulation.load(nodes("n1"), config=config(tmp_path, "{score: {enabled: [{name: Ghost}]}}"))


def test_a_name_that_is_taken_is_refused() -> None:
    class Impostor(ScorePlugin):
        name = "NodeName"

    with pytest.raises(PluginError, match='"NodeName" is taken'):
        Simulation.load(nodes("n1"), plugins=[Impostor])


def test_what_is_neither_file_nor_class_is_refused() -> None:
    with pytest.raises(InputError, match="neither a file nor a plugin class"):
        Simulation.load(nodes("n1"), plugins=[LikesN3()])  # type: ignore[list-item]


def test_a_plugin_of_an_installed_package_runs_only_if_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("LikesN3", f"{__name__}:LikesN3", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    unnamed = Simulation.load(nodes("n1", "n2"), pods(1)).run().explain("pod-0")
    assert "LikesN3" not in {score.plugin for score in unnamed.node_explanation("n1").scores}
    named = config(tmp_path, "{multiPoint: {enabled: [{name: LikesN3, weight: 2}]}}")
    explained = Simulation.load(nodes("n1", "n2"), pods(1), config=named).run().explain("pod-0")
    assert "LikesN3" in {score.plugin for score in explained.node_explanation("n1").scores}


def test_extenders_are_not_called_and_a_note_says_so() -> None:
    extender = Extender(url_prefix="http://127.0.0.1:1/", filter_verb="filter", weight=1)
    configured = msgspec.structs.replace(default_configuration(), extenders=(extender,))
    result = Simulation.load(nodes("n1"), pods(1), config=configured).run()
    assert result.summary.scheduled == 1
    assert result.notes == (
        "extenders are not called in a simulation: http://127.0.0.1:1/; --extenders and Simulation.load(extenders=True) call "
        "them",
    )


def test_gates_are_those_of_kube_scheduler() -> None:
    with pytest.raises(InputError, match="unrecognized feature gate: Ghost"):
        Simulation.load(nodes("n1"), gates={"Ghost": True})
