# SPDX-License-Identifier: Apache-2.0
"""`simulate --explain` on a large cluster: nodes that say the same share a row."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from steersman.cli import main
from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest


def test_nodes_with_the_same_reasons_share_a_row(tmp_path: Path) -> None:
    nodes = [make_node(f"n{index}").capacity(cpu="1", memory="1Gi", pods="10") for index in range(300)]
    items = [*map(manifest, nodes), manifest(make_pod("big").req(cpu="8"))]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    result = CliRunner().invoke(main, ["simulate", "-f", str(file), "--explain", "default/big"])
    assert 1 <= sum("Insufficient cpu" in line for line in result.output.splitlines()) < 20
