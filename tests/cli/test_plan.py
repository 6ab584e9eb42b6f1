# SPDX-License-Identifier: Apache-2.0
"""`steersman plan …`: options, formats, exit codes, and errors that name what is wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from tests.cli.commands import refused, steersman
from tests.cli.files import cluster, write

from steersman.plan.node_planning import NodePlanning

WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: app, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""


def test_capacity_says_how_many_fit_what_limits_and_where(tmp_path: Path) -> None:
    pod = write(tmp_path / "web.yaml", WEB)
    result = steersman("plan", "capacity", "-f", cluster(tmp_path), "--pod", pod)
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "WHAT LIMITS       NODES  WHICH\n"
        "Insufficient cpu  2      n1, n2\n"
        "\n"
        "NODE  MORE PODS  WHAT LIMITS\n"
        "n2    4          Insufficient cpu\n"
        "n1    3          Insufficient cpu\n"
        "\n"
        "7 more pods fit; 2 of 2 nodes: Insufficient cpu\n"
    )


def test_answers_come_as_json_yaml_and_csv(tmp_path: Path) -> None:
    command = ("plan", "capacity", "-f", cluster(tmp_path), "--pod", write(tmp_path / "web.yaml", WEB), "-o")
    as_json = json.loads(steersman(*command, "json").stdout)
    assert (as_json["kind"], as_json["fits"], as_json["perNode"]) == ("Capacity", 7, {"n1": 3, "n2": 4})
    assert yaml.safe_load(steersman(*command, "yaml").stdout) == as_json
    rows = list(csv.DictReader(io.StringIO(steersman(*command, "csv").stdout)))
    assert rows[0] == {"node": "n1", "fits": "3", "limits": "Insufficient cpu"}


def test_fewer_than_were_wanted_is_a_no(tmp_path: Path) -> None:
    command = ("plan", "capacity", "-f", cluster(tmp_path), "--pod", write(tmp_path / "web.yaml", WEB))
    assert steersman(*command, "--at-least", 7).exit_code == 0
    assert steersman(*command, "--at-least", 8).exit_code == 1


def test_the_next_pod_is_explained(tmp_path: Path) -> None:
    command = ("plan", "capacity", "-f", cluster(tmp_path), "--pod", write(tmp_path / "web.yaml", WEB))
    result = steersman(*command, "--explain", "plan-web-next")
    assert "Pod default/plan-web-next, Pending, without a node; scheduler default-scheduler" in result.stdout
    assert "2      too little cpu  " in result.stdout
    (document,) = json.loads(steersman(*command, "--explain", "plan-web-next", "-o", "json").stdout)["explanations"]
    assert (document["apiVersion"], document["cause"]["code"]) == ("explain.steersman.dev/v1", "InsufficientResources")


def test_a_report_is_written_beside_the_answer(tmp_path: Path) -> None:
    command = ("plan", "capacity", "-f", cluster(tmp_path), "--pod", write(tmp_path / "web.yaml", WEB))
    assert steersman(*command, "--report", tmp_path / "out.html").exit_code == 0
    assert "7 more pods fit; 2 of 2 nodes: Insufficient cpu." in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "cannot be written" in refused(*command, "--report", tmp_path / "none" / "out.html")


WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 3
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: c, image: app, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guard}
spec: {minAvailable: 3, selector: {matchLabels: {app: app}}}
"""


def test_drain_names_blocked_pods_with_their_budgets(tmp_path: Path) -> None:
    result = steersman("plan", "drain", "n2", "-f", cluster(tmp_path, WORKLOAD), "-o", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["kind"], document["fits"]) == (1, "Drain", False)
    assert set(document["blocked"].values()) == {"default/guard"}


def test_lose_reports_where_pods_go_and_which_wait(tmp_path: Path) -> None:
    result = steersman("plan", "lose", "disk=hdd", "-f", cluster(tmp_path, WORKLOAD), "--seed", 1)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith("0 pending: everything fits")


def test_taint_takes_nodes_and_taints_in_any_order(tmp_path: Path) -> None:
    files = ("-f", cluster(tmp_path, WORKLOAD), "-o", "json")
    one = steersman("plan", "taint", "n2", "broken=disk:NoExecute", *files)
    other = steersman("plan", "taint", "broken=disk:NoExecute", "n2", *files)
    assert json.loads(one.stdout) == json.loads(other.stdout)
    assert json.loads(one.stdout)["kind"] == "Tainting"
    assert "is not a taint" in refused("plan", "taint", "n2", "broken:Sometimes", *files)
    assert "no node is named" in refused("plan", "taint", "broken:NoExecute", *files)


PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def test_compare_has_a_row_per_configuration_and_seed(tmp_path: Path) -> None:
    packed = write(tmp_path / "packed.yaml", PACKED)
    command = (
        "plan",
        "compare",
        "-f",
        cluster(tmp_path, WORKLOAD),
        "--config",
        "default",
        "--seeds",
        2,
        "--workers",
        1,
    )
    result = steersman(*command, "--config", packed, "-o", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [(run["configuration"], run["seed"]) for run in document["runs"]] == [
        ("default", 0),
        ("default", 1),
        ("packed", 0),
        ("packed", 1),
    ]
    assert document["means"]["packed"]["nodesUsed"]["mean"] == 1
    named = steersman(*command, "--config", f"tight={packed}", "--gates-of", "tight:SchedulerPopFromBackoffQ=false")
    assert "tight" in named.stdout


def test_compare_refuses_what_names_no_configuration(tmp_path: Path) -> None:
    command = ("plan", "compare", "-f", cluster(tmp_path), "--config", "default")
    assert "one configuration alone" in refused(*command)
    assert "--plugin-of: names no configuration" in refused(*command, "--config", "a=default", "--plugin-of", "b:x.py")


def test_compact_lists_moves_in_their_order(tmp_path: Path) -> None:
    workload = WORKLOAD.partition("---")[0]
    result = steersman("plan", "compact", "-f", cluster(tmp_path, workload), "-o", "csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "step,pod,from,to,successor,why"
    assert "empties n" in result.stdout


def test_requests_reports_what_changes_if_pods_request_their_usage(tmp_path: Path) -> None:
    usage = write(tmp_path / "usage.csv", "pod,CPU!\nweb,250m\n")
    command = ("plan", "requests", "-f", cluster(tmp_path), "--usage", usage, "--column")
    document = json.loads(steersman(*command, "cpu=CPU!", "-o", "json").stdout)
    assert (document["kind"], document["fits"]) == ("Requests", True)
    assert document["workloads"][0]["cpuAfter"] == 250
    assert "--column: names no column" in refused(*command, "cores=CPU!")


def test_a_plan_without_a_cluster_is_refused(tmp_path: Path) -> None:
    result = steersman("plan", "capacity", "--pod", write(tmp_path / "web.yaml", WEB))
    assert result.exit_code == 2
    assert "Missing option '-f' / '--filename', '--example' or '--kubeconfig'." in result.stderr


def test_a_pod_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    line = refused("plan", "capacity", "-f", cluster(tmp_path), "--pod", tmp_path / "none.yaml")
    assert "none.yaml: cannot be read" in line or "none.yaml: does not exist" in line


POOLS = """
apiVersion: steersman.dev/v1alpha1
kind: NodePools
pools:
- {name: general, pricePerHour: 0.5, template: {status: {allocatable: {cpu: "2", memory: 8Gi}}}}
"""


def test_nodes_says_how_many_to_add_and_writes_them(tmp_path: Path) -> None:
    pods = write(
        tmp_path / "pods.yaml", "\n---\n".join(WEB.replace("name: web}", f"name: web-{n}}}") for n in range(3))
    )
    pools, new = write(tmp_path / "pools.yaml", POOLS), tmp_path / "new.yaml"
    result = steersman("plan", "nodes", "-f", pods, "--pools", pools, "--nodes-file", new)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "add 2 general: 1 per hour, and no plan costs less than 1 (gap 0.0%)"
    assert "3 of 3 pods scheduled on 2 nodes" in steersman("simulate", "-f", pods, "-f", new).stdout
    document = json.loads(steersman("plan", "nodes", "-f", pods, "--pools", pools, "-o", "json").stdout)
    assert (document["kind"], document["add"], document["gap"]) == ("Nodes", {"general": 2}, 0)


def test_files_that_cannot_be_written_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    command = ("plan", "nodes", "-f", tmp_path / "none.yaml", "--pools", tmp_path / "none.yaml")
    for option in ("--nodes-file", "--report"):
        lost = tmp_path / "none" / "new"
        line = refused(*command, option, lost)
        assert line == f'Error: {lost}: cannot be written: there is no such directory (got "{lost.parent}")'
        assert refused(*command, option, tmp_path) == f"Error: {tmp_path}: cannot be written: Is a directory"


def test_pools_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    pools = write(tmp_path / "pools.yaml", POOLS.replace("0.5", "-1"))
    line = refused("plan", "nodes", "-f", cluster(tmp_path), "--pools", pools)
    assert line.endswith("pools.yaml: NodePools: pools[0].pricePerHour: must be a number from 0 (got -1.0)")


def test_ctrl_c_in_plan_nodes_prints_the_best_plan_so_far_and_exits_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(planning: NodePlanning) -> None:
        if planning._best is not None:
            raise KeyboardInterrupt

    monkeypatch.setattr(NodePlanning, "_report", interrupted)
    pods, pools = write(tmp_path / "web.yaml", WEB), write(tmp_path / "pools.yaml", POOLS)
    result = steersman("plan", "nodes", "-f", pods, "--pools", pools)
    assert result.exit_code == 130
    assert "the search was interrupted: another run may find a cheaper plan" in result.stderr
    assert "add 2 general: 1 per hour" in result.stdout


def test_ctrl_c_before_there_is_an_answer_exits_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: NodePlanning) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NodePlanning, "_search", interrupted)
    pods, pools = write(tmp_path / "web.yaml", WEB), write(tmp_path / "pools.yaml", POOLS)
    result = steersman("plan", "nodes", "-f", pods, "--pools", pools)
    assert (result.exit_code, result.stderr, result.stdout) == (130, "Error: interrupted\n", "")


def test_the_time_limit_of_plan_nodes_includes_loading(tmp_path: Path) -> None:
    pods, pools = write(tmp_path / "web.yaml", WEB), write(tmp_path / "pools.yaml", POOLS)
    result = steersman("plan", "nodes", "-f", pods, "--pools", pools, "--time-limit", "0.000001")
    assert result.exit_code == 1
    assert "of the 1e-06 s of --time-limit: no time is left to search for a plan" in result.stderr


def test_the_help_of_capacity_says_which_nodes_do_not_count() -> None:
    text = " ".join(steersman("plan", "capacity", "--help").stdout.split())
    assert "Nodes with a NoExecute taint that would evict the pods after their tolerationSeconds do not count." in text
