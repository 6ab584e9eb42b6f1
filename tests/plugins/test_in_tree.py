# SPDX-License-Identifier: Apache-2.0
"""The classes of the in-tree plugins are those that the configuration declares, with the same points and arguments."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import get_type_hints

import pytest

from steersman.config import ExtensionPoint, InTreePlugin, in_tree_plugins
from steersman.config.deviations import REFUSED
from steersman.config.versions import SUPPORTED_VERSIONS
from steersman.scheduler.assembly.registry import default_registry
from steersman.scheduler.plugins import node_affinity, node_resources
from steersman.scheduler.plugins.in_tree import plugin_classes

REGISTRY = default_registry()
DECLARED = in_tree_plugins(SUPPORTED_VERSIONS[-1])
IMPLEMENTED = [plugin for plugin in DECLARED if plugin.name in REGISTRY]
#: Plugins whose PreFilter, which v1.37 declares, does nothing.
EMPTY_PRE_FILTERS = {"NodeName", "NodeUnschedulable", "TaintToleration"}


def test_every_plugin_class_is_declared() -> None:
    undeclared = set(REGISTRY) - {plugin.name for plugin in DECLARED}
    assert not undeclared, f"declare them in steersman/config/plugins/in_tree.py: {undeclared}"


def test_every_declared_plugin_has_a_class_unless_its_feature_gate_is_refused() -> None:
    missing = {plugin.name for plugin in DECLARED if plugin.name not in REGISTRY and plugin.gate not in REFUSED}
    assert not missing, f"no module of steersman/scheduler/plugins defines {missing}"


@pytest.mark.parametrize("plugin", IMPLEMENTED, ids=lambda plugin: plugin.name)
def test_a_class_implements_the_points_of_its_declaration(plugin: InTreePlugin) -> None:
    empty = {ExtensionPoint.PRE_FILTER} if plugin.name in EMPTY_PRE_FILTERS else set()
    assert REGISTRY.points_of(plugin.name) == plugin.points - empty


@pytest.mark.parametrize("plugin", IMPLEMENTED, ids=lambda plugin: plugin.name)
def test_a_constructor_takes_the_arguments_of_the_declaration(plugin: InTreePlugin) -> None:
    constructor = vars(REGISTRY.class_of(plugin.name)).get("__init__")
    hints = get_type_hints(constructor) if inspect.isfunction(constructor) else {}
    assert hints.get("args", type(None)) is (plugin.args or type(None))


def test_a_package_has_the_plugin_classes_that_its_modules_define() -> None:
    assert {found.name for found in plugin_classes(node_resources)} == {
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
    }


def test_a_plugin_class_that_a_module_imports_is_not_its_own() -> None:
    importing = ModuleType("steersman.scheduler.plugins.node")  # a prefix of the module that defines the class
    importing.NodeAffinity = node_affinity.NodeAffinity  # type: ignore[attr-defined]
    assert list(plugin_classes(importing)) == []
