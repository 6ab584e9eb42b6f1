# SPDX-License-Identifier: Apache-2.0
"""`steersman plan … --kubeconfig`: a live cluster is read, and nothing is written to it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import refused, steersman
from tests.cli.files import write
from tests.cli.serving import serving
from tests.cli.test_explain import kubeconfig
from tests.cli.test_plan import WEB, WORKLOAD
from tests.client.api_server import SERVED_KINDS, ApiServer

from steersman import api
from steersman.api import codec
from steersman.api.yaml_documents import documents
from steersman.testing import make_node, make_pod


def a_cluster() -> ApiServer:
    """Two nodes, a Deployment with its budget, and three of its pods on the first node."""
    server = ApiServer()
    for name in ("n0", "n1"):
        server.store.create(make_node(name).capacity(cpu="4", memory="8Gi", pods="10").obj())
    for document in documents(WORKLOAD):
        server.store.create(
            codec.convert_object({**document, "metadata": {**document["metadata"], "namespace": "default"}})
        )
    server.store.create(make_pod("alone").req(cpu="1").node("n0").obj())
    return server


def test_a_live_cluster_is_only_read(tmp_path: Path) -> None:
    server = a_cluster()
    version = server.store.resource_version
    with serving(server) as address:
        file = kubeconfig(tmp_path, address)
        pod = write(tmp_path / "web.yaml", WEB)
        capacity = steersman("plan", "capacity", "--kubeconfig", file, "--pod", pod, "-o", "json")
        lost = steersman("plan", "lose", "n0", "--kubeconfig", file, "-o", "json")
        compacted = steersman("plan", "compact", "--kubeconfig", file, "--context", "here", "-o", "json")
    assert json.loads(capacity.stdout)["fits"] == 4
    assert json.loads(lost.stdout)["lost"] == {"default/alone": "not recreated: it has no controller"}
    assert json.loads(compacted.stdout)["kind"] == "Compaction"
    assert {request.split()[0] for request in server.requests} == {"GET"}
    assert server.store.resource_version == version


def test_workloads_of_a_live_cluster_recreate_their_pods(tmp_path: Path) -> None:
    with serving(a_cluster()) as address:
        lost = steersman("plan", "drain", "n0", "--kubeconfig", kubeconfig(tmp_path, address), "-o", "json")
    document = json.loads(lost.stdout)
    assert set(document["moved"].values()) | set(document["blocked"].values()) <= {"n1", "default/guard"}


def test_kinds_that_the_server_does_not_have_are_done_without(tmp_path: Path) -> None:
    server = ApiServer(kinds=[kind for kind in SERVED_KINDS if not kind.API_VERSION.startswith("resource.k8s.io")])
    server.store.create(make_node("n0").capacity(cpu="2", memory="8Gi", pods="10").obj())
    with serving(server) as address:
        pod = write(tmp_path / "web.yaml", WEB)
        result = steersman("plan", "capacity", "--kubeconfig", kubeconfig(tmp_path, address), "--pod", pod)
    assert result.stdout.splitlines()[-1].startswith("2 more pods fit")


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    pod = write(tmp_path / "web.yaml", WEB)
    line = refused("plan", "capacity", "--kubeconfig", kubeconfig(tmp_path, "http://127.0.0.1:1"), "--pod", pod)
    assert "127.0.0.1:1" in line
    assert api.Pod.PLURAL in line or "cannot be reached" in line or "list" in line
