# SPDX-License-Identifier: Apache-2.0
"""Makes `src/steersman/sandbox/default_roles.json`: the ClusterRoles and bindings that every cluster begins with.

    python -m scripts.default_roles

They are read from a kube-apiserver that has just started (`make e2e` builds one), and kept in git. Those of single controllers
and of certificate signers are left out: no object of a user refers to them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Final

from steersman.testing.control_plane import Binaries, ControlPlane

TARGET: Final = Path("src/steersman/sandbox/default_roles.json")
LEFT_OUT: Final = ("system:controller:", "system:certificates.k8s.io:")
FIELDS: Final = ("rules", "aggregationRule", "roleRef", "subjects")
_BOOTSTRAPPING: Final = "kubernetes.io/bootstrapping"


def entry(item: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that are not the same in all."""
    labels = {name: value for name, value in item["metadata"].get("labels", {}).items() if name != _BOOTSTRAPPING}
    fields = {name: item[name] for name in FIELDS if item.get(name)}
    return {**({"labels": labels} if labels else {}), **fields}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Binaries.find(), Path(folder)) as plane:
        lines = [
            json.dumps([kind, item["metadata"]["name"], entry(item)], separators=(",", ":"))
            for kind in ("ClusterRole", "ClusterRoleBinding")
            for item in plane.admin.list(kind)
            if not item["metadata"]["name"].startswith(LEFT_OUT)
        ]
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
