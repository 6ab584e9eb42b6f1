# SPDX-License-Identifier: Apache-2.0
"""The default version of `steersman run` on an API server of the version before, which does not serve all kinds."""

from __future__ import annotations

from steersman.base import DEFAULT_EMULATED_VERSION
from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, Steersman, bound_to, condition, manifest


def test_kinds_that_the_server_does_not_serve_do_not_keep_pods_waiting(plane: ControlPlane) -> None:
    assert plane.binaries.version < DEFAULT_EMULATED_VERSION
    admin = plane.admin
    admin.create_nodes(manifest(make_node("a").capacity(cpu="4", memory="8Gi")))
    for pod in (make_pod("web").req(cpu="1"), make_pod("large").req(cpu="32")):
        admin.create(manifest(pod))
    flags = (f"--emulated-version={DEFAULT_EMULATED_VERSION}", "--feature-gates=GenericWorkload=true")
    with Steersman(plane, flags=flags) as steersman:
        assert admin.wait_until(lambda: bound_to(admin.get("Pod", "web"))) == "a"
        found = admin.wait_until(lambda: condition(admin.get("Pod", "large"), "PodScheduled"))
        assert found is not None
        assert found["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        for kind in ("devicetaintrules", "podgroups"):
            assert f"the server does not know {kind} of " in steersman.log_text()
        assert steersman.stop() == 0
