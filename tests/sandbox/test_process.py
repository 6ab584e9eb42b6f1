# SPDX-License-Identifier: Apache-2.0
"""The command: what it writes and says, how it ends, and that a kill loses nothing that was acknowledged."""

from __future__ import annotations

import gzip
import resource
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from tests.cli.commands import refused
from tests.sandbox.sandbox_process import SandboxProcess

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
CLOCK = "/steersman/v1/clock"
WRITERS = 4
KILLED_AFTER = 120


def test_a_kill_in_a_burst_of_writes_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    acknowledged = list[tuple[str, str]]()
    enough = threading.Event()
    with SandboxProcess(tmp_path, *data) as sandbox:

        def burst(writer: int) -> None:
            for number in range(10_000):
                name = f"m-{writer}-{number}"
                try:
                    code, made = sandbox.request("POST", CONFIG_MAPS, {"metadata": {"name": name}})
                except OSError:
                    return
                assert code == 201
                acknowledged.append((name, made["metadata"]["resourceVersion"]))
                if len(acknowledged) >= KILLED_AFTER:
                    enough.set()

        threads = [threading.Thread(target=burst, args=(writer,)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        sandbox.kill()
        for thread in threads:
            thread.join()
    with SandboxProcess(tmp_path, *data) as sandbox:
        _, listed = sandbox.request("GET", CONFIG_MAPS)
        found = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]}
        assert {name: found.get(name) for name, _ in acknowledged} == dict(acknowledged)
        assert int(listed["metadata"]["resourceVersion"]) >= max(int(version) for _, version in acknowledged)
        code, made = sandbox.request("POST", CONFIG_MAPS, {"metadata": {"name": "after"}})
        assert code == 201
        assert int(made["metadata"]["resourceVersion"]) > max(map(int, found.values()))
        assert sandbox.end() == 0


def test_a_deployment_runs_and_the_command_ends_cleanly(tmp_path: Path) -> None:
    with SandboxProcess(tmp_path, "--nodes", "3") as sandbox:
        assert sandbox.kubeconfig.stat().st_mode & 0o777 == 0o600
        assert f"export KUBECONFIG={sandbox.kubeconfig}" in sandbox.output
        container = {"name": "c", "image": "nginx"}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
        spec = {"replicas": 6, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        code, _ = sandbox.request("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
        assert code == 201
        watch_until_available(sandbox, 6)
        _, pods = sandbox.request("GET", f"{PODS}?labelSelector=app%3Dweb")
        assert {pod["spec"]["nodeName"] for pod in pods["items"]} == {"node-0", "node-1", "node-2"}
        assert {pod["status"]["phase"] for pod in pods["items"]} == {"Running"}
        assert {pod["spec"]["serviceAccountName"] for pod in pods["items"]} == {"default"}
        assert {pod["spec"]["serviceAccount"] for pod in pods["items"]} == {"default"}
        _, events = sandbox.request("GET", "/api/v1/events?fieldSelector=reason%3DScheduled")
        assert len(events["items"]) == 6
        assert sandbox.end() == 0


def watch_until_available(sandbox: SandboxProcess, replicas: int) -> None:
    def is_available() -> bool:
        _, found = sandbox.request("GET", f"{DEPLOYMENTS}/web")
        return bool(found.get("status", {}).get("availableReplicas") == replicas)

    wait_for(is_available)


def test_time_is_paused_stepped_and_resumed(tmp_path: Path) -> None:
    with SandboxProcess(tmp_path, "--speed", "60x") as sandbox:
        _, clock = sandbox.request("GET", CLOCK)
        assert (clock["paused"], clock["speed"]) == (False, "60x")
        _, paused = sandbox.request("POST", CLOCK, {"paused": True})
        _, still = sandbox.request("GET", CLOCK)
        assert still["now"] == paused["now"]
        sandbox.request("POST", CLOCK, {"step": 3600})
        wait_for(lambda: not sandbox.request("GET", CLOCK)[1]["stepping"])
        _, later = sandbox.request("GET", CLOCK)
        assert later["now"] > paused["now"]
        assert later["paused"]
        code, status = sandbox.request("POST", CLOCK, {"stp": 1})
        assert code == 400
        assert "paused, step, speed" in status["message"]
        _, resumed = sandbox.request("POST", CLOCK, {"paused": False, "speed": "real"})
        assert (resumed["paused"], resumed["speed"]) == (False, "real")


def test_files_are_loaded_with_every_field(tmp_path: Path) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"deep": {"er": [1]}},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "box"}, "status": {"capacity": {"cpu": "2"}}}
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all([widget, crd, node]))
    with SandboxProcess(tmp_path, "-f", str(tmp_path / "objects.yaml")) as sandbox:
        assert sandbox.request("GET", "/apis/example.com/v1/widgets/w")[1]["spec"] == {"deep": {"er": [1]}}
        assert sandbox.request("GET", "/api/v1/nodes/box")[1]["status"]["capacity"] == {"cpu": "2"}


def test_a_folder_may_hold_other_files_and_misspelt_fields_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "values.yaml").write_text("replicas: 3\n")
    spec = {"containers": [{"name": "c", "image": "app"}], "tolerationss": []}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    (folder / "pod.yaml.gz").write_bytes(gzip.compress(yaml.safe_dump(pod).encode()))
    with SandboxProcess(tmp_path, "-f", str(folder)) as sandbox:
        assert sandbox.request("GET", f"{PODS}/a")[0] == 200
        assert "values.yaml is no manifest and was passed over" in sandbox.output
        assert 'spec.tolerationss: is not a field of this kind; did you mean "tolerations"?' in sandbox.output
        assert sandbox.end() == 0
    said = refused("sandbox", "--kubeconfig", tmp_path / "out", "-f", folder, "--strict")
    assert "spec.tolerationss" in said


def test_bad_input_ends_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\n")
    mine = tmp_path / "mine"
    mine.write_text("apiVersion: v1\nkind: Config\ncontexts: [{name: work}]\n")
    for arguments, words in (
        (("-f", str(tmp_path / "bad.yaml")), "add its CustomResourceDefinition"),
        (("--speed", "fast"), "is not a speed"),
        (("--node-template", str(tmp_path / "bad.yaml"), "--nodes", "1"), "does not hold one Node"),
        (("--kubeconfig", str(mine)), "would be overwritten"),
    ):
        assert words in refused("sandbox", "--kubeconfig", tmp_path / "out", *arguments)
    assert "work" in mine.read_text()


def test_a_cluster_on_disk_is_found_at_the_same_address_again(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    with SandboxProcess(tmp_path, *data) as first:
        assert first.end() == 0
    with SandboxProcess(tmp_path, *data) as second:
        assert second.url == first.url
        assert second.end() == 0
    with socket.create_server(("127.0.0.1", urlsplit(first.url).port or 0)), SandboxProcess(tmp_path, *data) as third:
        assert third.url != first.url
        assert third.request("GET", CONFIG_MAPS)[0] == 200


EXITS = """
from steersman.framework import FilterPlugin

class Exits(FilterPlugin):
    name = "Exits"

    def filter(self, pod, node):
        if pod.name == "bad":
            raise SystemExit(1)
        return True
"""


def wait_for(look: Callable[[], Any]) -> Any:
    """Return what `look` finds, once it finds something."""
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_a_plugin_that_exits_fails_its_pod_and_is_on_the_terminal_and_the_sandbox_goes_on(tmp_path: Path) -> None:
    plugin = tmp_path / "exits.py"
    plugin.write_text(EXITS)
    spec = {"containers": [{"name": "c", "image": "x"}]}
    with SandboxProcess(tmp_path, "--nodes", "1", "--plugin", str(plugin)) as sandbox:
        for name in ("bad", "good"):
            assert sandbox.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})[0] == 201
        conditions = wait_for(lambda: sandbox.request("GET", f"{PODS}/bad")[1]["status"].get("conditions"))
        assert "SystemExit: 1" in conditions[0]["message"]
        assert "exits.py, line 9, in filter)" in conditions[0]["message"]
        assert wait_for(lambda: sandbox.request("GET", f"{PODS}/good")[1]["spec"].get("nodeName")) == "node-0"
        assert "raised at Filter" in sandbox.output
        assert sandbox.end() == 0


def node_of(sandbox: SandboxProcess, path: str) -> Any:
    return sandbox.request("GET", path)[1]["spec"].get("nodeName")


SPAWNS = """
from steersman.framework import PostBindPlugin

class Spawns(PostBindPlugin):
    name = "Spawns"

    def __init__(self, args, handle):
        self._handle = handle

    def post_bind(self, state, pod, node_name):
        self._handle.spawn(self._notify())

    async def _notify(self):
        exit(3)
"""


def test_a_spawned_coroutine_that_exits_is_reported_and_the_sandbox_goes_on(tmp_path: Path) -> None:
    plugin = tmp_path / "spawns.py"
    plugin.write_text(SPAWNS)
    spec = {"containers": [{"name": "c", "image": "x"}]}
    with SandboxProcess(tmp_path, "--nodes", "1", "--plugin", str(plugin)) as sandbox:
        for name in ("first", "second"):
            assert sandbox.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})[0] == 201
        for path in (f"{PODS}/first", f"{PODS}/second"):
            assert wait_for(partial(node_of, sandbox, path)) == "node-0"
        assert wait_for(lambda: "SystemExit: 3" in sandbox.output)
        assert sandbox.end() == 0


def test_a_full_disk_is_said_on_the_terminal(tmp_path: Path) -> None:
    with SandboxProcess(tmp_path, "--data", str(tmp_path / "data")) as sandbox:
        # SQLite meets the limit of a file as it meets a full disk: a write fails.
        resource.prlimit(sandbox.process.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        body = {"data": {"x": "y" * 100_000}}
        codes = (sandbox.request("POST", CONFIG_MAPS, {"metadata": {"name": f"c{n}"}, **body})[0] for n in range(100))
        assert next(code for code in codes if code != 201) == 500
        assert sandbox.process.wait(timeout=60) != 0
        assert "cannot be written any more" in sandbox.output
        assert "make room on the disk and start it again" in sandbox.output
