# SPDX-License-Identifier: Apache-2.0
"""The web page of `steersman run --web` on a real API server, in a real browser: the same pages, read only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.page_steps import AXE, DRAWN, LIVE, assert_silent
from tests.e2e.cleaning import empty

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, Steersman, manifest, wait_until

GROUP = "rbac.authorization.k8s.io"
RULES = [{"nonResourceURLs": ["/web/v1/*"], "verbs": ["get"]}]


@pytest.fixture(scope="module")
def reader(shared_plane: ControlPlane) -> Iterator[str]:
    """A cluster with a pod that fits and one that does not; the name of a service account that may look."""
    admin = shared_plane.admin
    empty(admin)
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "default"}})
    role: JsonObject = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}
    admin.apply({**role, "rules": RULES})
    admin.apply(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
        }
    )
    names = ("one", "two")
    admin.create_nodes(*(manifest(make_node(name).capacity(cpu="4", memory="8Gi", pods="10")) for name in names))
    for name, cpu in (("fits", "100m"), ("huge", "1000")):
        admin.create(manifest(make_pod(name).req(cpu=cpu)))
    yield "reader"
    empty(admin)


@contextmanager
def served(plane: ControlPlane, reader: str, *flags: str) -> Iterator[str]:
    """The address of the page of a scheduler that has tried all pods, with the token of somebody who may look."""
    admin = plane.admin
    with Steersman(plane, flags=["--web", *flags]) as running:
        wait_until(lambda: bool(admin.get("Pod", "fits", "default")["spec"].get("nodeName")))
        wait_until(lambda: bool(admin.get("Pod", "huge", "default")["status"].get("conditions")))
        yield f"{running.url}/#token={admin.token(reader)}"


@pytest.fixture(scope="module")
def address(shared_plane: ControlPlane, reader: str) -> Iterator[str]:
    with served(shared_plane, reader) as found:
        yield found


def test_a_former_attempt_is_shown_by_the_record(
    browser: Browser, shared_plane: ControlPlane, reader: str, tmp_path: Path
) -> None:
    """A pod waits for room; once there is some its first attempt still shows the cluster of then."""
    admin = shared_plane.admin
    admin.create(manifest(make_pod("late").req(cpu="6")))
    with served(shared_plane, reader, "--record", str(tmp_path / "record")) as found:
        wait_until(lambda: bool(admin.get("Pod", "late", "default")["status"].get("conditions")))
        admin.create_nodes(manifest(make_node("three").capacity(cpu="8", memory="8Gi", pods="10")))
        wait_until(lambda: bool(admin.get("Pod", "late", "default")["spec"].get("nodeName")))
        seen = browser.visit(
            f"{found}&/pod/default/late",
            ("wait_text", "[aria-label=Timeline]", "scheduled on three"),
            ("click", "[aria-label=Timeline] li:has-text('Insufficient cpu') button"),
            ("wait_text", "h2", "What every node and plugin said"),
            ("wait", "[data-rows='2'] tbody td"),
            ("text", "[aria-label='Matrix of nodes and plugins'] .body"),
            ("hash", "/time"),
            ("wait", "[aria-label='The past'] input[type=range]"),
            ("evaluate", "[...document.querySelectorAll('h2')].map((title) => title.textContent)"),
        )
    admin.delete("Pod", "late", "default")
    admin.delete("Node", "three")
    assert_silent(seen, found)
    assert "Insufficient cpu" in seen.values[4]
    assert seen.values[-1] == ["Back in time"]


def test_a_real_cluster_is_shown_and_cannot_be_changed(browser: Browser, address: str) -> None:
    seen = browser.visit(
        address,
        LIVE,
        DRAWN,
        ("axe", str(AXE)),
        ("texts", "nav[aria-label=Pages] a"),
        ("hash", "/pending"),
        ("wait_text", "h2", "1 pod: Insufficient cpu"),
        ("hash", "/pod/default/fits?tab=matrix"),
        ("wait", "[data-rows='2'] tbody td"),
        ("hash", "/pod/default/huge?tab=matrix&attempt=0"),
        ("wait_text", ".notice", "No record is kept here: the matrix shows what nodes and plugins say now."),
        ("hash", "/node/one"),
        ("wait", "[aria-label='Pods on this node']"),
        ("evaluate", "[...document.querySelectorAll('a')].filter((link) => link.textContent === 'Edit').length"),
    )
    assert_silent(seen, address)
    assert seen.values[2] == []
    assert not {"Objects", "Time"} & set(seen.values[3])
    assert seen.values[-1] == 0
