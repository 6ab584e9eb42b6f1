# SPDX-License-Identifier: Apache-2.0
"""The web page of `steersman run --web` on a real API server, in a real browser: the same pages, read only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.page_steps import AXE, DRAWN, LIVE, assert_silent
from tests.e2e.cleaning import empty

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, Steersman, manifest, wait_until

GROUP = "rbac.authorization.k8s.io"
RULES = [{"nonResourceURLs": ["/web/v1/*"], "verbs": ["get"]}]


@pytest.fixture(scope="module")
def address(shared_plane: ControlPlane) -> Iterator[str]:
    """Of the page of a scheduler with a pod that fits and one that does not, with the token of somebody who may look."""
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
    with Steersman(shared_plane, flags=["--web"]) as running:
        wait_until(lambda: bool(admin.get("Pod", "fits", "default")["spec"].get("nodeName")))
        wait_until(lambda: bool(admin.get("Pod", "huge", "default")["status"].get("conditions")))
        yield f"{running.url}/#token={admin.token('reader')}"
    empty(admin)


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
        ("hash", "/node/one"),
        ("wait", "[aria-label='Pods on this node']"),
        ("evaluate", "[...document.querySelectorAll('a')].filter((link) => link.textContent === 'Edit').length"),
    )
    assert_silent(seen, address)
    assert seen.values[2] == []
    assert not {"Objects", "Time"} & set(seen.values[3])
    assert seen.values[-1] == 0
