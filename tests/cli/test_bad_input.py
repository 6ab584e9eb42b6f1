# SPDX-License-Identifier: Apache-2.0
"""Bad input of each kind: one clear line on standard error and a non-zero exit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.cli.files import CONFIG, cluster, write

PLUGIN = """
from steersman.framework import FilterPlugin, ScorePlugin

class Odd({base}):
    name = "Odd"

    def {method}(self, pod, node):
        {body}
"""


def test_an_unknown_field_in_the_configuration(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "parallelizm: 3\n")
    line = refused("simulate", "-f", cluster(tmp_path), "--config", config)
    assert line == f'Error: {config}: unknown field "parallelizm"; did you mean "parallelism"?'


def test_an_invalid_configuration(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "parallelism: -3\n")
    line = refused("simulate", "-f", cluster(tmp_path), "--config", config)
    assert line.startswith(f"Error: {config}: parallelism: Invalid value: -3")


def test_a_negative_quantity(tmp_path: Path) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: odd}\n"
        'spec: {containers: [{name: c, image: app, resources: {requests: {cpu: "-1"}}}]}\n'
    )
    file = cluster(tmp_path, pod)
    assert refused("simulate", "-f", file) == (
        f"Error: {file}, line 23, document 4: Pod default/odd: spec.containers[0].resources.requests.cpu: "
        'must be greater than or equal to 0 (got "-1")'
    )


def test_two_nodes_of_one_name(tmp_path: Path) -> None:
    file = cluster(tmp_path, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    assert refused("simulate", "-f", file) == (
        f"Error: {file}, line 20, document 4: Node n1: is defined twice, first in {file}, document 1"
    )


@pytest.mark.parametrize("text", ["kind: [", "\tkind: Pod", "kind: Pod\nkind: Node", "\x00\x01", "just text"])
def test_unreadable_yaml(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "broken.yaml", text)
    assert refused("simulate", "-f", file).startswith(f"Error: {file}")


def test_unreadable_json(tmp_path: Path) -> None:
    file = write(tmp_path / "broken.json", '{"kind": "Pod",')
    assert refused("simulate", "-f", file).startswith(f"Error: {file}")


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert refused("simulate", "-f", missing) == f"Error: {missing}: cannot be read: No such file or directory"
    assert refused("simulate", "-f", cluster(tmp_path), "--config", missing).startswith(f"Error: {missing}: cannot be")
    assert str(missing) in refused("simulate", "-f", cluster(tmp_path), "--plugin", missing)


def test_an_unknown_plugin_in_the_configuration(tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", CONFIG + "  plugins: {filter: {enabled: [{name: Ghost}]}}\n")
    line = refused("simulate", "-f", cluster(tmp_path), "--config", config)
    assert '"Ghost" does not exist' in line


def test_a_plugin_file_that_cannot_be_run(tmp_path: Path) -> None:
    file = write(tmp_path / "odd.py", "def broken(:\n")
    assert refused("simulate", "-f", cluster(tmp_path), "--plugin", file).startswith(f"Error: {file}: SyntaxError")
    file = write(tmp_path / "empty.py", "x = 1\n")
    assert "no plugin found" in refused("simulate", "-f", cluster(tmp_path), "--plugin", file)


def test_a_plugin_without_its_method(tmp_path: Path) -> None:
    file = write(tmp_path / "odd.py", PLUGIN.format(base="ScorePlugin", method="socre", body="return 0"))
    assert "score() is missing" in refused("simulate", "-f", cluster(tmp_path), "--plugin", file)


FILTER = """
    def filter(self, *given):
        return True
"""


def test_a_plugin_without_the_base_class_of_a_method(tmp_path: Path) -> None:
    file = write(tmp_path / "odd.py", PLUGIN.format(base="FilterPlugin", method="score", body="return 0") + FILTER)
    told = f'{file}: plugin "Odd": method score() is not called; derive Odd from ScorePlugin too, or rename the method'
    assert told in refused("config", "check", write(tmp_path / "config.yaml", CONFIG), "--plugin", file)
    result = steersman("simulate", "-f", cluster(tmp_path), "--plugin", file)
    assert f"Note: {told}" in result.stderr


@pytest.mark.parametrize(
    ("base", "method", "body", "message"),
    [
        ("FilterPlugin", "filter", 'raise ValueError("no idea")', 'running "Odd" filter plugin: ValueError: no idea'),
        ("ScorePlugin", "score", "return 101", 'plugin "Odd" returns an invalid score 101'),
        ("ScorePlugin", "score", "return -1", 'plugin "Odd" returns an invalid score -1'),
        ("ScorePlugin", "score", "return 1 / 0", 'running Score plugins: plugin "Odd" failed with: ZeroDivisionError'),
        ("ScorePlugin", "score", 'return "many"', 'running Score plugins: plugin "Odd" failed with: score() returned'),
        ("FilterPlugin", "filter", "return 3", 'running "Odd" filter plugin: returned 3'),
    ],
)
def test_a_plugin_that_breaks_fails_the_pods_and_the_run(
    tmp_path: Path, base: str, method: str, body: str, message: str
) -> None:
    plugin = write(tmp_path / "odd.py", PLUGIN.format(base=base, method=method, body=body))
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: free}\nspec: {containers: [{name: c, image: app}]}\n"
    result = steersman("simulate", "-f", cluster(tmp_path, pod), "--plugin", plugin)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: pod default/")
    assert message in line
    assert "(SchedulerError, 3 attempts since 0s)" in result.stdout


def test_a_directory_without_manifests(tmp_path: Path) -> None:
    assert refused("simulate", "-f", tmp_path).startswith(f"Error: {tmp_path}: contains no .json, .yaml, .yml file")


def test_an_unknown_feature_gate(tmp_path: Path) -> None:
    line = refused("simulate", "-f", cluster(tmp_path), "--feature-gates", "Ghost=true")
    assert "unrecognized feature gate: Ghost" in line


def test_an_annotation_that_is_no_number(tmp_path: Path) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: job, annotations: {steersman.dev/run-seconds: soon}}\n"
        "spec: {containers: [{name: c, image: app}]}\n"
    )
    file = cluster(tmp_path, pod)
    assert refused("simulate", "-f", file).startswith(
        f"Error: {file}, document 4: Pod default/job: metadata.annotations"
    )


def test_a_kubelet_policy_that_cannot_be_used(tmp_path: Path) -> None:
    header = "apiVersion: steersman.dev/v1\nkind: KubeletPolicy\n"
    policy = write(tmp_path / "policy.yaml", header + "pods: {runSeconds: soon}\n")
    line = refused("simulate", "-f", cluster(tmp_path), "--kubelet-policy", policy)
    assert line.startswith(
        f'Error: {policy}: KubeletPolicy: pods.runSeconds: is not a number of seconds (got "soon"); use a number'
    )


LONG_NUMBER = "9" * 5000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("long.yaml", f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{priority: {LONG_NUMBER}}}\n"),
        (
            "long.json",
            f'{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{{"priority":{LONG_NUMBER}}}}}',
        ),
        ("two.json", f'{{"kind":"Pod"}}{{"apiVersion":"v1","kind":"Pod","spec":{{"priority":{LONG_NUMBER}}}}}'),
        ("tagged.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: !!int abc}\n"),
        ("brackets.yaml", "a: " + "[" * 200_000),
        ("columns.yaml", "".join(" " * depth + "a:\n" for depth in range(3_000))),
        (
            "aliases.yaml",
            "a0: &a0 [x, x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)),
        ),
    ],
)
def test_numbers_nesting_and_aliases_without_end(tmp_path: Path, name: str, text: str) -> None:
    file = write(tmp_path / name, text)
    line = refused("simulate", "-f", file)
    assert line.startswith(f"Error: {file}")
    assert len(line) < 500


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    pod = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"priority": "\\u001b[2J\\u202e"}}'
    line = refused("simulate", "-f", write(tmp_path / "pod.json", pod))
    assert line.isprintable()
    assert "[2J" in line
