# SPDX-License-Identifier: Apache-2.0
"""Bad manifests: each is answered by one line that says where and what."""

import io
from pathlib import Path

import pytest

from steersman.api import manifests
from steersman.base.errors import InputError


def complaint(tmp_path: Path, content: str | bytes, name: str = "a.yaml") -> str:
    """The error text, with the directory left out."""
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        manifests.load([str(file)])
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(f"{tmp_path}/", "")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.yaml: cannot be read: No such file or directory"):
        manifests.load([str(tmp_path / "missing.yaml")])


def test_a_directory_without_manifests(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"contains no \.json, \.yaml, \.yml file"):
        manifests.load([str(tmp_path)])


def test_standard_input_that_is_not_there() -> None:
    with pytest.raises(InputError, match="-: there is no standard input to read"):
        manifests.load(["-"])


def test_unreadable_yaml(tmp_path: Path) -> None:
    assert complaint(tmp_path, "kind: Pod\nmetadata: [").startswith("a.yaml, line 2: is not YAML: ")


def test_unreadable_yaml_after_good_documents(tmp_path: Path) -> None:
    text = "kind: Node\nmetadata: {name: n}\n---\na: b: c\n"
    assert complaint(tmp_path, text) == "a.yaml, line 4: is not YAML: mapping values are not allowed in this context"


def test_unreadable_json(tmp_path: Path) -> None:
    assert complaint(tmp_path, '{\n"kind": Pod}', "a.json") == "a.json, line 2: JSON is malformed: invalid character"


def test_truncated_json(tmp_path: Path) -> None:
    assert complaint(tmp_path, '{"kind": "Pod"', "a.json") == "a.json, line 1: the JSON ends in the middle"


def test_a_broken_stream_of_json(tmp_path: Path) -> None:
    text = '{"kind": "Node", "metadata": {"name": "n"}}\n{"kind": }'
    assert complaint(tmp_path, text, "a.json") == "a.json, line 2: JSON is malformed: Expecting value"


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    assert complaint(tmp_path, b"kind: \xff\xfe") == "a.yaml: is not UTF-8 text"
    assert complaint(tmp_path, b'{"kind": "\xff\xfe"}', "a.json") == "a.json, document 1: is not UTF-8 text"


def test_a_document_that_is_no_object(tmp_path: Path) -> None:
    assert complaint(tmp_path, "- a\n- b\n") == (
        'a.yaml, document 1: must be an object, not a list; write {"apiVersion": "v1", "kind": "List", "items": […]}'
    )
    assert complaint(tmp_path, "[1]", "a.json") == (
        'a.json, document 1: must be an object, not a list; write {"apiVersion": "v1", "kind": "List", "items": […]}'
    )


def test_a_document_without_kind(tmp_path: Path) -> None:
    expected = 'document 1: kind: is missing; an object needs "apiVersion" and "kind"'
    assert complaint(tmp_path, "metadata: {name: a}") == f"a.yaml, {expected}"
    assert complaint(tmp_path, '{"metadata": {}}', "a.json") == f"a.json, {expected}"


def test_a_list_whose_items_are_no_list(tmp_path: Path) -> None:
    assert complaint(tmp_path, "kind: List\nitems: 5") == "a.yaml, document 1: must be a list (got 5)"


def test_an_item_without_kind(tmp_path: Path) -> None:
    text = '{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n"}}, {}]}'
    assert complaint(tmp_path, text, "a.json").startswith("a.json, document 1, item 2: kind: is missing")


def test_an_object_without_name(tmp_path: Path) -> None:
    assert complaint(tmp_path, "kind: Pod") == (
        'a.yaml, line 1, document 1: Pod: metadata.name: is missing; give it a "name" or a "generateName"'
    )


def test_a_field_of_the_wrong_type(tmp_path: Path) -> None:
    text = "kind: Node\nmetadata: {name: n}\n---\nkind: Pod\nmetadata: {name: p, namespace: x, labels: {a: 1}}\n"
    assert complaint(tmp_path, text) == (
        "a.yaml, line 5, document 2: Pod x/p: metadata.labels[a]: must be a string (got 1); write it in quotes"
    )


def test_a_field_of_the_wrong_type_in_a_dump(tmp_path: Path) -> None:
    text = '{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": 5}]}}]}'
    assert complaint(tmp_path, text, "a.json") == (
        "a.json, line 1, document 1, item 1: Node n: spec.taints[0].key: must be a string (got 5); write it in quotes"
    )


def test_a_negative_request(tmp_path: Path) -> None:
    text = "{kind: Pod, metadata: {name: p}, spec: {containers: [{}, {resources: {requests: {cpu: -1}}}]}}"
    assert complaint(tmp_path, text) == (
        "a.yaml, line 1, document 1: Pod default/p: spec.containers[1].resources.requests.cpu: "
        "must be greater than or equal to 0 (got -1)"
    )


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("Node", 'status: {allocatable: {memory: "-5Gi"}}', "status.allocatable.memory"),
        ("Node", 'status: {capacity: {memory: "-5Gi"}}', "status.capacity.memory"),
        (
            "Pod",
            'spec: {initContainers: [{resources: {limits: {x: "-1"}}}]}',
            "spec.initContainers[0].resources.limits.x",
        ),
        ("Pod", 'spec: {overhead: {cpu: "-1m"}}', "spec.overhead.cpu"),
        ("Pod", 'spec: {resources: {requests: {cpu: "-1m"}}}', "spec.resources.requests.cpu"),
        ("PersistentVolume", 'spec: {capacity: {storage: "-1"}}', "spec.capacity.storage"),
        ("PersistentVolumeClaim", 'spec: {resources: {requests: {storage: "-1"}}}', "spec.resources.requests.storage"),
        (
            "Deployment",
            'spec: {template: {spec: {containers: [{resources: {requests: {cpu: "-1"}}}]}}}',
            "spec.template.spec.containers[0].resources.requests.cpu",
        ),
    ],
)
def test_negative_quantities_are_found_everywhere(tmp_path: Path, kind: str, body: str, field: str) -> None:
    assert f": {field}: must be greater than or equal to 0" in complaint(
        tmp_path, f"{{kind: {kind}, metadata: {{name: x}}, {body}}}"
    )


def test_an_unreadable_quantity(tmp_path: Path) -> None:
    text = "{kind: Node, metadata: {name: n}, status: {allocatable: {memory: 5 GB}}}"
    assert complaint(tmp_path, text).startswith(
        "a.yaml, line 1, document 1: Node n: status.allocatable.memory: quantities must match the regular expression"
    )


def test_two_nodes_of_one_name(tmp_path: Path) -> None:
    text = "kind: Node\nmetadata: {name: n}\n---\nkind: Node\nmetadata: {name: n}\n"
    assert complaint(tmp_path, text) == (
        "a.yaml, line 4, document 2: Node n: is defined twice, first in a.yaml, document 1"
    )


def test_an_object_defined_in_two_files(tmp_path: Path) -> None:
    first = tmp_path / "first.yaml"
    first.write_text("{kind: Service, metadata: {name: p}, spec: {ports: [{port: 80}]}}")
    second = io.BytesIO(
        b'{"kind": "List", "items": [{"kind": "Service", "metadata": {"name": "p", "namespace": "default"}}]}'
    )
    with pytest.raises(InputError) as caught:
        manifests.load([str(first), "-"], second)
    assert str(caught.value) == (
        f"-, document 1, item 1: Service default/p: is defined twice, first in {first}, document 1"
    )


def test_nesting_beyond_reason(tmp_path: Path) -> None:
    depth = 100_000
    text = '{"kind": "Pod", "metadata": ' + "[" * depth + "]" * depth + "}"
    assert complaint(tmp_path, text, "a.json") == "a.json: is nested too deeply"
