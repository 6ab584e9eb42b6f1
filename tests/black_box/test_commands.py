# SPDX-License-Identifier: Apache-2.0
"""Commands that cannot do what they are asked for say so in a line, before they begin."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.black_box.command import steersman

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "examples" / "quickstart" / "cluster.yaml"

WAITS_FOR_NAMESPACES = """
from steersman.framework import ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, FilterPlugin

class Quiet(FilterPlugin, EnqueueExtensions):
    name = "Quiet"

    def filter(self, pod, node):
        return "quiet"

    def events_to_register(self):
        return [ClusterEventWithHint(ClusterEvent("v1/Namespace", ActionType.UPDATE))]
"""

#: An operating system that is no Unix: without Unix' modules, and with event loops that take no signals.
ELSEWHERE = """
import asyncio, os, shutil, subprocess, sys, tempfile
import click, numpy, rich.console
os.name = "elsewhere"
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios", "uvloop")))
def unsupported(*_):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = unsupported
"""


def test_an_event_that_never_comes_is_refused_with_the_name_of_the_plugin(tmp_path: Path) -> None:
    plugin = tmp_path / "quiet.py"
    plugin.write_text(WAITS_FOR_NAMESPACES)
    done = steersman("simulate", "-f", CLUSTER, "--plugin", plugin)
    assert done.returncode == 2
    assert 'plugin "Quiet"' in done.stderr
    assert 'there are no events of "v1/Namespace"; did you mean "Namespace"?' in done.stderr


@pytest.mark.parametrize(("command", "given"), [("run", ("--master", "http://127.0.0.1:1")), ("bench", (CLUSTER,))])
def test_commands_that_need_unix_say_so_elsewhere(command: str, given: tuple[object, ...]) -> None:
    done = steersman(command, *given, before=ELSEWHERE)
    assert done.returncode == 2
    assert f"steersman {command} needs Linux or macOS" in done.stderr
    assert "Traceback" not in done.stderr
