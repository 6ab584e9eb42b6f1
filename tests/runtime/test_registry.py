# SPDX-License-Identifier: Apache-2.0
"""Plugins from the tree, from files and from packages, each under a name of its own."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.plugins.handles import FakeHandle

from steersman.config import ExtensionPoint
from steersman.framework.plugin import FilterPlugin, ScorePlugin
from steersman.scheduler.assembly import default_registry
from steersman.scheduler.plugins.in_tree import IN_TREE
from steersman.scheduler.runtime.capabilities import capabilities_of
from steersman.scheduler.runtime.faults import PluginError
from steersman.scheduler.runtime.registry import ENTRY_POINT_GROUP, Registry

CHEAP = """
from steersman.framework.plugin import FilterPlugin, ScorePlugin

class Cheap(ScorePlugin):
    name = "Cheap"
    def score(self, pod, node):
        return 1

class Near(FilterPlugin, ScorePlugin):
    name = "Near"
"""


class Plain(ScorePlugin):
    name = "Plain"


class Configured(FilterPlugin):
    name = "Configured"

    def __init__(self, args: object, handle: object) -> None:
        self.args = args
        self.handle = handle


class Picky(FilterPlugin):
    name = "Picky"

    def __init__(self, args: object, handle: object) -> None:
        raise ValueError("needs a threshold")


def file(folder: Path, text: str, name: str = "plugins.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def entry_point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, ENTRY_POINT_GROUP)


class TestNames:
    def test_the_plugins_of_the_tree_are_there(self) -> None:
        registry = default_registry()
        assert set(registry) == {*IN_TREE, "DefaultPreemption"}
        assert "NodeResourcesFit" in registry
        assert "Cheap" not in registry

    def test_a_name_is_taken_once(self) -> None:
        registry = default_registry()
        registry.add("Plain", Plain, "mine.py")
        with pytest.raises(PluginError, match=r'^other\.py: plugin name "Plain" is taken by mine\.py$'):
            registry.add("Plain", Plain, "other.py")

    def test_a_plugin_of_the_tree_cannot_be_replaced(self) -> None:
        with pytest.raises(PluginError, match='plugin name "NodePorts" is taken by steersman'):
            default_registry().add("NodePorts", Plain, "mine.py")

    def test_a_plugin_without_a_name_is_refused(self) -> None:
        with pytest.raises(
            PluginError, match=r"mine\.py: plugin class Plain has no name; set the class attribute `name`"
        ):
            default_registry().add("", Plain, "mine.py")


class TestFiles:
    def test_a_file_brings_every_plugin_class_that_it_defines(self, tmp_path: Path) -> None:
        registry = default_registry()
        assert registry.add_file(file(tmp_path, CHEAP)) == ["Cheap", "Near"]
        assert "Cheap" in registry
        assert registry.points_of("Near") == {"filter", "score"}

    def test_imported_classes_are_not_taken_for_plugins_of_the_file(self, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match="no plugin found; expected a class that derives from"):
            default_registry().add_file(file(tmp_path, "from steersman.framework.plugin import ScorePlugin"))

    def test_a_file_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match=r"missing\.py: does not exist"):
            default_registry().add_file(tmp_path / "missing.py")

    def test_a_file_that_is_not_python(self, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match=r"is not a Python file, whose name ends in \.py"):
            default_registry().add_file(file(tmp_path, CHEAP, "plugins.txt"))

    def test_a_module_that_is_missing_is_named_with_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match="install the package of no_such_package in the environment of Steersman"):
            default_registry().add_file(file(tmp_path, "import no_such_package.parts"))
        file(tmp_path, "", "rates.py")
        with pytest.raises(PluginError, match=f"set PYTHONPATH={tmp_path}$"):
            default_registry().add_file(file(tmp_path, "import rates"))

    def test_a_file_with_a_syntax_error(self, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match=r"plugins\.py: SyntaxError: "):
            default_registry().add_file(file(tmp_path, "class Cheap(:"))

    def test_a_file_that_raises_when_it_is_run(self, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match=r"plugins\.py: ZeroDivisionError: division by zero"):
            default_registry().add_file(file(tmp_path, "1 / 0"))

    def test_a_file_that_was_changed_within_a_second_is_read_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also where Python keeps byte code, which knows the second of the change and the size, and both are the same."""
        monkeypatch.setattr(sys, "dont_write_bytecode", False)
        for name in ("Cheap", "Quick"):
            changed = file(tmp_path, CHEAP.replace("Cheap", name))
            os.utime(changed, (1_700_000_000, 1_700_000_000))
            assert default_registry().add_file(changed) == [name, "Near"]
        assert list(tmp_path.iterdir()) == [changed]

    def test_two_files_with_one_plugin_name(self, tmp_path: Path) -> None:
        registry = default_registry()
        first = file(tmp_path, CHEAP, "first.py")
        registry.add_file(first)
        with pytest.raises(PluginError, match=f'second.py: plugin name "Cheap" is taken by {first}'):
            registry.add_file(file(tmp_path, CHEAP, "second.py"))

    def test_files_of_one_name_in_different_folders_do_not_mix(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        registry = default_registry()
        registry.add_file(file(tmp_path / "a", CHEAP))
        registry.add_file(file(tmp_path / "b", CHEAP.replace("Cheap", "Dear").replace("Near", "Far")))
        assert {"Cheap", "Near", "Dear", "Far"} <= set(registry)


class TestEntryPoints:
    def test_the_name_of_the_entry_point_is_the_name_of_the_plugin(self) -> None:
        registry = default_registry()
        registry.add_entry_points([entry_point("Renamed", "tests.runtime.test_registry:Plain")])
        assert type(registry.make("Renamed", None, FakeHandle())).__name__ == "Plain"

    def test_an_entry_point_that_cannot_be_loaded_is_named_when_it_is_requested(self) -> None:
        registry = default_registry()
        registry.add_entry_points([entry_point("Lost", "no.such.module:Plugin")])
        assert "Lost" in registry
        with pytest.raises(PluginError, match=r"entry point Lost = no\.such\.module:Plugin: ModuleNotFoundError"):
            registry.make("Lost", None, FakeHandle())

    def test_an_unrequested_entry_point_is_not_imported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(tmp_path))
        file(tmp_path, "raise SystemExit('imported')", "unwanted_package.py")
        registry = default_registry()
        registry.add_entry_points(
            [
                entry_point("Unwanted", "unwanted_package:Plugin"),
                entry_point("Renamed", "tests.runtime.test_registry:Plain"),
            ]
        )
        capabilities = capabilities_of(registry)
        assert {"Unwanted", "Renamed", "NodeName"} <= set(capabilities)
        assert capabilities["Renamed"] == {ExtensionPoint.SCORE}
        assert "unwanted_package" not in sys.modules

    def test_one_cannot_take_the_place_of_a_plugin_of_the_tree(self, caplog: pytest.LogCaptureFixture) -> None:
        registry = default_registry()
        registry.add_entry_points([entry_point("NodeName", "tests.runtime.test_registry:Plain")])
        assert type(registry.make("NodeName", None, FakeHandle())).__name__ == "NodeName"
        assert "entry point NodeName = tests.runtime.test_registry:Plain is skipped" in caplog.text

    def test_one_cannot_take_the_place_of_a_plugin_that_was_given(self) -> None:
        registry = default_registry()
        registry.add_entry_points([entry_point("Plain", "no.such.module:Plugin")])
        registry.add("Plain", Plain, "mine.py")
        assert isinstance(registry.make("Plain", None, FakeHandle()), Plain)

    def test_two_entry_points_of_one_name_are_an_error_when_requested(self) -> None:
        registry = default_registry()
        registry.add_entry_points([entry_point("Twice", "a:A"), entry_point("Twice", "b:B")])
        with pytest.raises(PluginError, match='plugin name "Twice" is offered more than once'):
            registry.make("Twice", None, FakeHandle())

    def test_packages_without_plugins_change_nothing(self) -> None:
        registry = default_registry()
        registry.add_entry_points()
        assert set(IN_TREE) <= set(registry)


class TestMaking:
    def test_a_plugin_without_a_constructor_gets_nothing(self) -> None:
        registry = Registry({})
        registry.add("Plain", Plain, "mine.py")
        assert isinstance(registry.make("Plain", {"ignored": 1}, FakeHandle()), Plain)

    def test_a_plugin_with_a_constructor_gets_arguments_and_handle(self) -> None:
        registry = Registry({})
        registry.add("Configured", Configured, "mine.py")
        handle = FakeHandle()
        plugin = registry.make("Configured", {"threshold": 3}, handle)
        assert isinstance(plugin, Configured)
        assert plugin.args == {"threshold": 3}
        assert plugin.handle is handle

    def test_every_profile_gets_an_instance_of_its_own(self) -> None:
        registry = Registry({"Plain": Plain})
        assert registry.make("Plain", None, FakeHandle()) is not registry.make("Plain", None, FakeHandle())

    def test_an_unknown_plugin_is_answered_with_the_known_ones(self) -> None:
        registry = Registry({"Plain": Plain, "Configured": Configured})
        with pytest.raises(PluginError, match='plugin "Plein" does not exist; known: Configured, Plain'):
            registry.make("Plein", None, FakeHandle())

    def test_a_constructor_that_raises_is_one_clear_line(self) -> None:
        registry = Registry({})
        registry.add("Picky", Picky, "mine.py")
        with pytest.raises(PluginError, match=r'mine\.py: initializing plugin "Picky": ValueError: needs a threshold'):
            registry.make("Picky", None, FakeHandle())

    def test_only_classes_have_extension_points(self) -> None:
        registry = Registry({})
        registry.add("Function", lambda: Plain(), "mine.py")
        with pytest.raises(PluginError, match=r'mine\.py: plugin "Function" is not a class'):
            registry.points_of("Function")
