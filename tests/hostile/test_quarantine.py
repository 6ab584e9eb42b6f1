# SPDX-License-Identifier: Apache-2.0
"""Programming errors: the pod or object that trips one stands aside, the process and everybody else go on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import NODES, PODS, StubApiServer

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest, wait_until

ERRORS: Final = 'steersman_internal_errors_total{{where="{}"}}'

BROKEN_PERMIT: Final = """
from steersman.framework import Code, PermitPlugin, PermitResult, Status

class Broken(PermitPlugin):
    name = "Broken"

    def permit(self, pod, node):
        if "broken" in pod.labels:
            return PermitResult(Status(Code.WAIT), timeout_seconds="soon")
"""

BROKEN_BINDING: Final = """
from steersman.framework import PreBindPlugin

class Strange(Exception):
    def __str__(self):
        raise TypeError("cannot even be told")

class Broken(PreBindPlugin):
    name = "Broken"

    async def pre_bind(self, pod, node):
        if "broken" in pod.labels:
            raise Strange()
"""

BROKEN_INGEST: Final = '''
from steersman.framework import ScorePlugin
from steersman.scheduler.state.node_table import NodeTable

class Broken(ScorePlugin):
    """A programming error in the middle of a change of the columns."""
    name = "Broken"

    def score(self, pod, node):
        return 1

def breaking(name, is_broken):
    method = getattr(NodeTable, name)
    def call(self, *given):
        method(self, *given)
        if is_broken(*given):
            raise KeyError("columns are torn")
    setattr(NodeTable, name, call)

breaking("_apply_pod", lambda pod, row, sign: "broken" in pod.labels and sign > 0)
breaking("_write_node", lambda row, old, node, *rest: "broken" in node.metadata.labels)
'''


def plugin(folder: Path, text: str) -> list[str]:
    file = folder / "broken_plugin.py"
    file.write_text(text)
    return [f"--plugin={file}"]


@pytest.mark.parametrize("text", [BROKEN_PERMIT, BROKEN_BINDING])
def test_pods_that_break_a_cycle_fail_and_the_others_are_bound(tmp_path: Path, text: str) -> None:
    with (
        StubApiServer() as server,
        SteersmanProcess(with_nodes(server), tmp_path, flags=plugin(tmp_path, text)) as steersman,
    ):
        for index in range(10):
            server.put(PODS, manifest(make_pod(f"broken-{index}").req(cpu="100m").label("broken", "yes")))
        wait_until(
            lambda: all("PodScheduled" in server.conditions(f"default/broken-{index}") for index in range(10)),
            what="ten conditions",
        )
        condition = server.conditions("default/broken-0")["PodScheduled"]
        assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
        assert schedules_pods(server, "web")
        assert steersman.is_alive()
        assert set(server.bindings()) == {"default/web"}
        wait_until(lambda: steersman.metric('scheduler_cache_size{type="assumed_pods"}') == 0, what="nothing assumed")
        wait_until(
            lambda: (
                steersman.metric('scheduler_schedule_attempts_total{profile="default-scheduler",result="error"}') > 10
            ),
            what="that the pods are tried again",
        )


def test_objects_that_break_the_columns_are_set_aside(tmp_path: Path) -> None:
    with (
        StubApiServer() as server,
        SteersmanProcess(with_nodes(server), tmp_path, flags=plugin(tmp_path, BROKEN_INGEST)) as steersman,
    ):
        for index in range(10):
            server.put(PODS, manifest(make_pod(f"broken-{index}").req(cpu="7").label("broken", "yes").node("n0")))
            server.put(NODES, manifest(make_node(f"broken-{index}").capacity(cpu="8", pods="9").label("broken", "yes")))
        wait_until(lambda: steersman.metric('steersman_objects_set_aside{kind="Node"}') == 10, what="ten nodes")
        wait_until(lambda: steersman.metric('steersman_objects_set_aside{kind="Pod"}') == 10, what="ten pods")
        assert steersman.metric(ERRORS.format("ingest")) >= 20
        assert {schedules_pods(server, f"web-{index}") for index in range(4)} == {"n0", "n1"}
        text = steersman.get("/debug/cache")[1]
        assert "Pod default/broken-3" in text
        assert "columns are torn" in text
        assert "The cache agrees with the listers." in text
        assert "Traceback" in steersman.log_text()
        assert "Pod default/broken-3" in steersman.log_text()
        server.put(NODES, manifest(make_node("broken-0").capacity(cpu="8", pods="9")))
        wait_until(lambda: steersman.metric('steersman_objects_set_aside{kind="Node"}') == 9, what="a healed node")
