# SPDX-License-Identifier: Apache-2.0
"""What is said of scenarios that cannot be used: file, field, value, and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenario.scenarios import a_deployment, a_pod, a_scenario, arriving

from steersman import InputError
from steersman.simulation.scenario import load_scenario, run_scenario

CASES: list[tuple[dict[str, Any], str]] = [
    ({"timelin": []}, 'timelin: is not a field here (got []); did you mean "timeline"?'),
    ({"timeline": [{"at": 0, "scal": {}}]}, 'timeline[0].scal: is not a field here (got {}); did you mean "scale"?'),
    ({"timeline": [{"at": 0}]}, "timeline[0]: has no action; write one of apply, scale,"),
    (
        {"timeline": [{"at": 0, "crash": "n1", "drain": "n1"}]},
        "timeline[0]: has 2 actions: crash, drain; write a step for each",
    ),
    ({"timeline": [{"crash": "n1"}]}, "timeline[0]: lacks at"),
    ({"timeline": [{"at": "soon", "crash": "n1"}]}, 'timeline[0].at: is not a number of seconds (got "soon")'),
    (
        {"timeline": [{"at": "uniform(1, 2)", "crash": "n1"}]},
        'timeline[0].at: must not depend on chance (got "uniform(1, 2)")',
    ),
    ({"timeline": [{"at": 0, "times": 2, "crash": "n1"}]}, "timeline[0].times: needs every (got 2)"),
    ({"timeline": [{"at": 0, "every": 0, "crash": "n1"}]}, "timeline[0].every: must be more than 0"),
    ({"timeline": [{"at": 0, "every": 5, "crash": "n1"}]}, "timeline[0].crash: never ends; write times"),
    (
        {"timeline": [{"at": 0, "scale": {"target": "web", "replicas": 1}}]},
        'timeline[0].scale.target: is not an object (got "web")',
    ),
    (
        {"timeline": [{"at": 0, "scale": {"target": "deployement/web", "replicas": 1}}]},
        'timeline[0].scale.target: is of an unknown kind (got "deployement/web"); did you mean "deployment"?',
    ),
    (
        {"timeline": [{"at": 0, "scale": {"target": "pod/web", "replicas": 1}}]},
        "timeline[0].scale.target: is of a kind that this cannot be done to",
    ),
    ({"timeline": [{"at": 0, "scale": {"target": "deploy/web"}}]}, "timeline[0].scale: lacks replicas"),
    (
        {"timeline": [{"at": 0, "rollout": {"target": "deploy/web", "restart": True, "undo": True}}]},
        "timeline[0].rollout: says 2 things: restart, undo",
    ),
    (
        {"timeline": [{"at": 0, "rollout": {"target": "sts/web", "undo": True}}]},
        "timeline[0].rollout.undo: is for Deployments",
    ),
    ({"timeline": [{"at": 0, "addNodes": {"count": 2}}]}, "timeline[0].addNodes: needs a pool or a template"),
    (
        {"timeline": [{"at": 0, "addNodes": {"pool": "big"}}]},
        'timeline[0].addNodes.pool: is not a pool of the scenario (got "big")',
    ),
    (
        {"timeline": [{"at": 0, "taint": {"nodes": "n1", "add": ["a=b:NoShedule"]}}]},
        'timeline[0].taint.add[0]: is not a taint (got "a=b:NoShedule")',
    ),
    (
        {"timeline": [{"at": 0, "load": {"target": "hpa/web", "curve": "high"}}]},
        "timeline[0].load.curve: is not a load curve",
    ),
    ({"generators": [arriving()]}, 'generators[0]: never ends (got "batch"); write until or count'),
    (
        {"generators": [{**arriving(count=1), "arrivals": {}}]},
        "generators[0].arrivals: names 0 kinds of arrivals; write one of poisson, bursts, day, replay",
    ),
    ({"generators": [arriving(per_hour=0, count=1)]}, "generators[0].arrivals.poisson.perHour: Expected `float` > 0.0"),
    (
        {"generators": [arriving(count=1, template=a_deployment())]},
        'generators[0].template: generators make Pods and Jobs (got "Deployment")',
    ),
    (
        {"generators": [arriving(count=1, runTime="exponental(mean=3)")]},
        'generators[0].runTime: is not a number of seconds (got "exponental(mean=3)")',
    ),
    ({"generators": [arriving(count=1), arriving(count=2)]}, "generators[1].name: is the name of two generators"),
    (
        {"generators": [{**arriving(count=1), "arrivals": {"day": {"perHour": {"9am": 3}}}}]},
        'generators[0].arrivals.day.perHour: is not a time of day (got "9am")',
    ),
    ({"expect": {"pendin": 0}}, 'expect.pendin: is not measured (got "pendin"); did you mean "pending"?'),
    ({"expect": {"pending": "few"}}, 'expect.pending: is not an expectation (got "few")'),
    ({"measure": ["costs"]}, 'measure[0]: is not measured (got "costs"); did you mean "cost"?'),
    ({"autoscaler": {"expander": "cheap"}}, 'autoscaler.expander: is not one of the possible values (got "cheap")'),
    ({"autoscaler": {"priorities": ["x"]}}, 'autoscaler.priorities[0]: is not a pool of the scenario (got "x")'),
    ({"stop": {"atRest": False}}, "stop.atRest: needs after"),
    ({"pools": {"kind": "NodePools"}}, "pools: is no NodePools"),
    (
        {"name": "${nme}", "parameters": {"name": 1}},
        'name: is not a parameter of the scenario (got "${nme}"); did you mean "name"?',
    ),
    ({"name": "${name"}, "name: has a parameter that does not end"),
    ({"parameters": {"a": [1]}}, "parameters.a: must be a number, a string or true or false (got [1])"),
]


@pytest.mark.parametrize(("parts", "message"), CASES, ids=[message[:60] for _, message in CASES])
def test_a_scenario_that_cannot_be_used_says_where_and_why(parts: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(a_scenario(**parts)))
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Scenario", "is no Scenario"),
        ("[1]", "is no Scenario (got [1])"),
        ("", "holds 0 documents"),
        ("a: [", "line 1"),
    ],
)
def test_a_file_that_holds_no_scenario_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=str(path)) as caught:
        load_scenario(path)
    assert message in str(caught.value)


def test_files_are_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(a_scenario(timeline=[{"at": 0, "apply": "web.yaml"}])))
    with pytest.raises(InputError, match=r"web\.yaml"):
        run_scenario(path)
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(a_deployment(replicas=3)))
    assert run_scenario(path).summary.scheduled == 3


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"crash": "n7"}, 'timeline[0].crash: is not a node of the cluster (got "n7"); there are n1, n2'),
        ({"drain": ["n1", "n7"]}, 'timeline[0].drain[1]: is not a node of the cluster (got "n7")'),
        ({"scale": {"target": "deploy/api", "replicas": 2}}, 'timeline[0].scale: deployments.apps "api" not found'),
        (
            {"rollout": {"target": "deploy/wob", "restart": True}},
            'timeline[0].rollout.target: does not exist (got "deployment/default/wob"); did you mean "deployment/default/web"?',
        ),
        (
            {"rollout": {"target": "deploy/web", "image": "x", "container": "d"}},
            'timeline[0].rollout.container: is not a container of the workload (got "d"); Deployment default/web has c',
        ),
        (
            {"rollout": {"target": "deploy/web", "undo": True}},
            'timeline[0].rollout.target: has no earlier revision (got "deployment/default/web")',
        ),
        ({"delete": "pod/nobody"}, 'timeline[0].delete: pods "nobody" not found'),
    ],
)
def test_a_step_that_cannot_be_done_names_its_field(step: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    cluster = [*a_scenario()["cluster"], a_deployment()]
    path.write_text(yaml.safe_dump(a_scenario(cluster=cluster, timeline=[{"at": 5, **step}])))
    with pytest.raises(InputError) as caught:
        run_scenario(path)
    assert str(caught.value).startswith(f"{path}: Scenario: ")
    assert message in str(caught.value)


def test_a_parameter_that_the_scenario_does_not_have_is_refused() -> None:
    scenario = load_scenario(a_scenario(parameters={"rate": 5}))
    with pytest.raises(InputError, match='did you mean "rate"'):
        run_scenario(scenario, parameters={"rat": 3})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("at\n5\n", 'line 1: is not a column of the file (got "time"); there are at (time names it)'),
        ("time\nsoon\n", 'line 2: is not a number of seconds (got "soon")'),
    ],
)
def test_a_recording_that_cannot_be_read_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(text)
    arrivals = {"replay": {"file": "trace.csv"}}
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(a_scenario(generators=[{"name": "g", "arrivals": arrivals, "template": a_pod()}])))
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert f"{tmp_path / 'trace.csv'}, {message}" in str(caught.value)
