# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.cli.commands import refused, steersman
from tests.cli.files import BIG_POD, CLUSTER, CONFIG, cluster, write
from tests.report.pages import built_page


def test_the_table_says_where_each_pod_went_and_how_full_the_nodes_are(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", cluster(tmp_path))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "POD          NODE  TIME  ATTEMPTS",
        "default/web  n1      0s         1",
        "",
        "NODE            CPU         MEMORY       PODS",
        "n1         1/4  25%   1Gi/8Gi  12%  1/10  10%",
        "n2         0/4   0%     0/8Gi   0%  0/10   0%",
        "all nodes  1/8  12%  1Gi/16Gi   6%  1/20   5%",
        "",
        "1 of 1 pods scheduled on 2 nodes; 1 attempt in 0s of virtual time",
    ]


POOLS = """\
apiVersion: steersman.dev/v1alpha1
kind: NodePools
pools:
- {name: big, pricePerHour: 1, min: 3, zones: [a, b], template: {status: {allocatable: {cpu: "16", memory: 64Gi}}}}
- {name: none, pricePerHour: 1, template: {status: {allocatable: {cpu: "1", memory: 1Gi}}}}
"""


def test_pools_add_their_least_number_of_nodes(tmp_path: Path) -> None:
    pools = write(tmp_path / "pools.yaml", POOLS)
    result = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--pools", pools, "-o", "json")
    document = json.loads(result.stdout)
    assert list(document["utilisation"]["nodes"]) == ["n1", "n2", "big-0", "big-1", "big-2"]
    assert document["summary"]["pending"] == 0


def test_a_scenario_names_its_own_pools(tmp_path: Path) -> None:
    result = steersman("simulate", "--scenario", "s.yaml", "--pools", write(tmp_path / "pools.yaml", POOLS))
    assert result.exit_code == 2
    assert "--pools is not for scenarios" in result.stderr


def test_pending_pods_come_with_the_schedulers_message(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", cluster(tmp_path, BIG_POD))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    position = lines.index("PENDING")
    assert lines[position + 1] == "default/big (Unschedulable, 1 attempt since 0s)"
    assert lines[position + 2].startswith("  0/2 nodes are available: 2 Insufficient cpu.")
    assert lines[-1].startswith("1 of 2 pods scheduled on 2 nodes, 1 pending; 2 attempts")


def test_pending_pods_may_be_a_failure(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--fail-on-pending")
    assert result.exit_code == 1
    assert result.stderr == "Error: 1 pod is pending\n"


def test_json_and_yaml_hold_the_same(tmp_path: Path) -> None:
    file = cluster(tmp_path, BIG_POD)
    as_json = json.loads(steersman("simulate", "-f", file, "-o", "json", "--explain", "web").stdout)
    as_yaml = yaml.safe_load(steersman("simulate", "-f", file, "-o", "yaml", "--explain", "web").stdout)
    assert as_json == as_yaml
    assert as_json["summary"]["scheduled"] == 1
    assert as_json["placements"][0] == {
        "pod": "default/web",
        "node": "n1",
        "attempts": 1,
        "at": 0.0,
        "created": 0.0,
        "requests": {"cpu": 1000, "memory": 2**30},
    }
    assert as_json["placements"][1]["reason"] == "Unschedulable"
    assert as_json["utilisation"]["nodes"]["n1"]["cpu"] == {"allocatable": 4000, "requested": 1000}
    assert as_json["explanations"][0]["node"] == "n1"


def test_fixes_are_printed_below_the_explanation_and_are_in_the_json(tmp_path: Path) -> None:
    file = cluster(tmp_path, BIG_POD)
    lines = steersman("simulate", "-f", file, "--explain", "big", "--fixes").stdout.splitlines()
    start = lines.index("2 changes, each by itself, make default/big schedule (tried on a copy):")
    assert lines[start + 1] == "  1. Lower the cpu request of container big from 5 to 4: it goes to n2."
    assert lines[start + 2].startswith("     kubectl get -o json -- pod big | ")
    document = json.loads(
        steersman("simulate", "-f", file, "-o", "json", "--explain", "big", "--explain", "web", "--fixes").stdout
    )
    big, web = document["explanations"]
    assert [fix["kind"] for fix in big["fixes"]] == ["LowerRequests", "AddNode"]
    assert big["fixes"][0]["patches"][0]["mergePatch"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "4"}
    assert web["fixes"] == []


def test_fixes_need_a_pod_to_explain_and_are_not_for_scenarios(tmp_path: Path) -> None:
    assert "--fixes is for --explain" in steersman("simulate", "-f", cluster(tmp_path), "--fixes").stderr
    scenario = steersman("simulate", "--scenario", "any.yaml", "--explain", "web", "--fixes")
    assert "--fixes is not for scenarios" in scenario.stderr


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_equal_input_and_seed_give_equal_bytes(tmp_path: Path, output: str) -> None:
    arguments = ("simulate", "-f", cluster(tmp_path, BIG_POD), "-o", output, "--seed", "7", "--explain", "big")
    assert steersman(*arguments).stdout_bytes == steersman(*arguments).stdout_bytes


def test_explanations_show_every_node(tmp_path: Path) -> None:
    command = ("simulate", "-f", cluster(tmp_path, BIG_POD), "--explain", "default/big", "--all-nodes")
    output = steersman(*command).stdout
    assert "Does not fit on 2 nodes:" in output
    assert "n1    NodeResourcesFit: Insufficient cpu" in output


def test_an_explanation_is_what_explain_prints(tmp_path: Path) -> None:
    file = cluster(tmp_path, BIG_POD)
    for pod in ("big", "web"):
        alone = steersman("explain", "-f", file, pod, "--no-fixes").stdout
        assert f"\n\n{alone}\n1 of 2 pods scheduled" in steersman("simulate", "-f", file, "--explain", pod).stdout


def test_a_pod_that_does_not_exist_cannot_be_explained(tmp_path: Path) -> None:
    assert refused("simulate", "-f", cluster(tmp_path), "--explain", "ghost") == (
        "Error: Pod default/ghost: does not exist"
    )


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    pod = write(tmp_path / "pod.yaml", BIG_POD.replace('"5"', '"1"'))
    result = steersman("simulate", "-f", "-", "-f", pod, stdin=CLUSTER)
    assert "default/big" in result.stdout
    assert result.stdout.endswith("2 of 2 pods scheduled on 2 nodes; 2 attempts in 0s of virtual time\n")


def test_virtual_time_goes_on_until_it_is_told_to_end(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--until", "11m")
    assert result.stdout.splitlines()[-1].endswith("4 attempts in 11m0s of virtual time")


def test_a_duration_must_be_one(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", cluster(tmp_path), "--until", "soon")
    assert result.exit_code == 2
    assert "'soon' is not a duration" in result.stderr


def test_a_configuration_is_obeyed(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG.replace("default-scheduler", "other"))
    output = steersman("simulate", "-f", cluster(tmp_path), "--config", config).stdout
    assert 'no profile for scheduler name "default-scheduler"' in output


def test_what_is_passed_over_is_noted_on_standard_error(tmp_path: Path) -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    result = steersman("simulate", "-f", cluster(tmp_path, config_map))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == ["Note: objects of other kinds were passed over: 1 ConfigMap"]


def test_timings_are_printed_only_on_request_and_not_among_the_results(tmp_path: Path) -> None:
    file = cluster(tmp_path)
    verbose = steersman("simulate", "-f", file, "-v")
    assert "attempts in" in verbose.stderr
    assert verbose.stdout == steersman("simulate", "-f", file).stdout


def test_large_clusters_are_cut_to_their_fullest_nodes(tmp_path: Path) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {{name: x{:03}}}\nstatus: {{allocatable: {{cpu: 1, pods: 5}}}}\n"
    output = steersman("simulate", "-f", cluster(tmp_path, *map(node.format, range(60)))).stdout
    lines = output.splitlines()
    assert "(12 more nodes, less full; -o json has all)" in lines
    assert lines[4].startswith("n1 ")


def test_long_lists_are_shortened(tmp_path: Path) -> None:
    devices = ", ".join(f"example.com/device-{number}: 1" for number in range(2_000))
    node = f"apiVersion: v1\nkind: Node\nmetadata: {{name: x}}\nstatus: {{allocatable: {{cpu: 1, {devices}}}}}\n"
    gates = ", ".join(f"{{name: example.com/gate-{number}}}" for number in range(2_000))
    gated = BIG_POD.replace("spec:", f"spec:\n  schedulingGates: [{gates}]")
    result = steersman("simulate", "-f", cluster(tmp_path, node, gated), "--explain", "big", "--fixes")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) < 2_500
    assert "(1980 more resources, less full; -o json has all)" in result.stdout
    assert "lift the scheduling gate example.com/gate-7 and 1,992 more" in " ".join(result.stdout.split())
    assert re.search(r"example.com/gate-0 .* … and \d\d,\d{3} more characters", result.stdout)


HOSTILE = "\x1b[2J\u202e\x9b31m"


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_what_a_plugin_says_reaches_the_terminal_without_tricks(tmp_path: Path, output: str) -> None:
    plugin = write(
        tmp_path / "plugin.py",
        "from steersman.framework import FilterPlugin, unschedulable\n"
        "class Loud(FilterPlugin):\n"
        "    name = 'Loud'\n"
        f"    def filter(self, pod, node):\n        return unschedulable({HOSTILE!r} + chr(10) + 'forged')\n",
    )
    result = steersman("simulate", "-f", cluster(tmp_path), "--plugin", plugin, "--explain", "web", "-o", output)
    assert result.exit_code == 0, result.output
    assert "[2J" in result.stdout
    assert not any(character in result.stdout for character in "\x1b\x9b\u202e")
    assert not any(line.startswith("forged") for line in result.stdout.splitlines())


RESTLESS = """
from steersman.framework import PermitPlugin, PermitResult, Status
from steersman.framework.status import Code

class NeverSatisfied(PermitPlugin):
    name = "NeverSatisfied"

    def permit(self, pod, node_name):
        return PermitResult(Status(Code.WAIT), timeout_seconds=17.0 if pod.name == "web" else 31.0)
"""


def test_a_simulation_in_which_pods_are_only_retried_ends_by_itself(tmp_path: Path) -> None:
    plugin = write(tmp_path / "restless.py", RESTLESS)
    other = BIG_POD.replace('"5"', '"1"')
    result = steersman("simulate", "-f", cluster(tmp_path, other), "--plugin", plugin)
    assert result.exit_code == 0
    assert "0 of 2 pods scheduled" in result.stdout
    assert "without progress: pods are retried again and again" in result.stderr


STANDS_STILL = """
from steersman.framework import FilterPlugin

class Activates(FilterPlugin):
    name = "Activates"

    def __init__(self, args, handle):
        self._pods = handle.pods

    def filter(self, pod, node):
        self._pods.activate([pod.pod])
        return "never"
"""


def test_a_simulation_that_is_stopped_prints_no_result_that_looks_complete(tmp_path: Path) -> None:
    plugin = write(tmp_path / "stands_still.py", STANDS_STILL)
    result = steersman("simulate", "-f", cluster(tmp_path), "--plugin", plugin)
    assert result.exit_code == 4
    assert result.stdout == ""
    assert "was tried 1001 times at one moment" in result.stderr
    document = steersman("simulate", "-f", cluster(tmp_path), "--plugin", plugin, "-o", "json").stdout
    assert "at one moment" in json.loads(document)["stopped"]


def test_explanations_of_many_nodes_are_grouped_unless_all_are_wanted(tmp_path: Path) -> None:
    more = [CLUSTER.split("---")[0].replace("n1", f"m{index}") for index in range(60)]
    file = cluster(tmp_path, BIG_POD, *more)
    grouped = steersman("simulate", "-f", file, "--explain", "big").stdout
    assert "62     too little cpu  " in grouped
    assert "NodeResourcesFit: Insufficient cpu" not in grouped
    every = steersman("simulate", "-f", file, "--explain", "big", "--all-nodes").stdout
    assert every.count("NodeResourcesFit: Insufficient cpu") == 62


def test_a_disabled_plugin_that_does_not_exist_is_noted(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "  plugins: {score: {disabled: [{name: ImageLocalty}]}}\n")
    result = steersman("simulate", "-f", cluster(tmp_path), "--config", config)
    assert result.exit_code == 0
    assert '"ImageLocalty" is no plugin, so nothing is disabled by it; did you mean "ImageLocality"?' in result.stderr


MISSPELT = CLUSTER.replace("resources:", "resorces:")


def test_misspelt_fields_are_told_on_standard_error(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", write(tmp_path / "a.yaml", MISSPELT))
    assert result.exit_code == 0
    assert "Pod default/web: spec.containers[0].resorces: is not a field of this kind; did you mean" in result.stderr
    assert "resorces" not in result.stdout


@pytest.mark.parametrize("option", ["--strict", "--validate=strict"])
def test_strict_validation_refuses_misspelt_fields(tmp_path: Path, option: str) -> None:
    assert "spec.containers[0].resorces" in refused("simulate", "-f", write(tmp_path / "a.yaml", MISSPELT), option)


def test_validation_can_be_left_out(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", write(tmp_path / "a.yaml", MISSPELT), "--validate=ignore")
    assert result.stderr == ""


def test_strict_and_another_validation_contradict_each_other(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", cluster(tmp_path), "--strict", "--validate=warn")
    assert result.exit_code == 2
    assert "--strict and --validate=warn contradict each other" in result.stderr


def test_gates_that_change_nothing_are_reported() -> None:
    result = steersman("simulate", "--example", "preemption", "--feature-gates", "OpportunisticBatching=false")
    assert result.exit_code == 0
    assert "Note: --feature-gates: OpportunisticBatching=false has no effect: every pod" in result.stderr
    assert "--feature-gates" not in steersman("simulate", "--example", "preemption").stderr


def test_a_report_is_written_beside_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_page(tmp_path, monkeypatch)
    page = tmp_path / "out.html"
    plain = steersman("simulate", "-f", cluster(tmp_path, BIG_POD))
    result = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--report", str(page))
    assert (result.exit_code, result.stdout) == (0, plain.stdout)
    assert result.stderr == f"wrote {page}\n"
    text = page.read_text()
    assert "1 of 2 pods are scheduled on 2 nodes; 1 pending." in text
    assert text.count("default/big") == 3


def test_in_a_clone_without_the_built_page_a_report_has_no_charts_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (built_page(tmp_path, monkeypatch) / "report.js").unlink()
    page = tmp_path / "out.html"
    result = steersman("simulate", "-f", cluster(tmp_path, BIG_POD), "--report", str(page))
    note = "note: the page of reports is not built, so charts are missing: type `make web` in the clone"
    assert result.stderr == f"wrote {page}\n{note}\n"
    assert "<td>default/big</td>" in page.read_text()


def test_a_report_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    page = tmp_path / "nowhere" / "out.html"
    refusal = refused("simulate", "-f", cluster(tmp_path), "--report", str(page))
    assert refusal == f'Error: {page}: cannot be written: there is no such directory (got "{page.parent}")'


def test_pods_without_any_node_come_with_a_word_on_nodes(tmp_path: Path) -> None:
    result = steersman("simulate", "-f", write(tmp_path / "pod.yaml", BIG_POD.lstrip("-\n")))
    assert "Note: there is no node to schedule on; `kubectl get nodes -o yaml > nodes.yaml`" in result.stderr


def test_a_template_that_was_not_rendered_is_said_to_be_one(tmp_path: Path) -> None:
    file = write(tmp_path / "pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Values.name }}}\n")
    line = refused("simulate", "-f", file)
    assert line.startswith(f"Error: {file}, line 3: is not YAML: ")
    assert line.endswith("; it looks like a template; give what `helm template` makes of it")


def test_notes_are_folded_as_the_rest_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEERSMAN_WIDTH", "80")
    notes = steersman("simulate", "-f", write(tmp_path / "pod.yaml", BIG_POD.lstrip("-\n"))).stderr.splitlines()
    assert len(notes) > 1
    assert max(map(len, notes)) <= 80
