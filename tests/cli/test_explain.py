# SPDX-License-Identifier: Apache-2.0
"""`steersman explain` as a command: options in, text, JSON or YAML out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from tests.cli.commands import refused, steersman
from tests.cli.files import write
from tests.cli.serving import serving
from tests.client.api_server import ApiServer

from steersman.record import record_simulation
from steersman.simulation import Simulation
from steersman.testing import make_node, make_pod

KUBECONFIG = """
current-context: here
contexts:
- {name: here, context: {cluster: it, namespace: shop}}
- {name: nowhere, context: {cluster: it, namespace: empty}}
clusters:
- {name: it, cluster: {server: "ADDRESS"}}
"""


def a_shop() -> ApiServer:
    server = ApiServer()
    server.store.create(make_node("n0").capacity(cpu="4", memory="8Gi", pods="10").obj())
    server.store.create(make_pod("web").namespace("shop").req(cpu="8").obj())
    return server


def kubeconfig(folder: Path, address: str) -> Path:
    file = folder / "kubeconfig"
    file.write_text(KUBECONFIG.replace("ADDRESS", address))
    return file


def test_the_context_names_the_namespace(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        result = steersman("explain", "web", "--kubeconfig", kubeconfig(tmp_path, address))
    assert result.exit_code == 1
    assert result.stdout.startswith("Pod shop/web, Pending, without a node; scheduler default-scheduler\n")
    assert "unschedulable: 0/1 nodes are available: 1 Insufficient cpu." in result.stdout


def test_the_namespace_may_be_said_in_three_ways(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        file = kubeconfig(tmp_path, address)
        for arguments in (("web",), ("-n", "shop", "web"), ("shop/web",)):
            assert steersman("explain", *arguments, "--kubeconfig", file).exit_code == 1
        line = refused("explain", "web", "--kubeconfig", file, "--context", "nowhere")
    assert line.startswith("Error: there is no pod web in namespace empty, but in shop")


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        as_json = steersman("explain", "-n", "shop", "web", "--master", address, "-o", "json")
        as_yaml = steersman("explain", "-n", "shop", "web", "--master", address, "-o", "yaml")
    document = json.loads(as_json.stdout)
    assert document == yaml.safe_load(as_yaml.stdout)
    assert document["explanation"]["nodes"][0]["verdicts"][0]["plugin"] == "NodeResourcesFit"
    assert document["wakers"][0]["plugin"] == "NodeResourcesFit"


def test_a_server_that_is_not_there_is_one_line() -> None:
    with serving(a_shop()) as address:
        pass
    assert refused("explain", "web", "--master", address).startswith(
        f"Error: cannot reach the API server at {address}: "
    )


# -- files -----------------------------------------------------------------------------------------------------------

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
"""
FILES = (
    NODE
    + """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: app, resources: {requests: {cpu: "6"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: small}
spec: {containers: [{name: app, image: app, resources: {requests: {cpu: "1"}}}]}
"""
)


def test_files_are_simulated_and_a_single_pod_has_its_fixes(tmp_path: Path) -> None:
    result = steersman("explain", "-f", write(tmp_path / "cluster.yaml", FILES), "web", "-o", "json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["apiVersion"], document["kind"]) == ("explain.steersman.dev/v1", "Explanation")
    assert document["cause"]["code"] == "InsufficientResources"
    patch = document["fixes"][0]["patches"][0]
    assert (patch["kind"], patch["namespace"], patch["name"]) == ("Pod", "default", "web")
    assert patch["mergePatch"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "3"}


def test_a_pod_that_has_a_node_is_a_success(tmp_path: Path) -> None:
    result = steersman("explain", "-f", write(tmp_path / "cluster.yaml", FILES), "small")
    assert result.exit_code == 0
    assert "scheduled on n1, the only node that fits" in result.stdout
    assert "fixes" not in result.stdout


def test_all_pending_pods_are_a_list_without_fixes(tmp_path: Path) -> None:
    file = write(tmp_path / "cluster.yaml", FILES)
    result = steersman("explain", "-f", file, "--all-pending", "-o", "yaml")
    document = yaml.safe_load(result.stdout)
    assert (result.exit_code, document["kind"]) == (1, "ExplanationList")
    assert [item["pod"] for item in document["items"]] == ["default/web"]
    assert document["items"][0]["fixes"] is None
    with_fixes = steersman("explain", "-f", file, "--all-pending", "--fixes", "-o", "json")
    assert json.loads(with_fixes.stdout)["items"][0]["fixes"]


def test_nothing_pending_is_a_success(tmp_path: Path) -> None:
    file = write(tmp_path / "cluster.yaml", FILES.replace('cpu: "6"', 'cpu: "2"'))
    result = steersman("explain", "-f", file, "--all-pending")
    assert (result.exit_code, result.stdout) == (0, "No pod is waiting for a node.\n")


def test_a_table_has_a_line_per_pod_and_markdown_has_headings(tmp_path: Path) -> None:
    file = write(tmp_path / "cluster.yaml", FILES)
    header, row, cause = steersman("explain", "-f", file, "web", "-o", "table").stdout.splitlines()
    assert header.split() == ["POD", "PODS", "STATE", "CAUSE"]
    assert row.split() == ["default/web", "1", "Pending", "InsufficientResources"]
    assert cause == "  The pod needs 6 cpu on one node; 1 node is too small, with at most 4."
    page = steersman("explain", "-f", file, "web", "-o", "markdown").stdout
    assert page.startswith("## Pod default/web\n\n**The pod needs 6 cpu on one node")
    assert "### What would help" in page


def test_a_table_of_groups_in_markdown_says_how_many_nodes_it_does_not_name(tmp_path: Path) -> None:
    nodes = "".join(NODE.replace("n1", f"n{index}") for index in range(1, 6))
    selecting = FILES.removeprefix(NODE).replace("spec: {", "spec: {nodeSelector: {disk: ssd}, ").replace('"6"', '"1"')
    file = write(tmp_path / "cluster.yaml", nodes + selecting)
    page = steersman("explain", "-f", file, "web", "-o", "markdown", "--no-fixes").stdout
    assert "| 5 | the pod's node selector or affinity, which wants disk=ssd | n1, n2, n3 and 2 more |" in page


def test_the_kind_may_stand_before_the_name_as_kubectl_prints_it(tmp_path: Path) -> None:
    file = write(tmp_path / "cluster.yaml", FILES)
    expected = steersman("explain", "-f", file, "web", "-o", "json").stdout
    for name in ("pod/web", "pods/web", "pod/default/web", "default/web"):
        assert steersman("explain", "-f", file, name, "-o", "json").stdout == expected


def test_a_name_that_can_be_none_is_refused_with_what_would_be_right(tmp_path: Path) -> None:
    file = write(tmp_path / "cluster.yaml", FILES)
    for name in ("", "/", "pod/", "shop/", "a/b/c"):
        assert 'write "web-0", "pod/web-0" or "shop/web-0"' in refused("explain", "-f", file, name)
    assert "there is no pod pod in namespace default" in refused("explain", "-f", file, "pod")


def test_a_pod_that_goes_in_the_simulation_is_not_called_unknown(tmp_path: Path) -> None:
    leaving = FILES.replace("{name: web}", '{name: web, deletionTimestamp: "2026-01-01T00:00:00Z"}').replace(
        "spec: {containers", "spec: {nodeName: n1, containers"
    )
    file = write(tmp_path / "cluster.yaml", leaving)
    assert "pod default/web no longer exists at the end of the simulation; --until 0s" in refused(
        "explain", "-f", file, "web"
    )
    assert steersman("explain", "-f", file, "web", "--until", "0s").exit_code == 0


def test_the_examples_can_be_explained() -> None:
    result = steersman("explain", "--example", "quickstart", "--all-pending", "-o", "table")
    assert result.exit_code == 1
    assert "default/train-2" in result.stdout


def test_pools_say_whether_an_autoscaler_would_help(tmp_path: Path) -> None:
    pools = write(
        tmp_path / "pools.yaml",
        "apiVersion: steersman.dev/v1alpha1\nkind: NodePools\npools:\n"
        '- {name: large, pricePerHour: 1, template: {status: {allocatable: {cpu: "8", memory: 16Gi}}}}\n',
    )
    file = write(tmp_path / "cluster.yaml", FILES)
    result = steersman("explain", "-f", file, "web", "--no-fixes", "--pools", pools)
    assert "One more node of pool large would help." in result.stdout


def test_what_is_asked_must_be_said_once(tmp_path: Path) -> None:
    file = write(tmp_path / "cluster.yaml", FILES)
    assert "Name a POD, or use --all-pending." in steersman("explain", "-f", file).stderr
    assert "Use either POD or --all-pending." in steersman("explain", "-f", file, "web", "--all-pending").stderr
    mixed = steersman("explain", "-f", file, "web", "--context", "here")
    assert "--context is for a live cluster, -f, --example and --record are not." in mixed.stderr
    assert {mixed.exit_code, steersman("explain", "-f", file).exit_code} == {2}


def test_explain_exits_with_1_if_a_plugin_fails(tmp_path: Path) -> None:
    plugin = write(
        tmp_path / "broken.py",
        "from steersman.framework import FilterPlugin\n\n"
        "class Broken(FilterPlugin):\n    name = 'Broken'\n\n"
        "    def filter(self, pod, node):\n        raise ValueError('oh')\n",
    )
    result = steersman("explain", "-f", write(tmp_path / "c.yaml", FILES), "small", "--plugin", plugin, "--no-fixes")
    assert result.exit_code == 1
    assert "The scheduling cycle failed" in result.stdout


# -- records ---------------------------------------------------------------------------------------------------------

LATER = (
    NODE
    + """
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {steersman.dev/run-seconds: "600"}}
spec: {restartPolicy: Never, containers: [{name: app, image: app, resources: {requests: {cpu: "3"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec: {containers: [{name: app, image: app, resources: {requests: {cpu: "3"}}}]}
"""
)


def recorded(folder: Path) -> Path:
    """`second` waits for ten minutes until `first` has ended."""
    steersman("simulate", "-f", write(folder / "later.yaml", LATER), "--until", "20m", "--record", folder / "record")
    return folder / "record"


def test_a_record_is_explained_as_it_was_at_a_time(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    before = steersman("explain", "second", "--record", directory, "--at", "5m", "-o", "json")
    after = steersman("explain", "second", "--record", directory, "--at", "10m30s", "-o", "json")
    waiting, placed = json.loads(before.stdout), json.loads(after.stdout)
    assert (before.exit_code, waiting["cause"]["code"]) == (1, "InsufficientResources")
    assert "1 node has 3 or more, with 1 free" in waiting["cause"]["sentence"]
    assert waiting["when"]["queue"]["queue"] == "unschedulable"
    assert (after.exit_code, placed["node"]) == (0, "n1")


def test_a_record_without_a_moment_is_explained_as_it_ended(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    at_the_end = steersman("explain", "second", "--record", directory, "-o", "json")
    assert json.loads(at_the_end.stdout) == json.loads(
        steersman("explain", "second", "--record", directory, "--at", "20m", "-o", "json").stdout
    )


def test_a_gap_before_the_moment_is_told_and_one_after_it_is_not(tmp_path: Path) -> None:
    simulation = Simulation.load(write(tmp_path / "cluster.yaml", LATER))
    with record_simulation(simulation, tmp_path / "record") as recorder:
        for seconds in (10, 20, 30, 40):
            simulation.run(until=seconds)
            recorder._log.flush()
    (segment,) = (tmp_path / "record").glob("*.segment")
    content = bytearray(segment.read_bytes())
    content[[block.start() for block in re.finditer(b"BLK1", content)][4] - 1] ^= 1  # the fourth block: from 20 s on
    segment.write_bytes(content)
    before, after = (
        json.loads(steersman("explain", "second", "--record", segment.parent, "--at", at, "-o", "json").stdout)["notes"]
        for at in ("5s", "35s")
    )
    assert before == []
    assert [note for note in after if note.startswith("something that came before this moment may be missing:")]
    table = steersman("explain", "second", "--record", segment.parent, "--at", "35s", "-o", "table")
    assert "Note: something that came before this moment may be missing:" in table.stderr


def test_fixes_of_a_recorded_moment_are_about_the_objects_of_that_moment(tmp_path: Path) -> None:
    file, directory = write(tmp_path / "cluster.yaml", FILES), tmp_path / "record"
    steersman("simulate", "-f", file, "--until", "5m", "--record", directory)
    result = steersman("explain", "web", "--record", directory, "--at", "1m", "-o", "json")
    fixes = json.loads(result.stdout)["fixes"]
    lowered = next(fix for fix in fixes if fix["kind"] == "LowerRequests")
    assert '{"name":"app","resources":{"requests":{"cpu":"3"}}}' in lowered["commands"][0]
    assert lowered["patches"] == [], "a record has not all fields of containers"


def test_a_pod_that_gets_a_node_in_time_needs_no_fix(tmp_path: Path) -> None:
    result = steersman("explain", "second", "--record", recorded(tmp_path), "--at", "1m")
    assert "No change is needed: the pod will go to n1 (tried on a copy)." in result.stdout


def test_times_that_are_none_and_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    assert "is not a time" in refused("explain", "second", "--record", directory, "--at", "noon")
    assert "is not a time of day" in refused("explain", "second", "--record", directory, "--at", "25:00")
    assert "is not in the record" in refused("explain", "second", "--record", directory, "--at", "9h")
    assert "is not in the record" in refused("explain", "second", "--record", directory, "--at", "2020-01-01T00:00:00Z")
    assert "the record covers 2026-01-01T00:00:00Z to " in refused(
        "explain", "second", "--record", directory, "--at", "9h"
    )
    assert "it needs --record" in steersman("explain", "second", "--at", "1m").stderr
    mixed = steersman("explain", "second", "--record", directory, "--at", "1m", "--extenders")
    assert "A record has its own configuration" in mixed.stderr
