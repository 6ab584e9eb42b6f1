# SPDX-License-Identifier: Apache-2.0
"""Discovery of a sandbox and of the real kube-apiserver of the version that it emulates: the same kinds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.e2e.comparing import EACH_VERSION
from tests.sandbox.sandbox_process import SandboxProcess

from steersman.testing.control_plane import ControlPlane
from steersman.testing.control_plane.connections import ACCEPT

pytestmark = EACH_VERSION

NOT_SERVED: Final[Mapping[str, frozenset[str]]] = {
    "1.36": frozenset(),
    "1.37": frozenset(
        {
            "certificates.k8s.io/v1/clustertrustbundles",
            "certificates.k8s.io/v1/podcertificaterequests",
            "certificates.k8s.io/v1/podcertificaterequests/status",
            "storage.k8s.io/v1/csinodes/status",
            "storagemigration.k8s.io/v1/storageversionmigrations",
            "storagemigration.k8s.io/v1/storageversionmigrations/status",
        }
    ),
}
"""Resources that a sandbox has no use for."""
OWN: Final = frozenset({"metrics.k8s.io/v1beta1/nodes", "metrics.k8s.io/v1beta1/pods"})
"""Resources of a metrics server, which a sandbox includes."""


def test_a_sandbox_serves_the_kinds_of_the_real_server(
    shared_plane: ControlPlane, version: str, tmp_path: Path
) -> None:
    theirs = _resources([shared_plane.admin.raw("GET", path, headers={"Accept": ACCEPT}).json() for path in _PATHS])
    with SandboxProcess(tmp_path, f"--emulated-version={version}") as sandbox:
        ours = _resources([sandbox.request("GET", path, Accept=ACCEPT)[1] for path in _PATHS])

    assert ours.keys() - theirs.keys() == OWN
    assert theirs.keys() - ours.keys() == NOT_SERVED[version]
    assert {name: ours[name] for name in theirs if name in ours} == {
        name: theirs[name] for name in theirs if name in ours
    }


_PATHS: Final = ("/api", "/apis")


def _resources(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is said of each resource and subresource, by `group/version/resource`."""
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        for group in document["items"]:
            for version in group["versions"]:
                prefix = "/".join(filter(None, (group["metadata"].get("name"), version["version"])))
                for entry in version["resources"]:
                    name = f"{prefix}/{entry['resource']}"
                    found[name] = _plain(entry)
                    found |= {f"{name}/{sub['subresource']}": _plain(sub) for sub in entry.get("subresources", ())}
    return found


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry with the name of its kind only: the real server leaves out its own group and version."""
    kept = {field: value for field, value in entry.items() if field != "subresources"}
    return {**kept, "responseKind": entry["responseKind"]["kind"]}
