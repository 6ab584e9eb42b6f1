# SPDX-License-Identifier: Apache-2.0
"""Every in-tree plugin that rejects nodes is in the tables about rejections: a missing row would be a silent fallback."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from steersman.config import IN_TREE_PLUGINS, ExtensionPoint
from steersman.config.deviations import REFUSED
from steersman.explain import fixes
from steersman.scheduler.diagnosis.cause import CauseCode, code_of_plugin
from steersman.scheduler.diagnosis.cluster_details import STATE_READERS
from steersman.scheduler.diagnosis.details import NODE_DETAILS

FILTERS = sorted(
    plugin.name for plugin in IN_TREE_PLUGINS if ExtensionPoint.FILTER in plugin.points and plugin.gate not in REFUSED
)
NO_DETAILS = {
    "NodeDeclaredFeatures": "its reason names the features",
    "NodeName": "its reason says all",
    "NodeResourcesFit": "a Verdict has the shortages as numbers",
    "NodeUnschedulable": "its reason says all",
}
NO_FIX = {
    "NodeDeclaredFeatures": "the features of a node change with its kubelet",
    "NodeName": "spec.nodeName of a pod cannot be changed",
}


def strings_of(folder: Path) -> set[str]:
    """Return the string literals in the modules of a package."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


FIXED = strings_of(Path(fixes.__file__).parent)


@pytest.mark.parametrize("plugin", FILTERS)
def test_a_plugin_that_rejects_nodes_has_a_code_of_its_cause(plugin: str) -> None:
    missing = f"add {plugin} to _BY_PLUGIN in steersman/scheduler/diagnosis/cause.py and to docs/explain.md"
    assert code_of_plugin(plugin) is not CauseCode.PLUGIN, missing


@pytest.mark.parametrize("plugin", FILTERS)
def test_a_plugin_that_rejects_nodes_says_more_or_has_a_reason_not_to(plugin: str) -> None:
    missing = f"add {plugin} to a table in steersman/scheduler/diagnosis (details, cluster_details, claim_details)"
    assert (plugin in NODE_DETAILS or plugin in STATE_READERS) is (plugin not in NO_DETAILS), missing


@pytest.mark.parametrize("plugin", FILTERS)
def test_a_plugin_that_rejects_nodes_has_a_fix_or_a_reason_for_none(plugin: str) -> None:
    missing = f"answer {plugin} in steersman/explain/fixes/proposals.py or moves.py"
    assert (plugin in FIXED) is (plugin not in NO_FIX), missing


@pytest.mark.parametrize("code", CauseCode)
def test_every_code_of_a_cause_is_documented(code: CauseCode) -> None:
    page = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    table = page.partition("## Reason codes")[2].partition("\n## ")[0]
    assert f"`{code}`" in table, f"add `{code}` to the reason codes in docs/explain.md"
