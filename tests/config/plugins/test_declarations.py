# SPDX-License-Identifier: Apache-2.0
"""A declaration of an in-tree plugin is complete: nothing that a configuration needs is written down elsewhere."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import steersman.config
from steersman.config import ARGS_TYPES, DEFAULT_GATES, GATES, IN_TREE_PLUGINS, PluginArgs, args_document, plugins
from steersman.config.defaults import default_args


def test_a_plugin_is_declared_once() -> None:
    names = [plugin.name for plugin in IN_TREE_PLUGINS]
    assert len(set(names)) == len(names)


def test_every_feature_gate_of_a_declaration_exists() -> None:
    assert {plugin.gate for plugin in IN_TREE_PLUGINS} - {None} <= set(GATES)


def test_every_module_of_arguments_belongs_to_a_declared_plugin() -> None:
    for module in pkgutil.iter_modules(plugins.__path__, f"{plugins.__name__}."):
        importlib.import_module(module.name)
    undeclared = set(PluginArgs.__subclasses__()) - set(ARGS_TYPES.values())
    assert not undeclared, f"name them in steersman/config/plugins/in_tree.py: {undeclared}"


@pytest.mark.parametrize(("name", "args"), ARGS_TYPES.items(), ids=ARGS_TYPES)
class TestArguments:
    def test_the_type_is_named_after_its_plugin(self, name: str, args: type[PluginArgs]) -> None:
        assert args.__name__ == f"{name}Args"

    def test_every_argument_has_a_name_in_documents(self, name: str, args: type[PluginArgs]) -> None:
        spelled = {field.attribute for field in args.document_fields.values()}
        assert spelled == set(args.__struct_fields__), f"complete {args.__name__}.document_fields"

    def test_the_type_is_public(self, name: str, args: type[PluginArgs]) -> None:
        assert args.__name__ in steersman.config.__all__, f"export {args.__name__} from steersman/config/__init__.py"

    def test_defaults_are_valid(self, name: str, args: type[PluginArgs]) -> None:
        default = default_args(name, DEFAULT_GATES)
        assert isinstance(default, args)
        assert default.errors("", DEFAULT_GATES) == []

    def test_defaults_are_printed_with_kind(self, name: str, args: type[PluginArgs]) -> None:
        document = args_document(args())
        assert isinstance(document, dict)
        assert document["kind"] == args.__name__
