# SPDX-License-Identifier: Apache-2.0
"""Unknown fields of manifests: refused, told in a few lines, or ignored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steersman.api import manifests, yaml_documents
from steersman.api.object_check import MAX_ERRORS_OF_AN_OBJECT, MAX_LINES, ObjectCheck, Validation
from steersman.base.errors import InputError, InputErrors

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: c, image: app, resorces: {requests: {cpu: 1}}}
"""


CONTAINERS = {"containers": [{"name": "c", "image": "app"}]}


def pods(count: int, **spec: Any) -> str:
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"web-{index}"}, "spec": {**CONTAINERS, **spec}}
        for index in range(count)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def load(file: Path, text: str, validate: Validation = "warn") -> manifests.Loaded:
    file.write_text(text)
    return manifests.load([str(file)], validate=validate)


def test_a_misspelt_field_is_reported_with_file_object_and_field(tmp_path: Path) -> None:
    loaded = load(tmp_path / "pod.yaml", POD)
    assert len(loaded.objects) == 1
    assert loaded.notes == (
        f"{tmp_path}/pod.yaml, document 1: Pod default/web: spec.containers[0].resorces: is not a field of this kind; "
        'did you mean "resources"?',
    )


def test_strict_validation_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"pod\.yaml, line 7, document 1: Pod default/web: spec\.containers\[0\]\.resorces: is not"
    ):
        load(tmp_path / "pod.yaml", POD, "strict")


def test_strict_validation_refuses_it_in_a_dump_as_well(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"item 1: Pod default/web-0: spec\.nodeSelectr: .*did you mean \"nodeSelector\""
    ):
        load(tmp_path / "pods.json", pods(2, nodeSelectr={}), "strict")


def test_unknown_fields_are_not_checked_with_ignore(tmp_path: Path) -> None:
    assert load(tmp_path / "pod.yaml", POD, "ignore").notes == ()


def test_what_is_right_has_no_notes_and_passes_strict_validation(tmp_path: Path) -> None:
    assert load(tmp_path / "pods.json", pods(3, nodeName="n"), "strict").notes == ()


def test_a_field_that_repeats_in_many_objects_is_told_once(tmp_path: Path) -> None:
    notes = load(tmp_path / "pods.json", pods(50, nodeSelectr={})).notes
    assert len(notes) == 1
    assert notes[0].endswith('did you mean "nodeSelector"? (and 49 other Pod objects)')


def test_of_thousands_of_objects_the_rest_is_counted(tmp_path: Path) -> None:
    notes = load(tmp_path / "pods.json", pods(1000, nodeSelectr={})).notes
    assert notes[0].endswith("(and 199 other Pod objects)")
    assert notes[1] == "800 more Pod objects have unknown fields"


def test_many_unknown_fields_are_reported_in_a_bounded_number_of_lines(tmp_path: Path) -> None:
    notes = load(tmp_path / "pods.json", pods(1, **{f"unknown{index}": 1 for index in range(500)})).notes
    assert len(notes) == MAX_LINES + 1
    assert notes[-1] == f"{500 - MAX_LINES} more fields are unknown or invalid"


def test_kinds_that_are_passed_over_are_checked_too(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndat: {}\n"
    assert ["ConfigMap x/c: dat:" in note for note in load(tmp_path / "a.yaml", text).notes] == [True]


def test_custom_resources_are_not_checked(tmp_path: Path) -> None:
    text = "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: c, bogus: 1}\nanything: {}\n"
    assert load(tmp_path / "a.yaml", text, "strict").notes == ()


def test_an_object_that_says_no_version_is_checked_as_the_kind_that_is_read(tmp_path: Path) -> None:
    assert (
        len(
            load(
                tmp_path / "a.yaml",
                "kind: Pod\nmetadata: {name: p}\nspek: {}\nspec: {containers: [{name: c, image: app}]}\n",
            ).notes
        )
        == 1
    )


def test_an_unheard_way_to_validate_is_refused() -> None:
    with pytest.raises(InputError, match="use one of strict, warn, lenient, ignore"):
        ObjectCheck("sometimes")  # type: ignore[arg-type]


# -- values that an API server would refuse ------------------------------------------------------------------------------

INVALID = """\
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  containers:
  - {name: c, image: app}
  restartPolicy: never
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: second}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: app}
"""


def test_all_invalid_objects_are_reported_together_with_their_lines_and_what_was_meant(tmp_path: Path) -> None:
    with pytest.raises(InputErrors) as refusal:
        load(tmp_path / "a.yaml", INVALID)
    first, second = map(str, refusal.value.errors)
    assert first == (
        f'{tmp_path}/a.yaml, line 7, document 1: Pod default/first: spec.restartPolicy: Unsupported value: "never": '
        'supported values: "Always", "OnFailure", "Never"; did you mean "Never"?'
    )
    assert second.startswith(
        f"{tmp_path}/a.yaml, line 15, document 2: Deployment default/second: spec.template.metadata.labels: Invalid value: "
    )
    assert second.endswith("`selector` does not match template `labels`")


def test_a_value_of_the_wrong_type_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"a\.yaml, line 7, document 1: Pod default/web: spec\.priority: must be an integer"
    ):
        load(tmp_path / "a.yaml", POD.strip() + "\n  priority: high\n")


def test_the_work_for_errors_of_one_object_grows_no_faster_than_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described, parsed = 0, 0
    describe, parse = manifests._description, yaml_documents.nodes

    def counting_describe(*about: Any) -> str:
        nonlocal described
        described += 1
        return describe(*about)

    def counting_parse(text: str) -> Any:
        nonlocal parsed
        parsed += 1
        return parse(text)

    monkeypatch.setattr(manifests, "_description", counting_describe)
    monkeypatch.setattr(yaml_documents, "nodes", counting_parse)
    with pytest.raises(InputErrors) as refusal:
        load(tmp_path / "a.json", pods(1, tolerations=[{"key": "k", "operator": "exists"}] * 100))
    assert len(refusal.value.errors) == MAX_ERRORS_OF_AN_OBJECT + 1
    assert (described, parsed) == (1, 1)


def test_a_wrong_network_of_a_node_is_refused_without_a_list_of_networks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"spec\.podCIDRs\[0\]: Invalid value: \"x\": must be a valid CIDR value"):
        load(tmp_path / "node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {podCIDR: x}}")


def test_lenient_validation_continues_with_notes(tmp_path: Path) -> None:
    loaded = load(tmp_path / "a.yaml", INVALID, "lenient")
    assert len(loaded.objects) == 2
    assert ["spec.restartPolicy" in note for note in loaded.notes] == [True, False]


def test_objects_that_an_api_server_has_stored_are_not_refused(tmp_path: Path) -> None:
    stored = INVALID.replace("{name: first}", "{name: first, uid: a-b-c, resourceVersion: '7'}")
    with pytest.raises(InputError, match="Deployment default/second: "):
        load(tmp_path / "a.yaml", stored)


def test_values_of_the_wrong_type_in_fields_that_are_not_read_are_refused(tmp_path: Path) -> None:
    pod = {"name": "c", "image": "app", "tty": "yes"}
    with pytest.raises(InputError, match="cannot unmarshal string into Go struct field Container"):
        load(tmp_path / "pods.json", pods(1, containers=[pod]))


def test_replicas_of_a_valid_object_are_checked_for_their_names(tmp_path: Path) -> None:
    text = pods(3).replace("web-1", "web_1")
    with pytest.raises(InputError, match=r'item 2: Pod default/web_1: metadata.name: Invalid value: "web_1"'):
        load(tmp_path / "pods.json", text)


# -- kinds and amounts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "kind", "message"),
    [
        ("v1", "pod", 'kind: is not a kind of Kubernetes (got "pod"); did you mean "Pod"?'),
        ("apps/v1", "Deploymnet", 'kind: is not a kind of Kubernetes (got "Deploymnet"); did you mean "Deployment"?'),
        ("app/v1", "Deployment", 'apiVersion: has no Deployment (got "app/v1"); use "apps/v1"'),
        ("extensions/v1beta1", "Deployment", 'apiVersion: has no Deployment (got "extensions/v1beta1"); use "apps/v1"'),
        ("apps/v1beta2", "Deployment", 'apiVersion: has no Deployment (got "apps/v1beta2"); use "apps/v1"'),
        ("policy/v1beta1", "PodDisruptionBudget", 'has no PodDisruptionBudget (got "policy/v1beta1"); use "policy/v1"'),
    ],
)
def test_an_unknown_kind_or_version_is_noted_and_refused_by_strict_validation(
    tmp_path: Path, version: str, kind: str, message: str
) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n"
    loaded = load(tmp_path / "a.yaml", text)
    assert not loaded.objects
    assert loaded.notes[0].endswith(message)
    with pytest.raises(InputError) as refusal:
        load(tmp_path / "a.yaml", text, "strict")
    assert str(refusal.value).endswith(message)


def test_kinds_of_other_groups_are_custom_resources(tmp_path: Path) -> None:
    text = "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: x}\n"
    assert load(tmp_path / "a.yaml", text, "strict").skipped == {"VolumeSnapshot": 1}


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ({"cpu": "500M"}, 'is an implausible amount (got "500M"); that is 500,000,000 cores; did you mean "500m"?'),
        (
            {"cpu": "100000000Ei"},
            'is an implausible amount (got "100000000Ei"); kube-scheduler counts it as -1000m, in 64 bits',
        ),
        (
            {"memory": "512m"},
            'is an implausible amount (got "512m"); that is less than 4,096 bytes; did you mean "512Mi"?',
        ),
        (
            {"memory": "512"},
            'is an implausible amount (got "512"); that is less than 4,096 bytes; did you mean "512Mi"?',
        ),
    ],
)
def test_an_implausible_amount_is_noted(tmp_path: Path, requests: dict[str, str], message: str) -> None:
    container = {"name": "c", "image": "app", "resources": {"requests": requests}}
    assert load(tmp_path / "pods.json", pods(1, containers=[container])).notes[0].endswith(message)


def test_a_node_without_status_is_noted(tmp_path: Path) -> None:
    (note,) = load(tmp_path / "a.yaml", "kind: Node\nmetadata: {name: n}\n").notes
    assert "Node n: status.allocatable: is missing, so that no pod fits on the node" in note


def test_many_errors_of_one_object_do_not_hide_those_of_others(tmp_path: Path) -> None:
    ports = [{"containerPort": 0} for _ in range(100)]
    spec = {"containers": [{"name": "c", "image": "app", "ports": ports}]}
    with pytest.raises(InputErrors) as refusal:
        load(tmp_path / "pods.json", pods(2, **spec).replace("web-1", "web_1"))
    lines = refusal.value.lines()
    assert "Pod default/web-0: 92 more fields are invalid" in lines[8]
    assert 'Pod default/web_1: metadata.name: Invalid value: "web_1"' in lines[9]


def test_a_field_that_is_given_twice_is_refused_in_json_as_in_yaml(tmp_path: Path) -> None:
    text = pods(1, priority=1).replace('"priority": 1', '"priority": 1, "priority": 2')
    with pytest.raises(InputError, match=r"item 1: Pod default/web-0: spec\.priority: is given twice"):
        load(tmp_path / "pods.json", text)
    assert "is given twice" in load(tmp_path / "pods.json", text, "lenient").notes[0]


def test_a_pod_without_a_spec_lacks_nothing_but_containers(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        load(tmp_path / "pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web}}")
    assert str(refusal.value).endswith("Pod default/web: spec.containers: Required value")
