# SPDX-License-Identifier: Apache-2.0
"""Loading manifests and dumps from files, directories and standard input."""

import io
import json
from pathlib import Path
from typing import Any

from steersman.api import Pod, key, manifests
from steersman.api.documents import SourcePlace

SPEC = {"containers": [{"name": "c", "image": "app"}]}
POD = "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: app}]}\n"


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": SPEC}


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def write(path: Path, content: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return str(path)


def keys(loaded: manifests.Loaded) -> list[str]:
    return [f"{entry.object.KIND} {key(entry.object)}" for entry in loaded.objects]


def test_a_yaml_file_may_hold_several_documents(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", f"kind: Node\nmetadata: {{name: n}}\n---\n---\n{POD}")
    loaded = manifests.load([file])
    assert keys(loaded) == ["Node n", "Pod default/p"]
    assert [entry.place for entry in loaded.objects] == [SourcePlace(file, 1), SourcePlace(file, 3)]


def test_documents_in_json_notation_may_be_separated_as_in_yaml(tmp_path: Path) -> None:
    text = '{"kind": "Node", "metadata": {"name": "n"}}\n---\n' + json.dumps(pod("p"))
    assert keys(manifests.load([write(tmp_path / "a.yaml", text)])) == ["Node n", "Pod default/p"]


def test_a_json_file_holds_one_object(tmp_path: Path) -> None:
    assert keys(manifests.load([write(tmp_path / "a.json", json.dumps(pod("p")))])) == ["Pod default/p"]


def test_json_is_recognised_without_its_suffix(tmp_path: Path) -> None:
    assert keys(manifests.load([write(tmp_path / "dump", "\n " + json.dumps(pod("p")))])) == ["Pod default/p"]


def test_a_file_may_hold_a_stream_of_json_objects(tmp_path: Path) -> None:
    stream = json.dumps(pod("a")) + "\n" + json.dumps(pod("b"), indent=2) + "\n"
    assert keys(manifests.load([write(tmp_path / "a.json", stream)])) == ["Pod default/a", "Pod default/b"]


def test_yaml_in_braces_is_yaml(tmp_path: Path) -> None:
    assert keys(
        manifests.load(
            [
                write(
                    tmp_path / "a.yaml", "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: app}]}}"
                )
            ]
        )
    ) == ["Pod default/p"]


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [pod("a"), node("n")]}
    as_json = manifests.load([write(tmp_path / "a.json", json.dumps(listed))])
    as_yaml = manifests.load([write(tmp_path / "a.yaml", "# a dump\n" + json.dumps(listed))])
    assert keys(as_json) == keys(as_yaml) == ["Pod default/a", "Node n"]
    assert as_json.objects[1].place == SourcePlace(str(tmp_path / "a.json"), 1, 2)


def test_items_of_a_typed_list_need_no_kind_of_their_own(tmp_path: Path) -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "PodList",
        "items": [{"metadata": {"name": "a", "namespace": "x"}, "spec": SPEC}],
    }
    assert keys(manifests.load([write(tmp_path / "a.json", json.dumps(listed))])) == ["Pod x/a"]
    assert keys(manifests.load([write(tmp_path / "a.yaml", "#\n" + json.dumps(listed))])) == ["Pod x/a"]


def test_lists_may_be_nested_and_empty(tmp_path: Path) -> None:
    inner = {"kind": "PodList", "items": [pod("a")]}
    listed = {"kind": "List", "items": [inner, {"kind": "NodeList", "items": []}]}
    assert keys(manifests.load([write(tmp_path / "a.json", json.dumps(listed))])) == ["Pod default/a"]


def test_directories_are_read_in_order_with_everything_below(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", json.dumps(node("b")))
    write(tmp_path / "a.json", json.dumps(node("a")))
    write(tmp_path / "sub" / "c.yml", json.dumps(node("c")))
    write(tmp_path / "notes.txt", "not a manifest")
    assert keys(manifests.load([str(tmp_path)])) == ["Node a", "Node b", "Node c"]


def test_a_dash_is_standard_input() -> None:
    loaded = manifests.load(["-"], io.BytesIO(b"kind: Node\nmetadata: {name: n}\n"))
    assert keys(loaded) == ["Node n"]
    assert loaded.objects[0].place == SourcePlace("-", 1)


def test_unknown_kinds_are_passed_over_and_counted(tmp_path: Path) -> None:
    items = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "s"}},
        pod("a"),
    ]
    loaded = manifests.load([write(tmp_path / "a.json", json.dumps({"kind": "List", "items": items}))])
    assert keys(loaded) == ["Pod default/a"]
    assert loaded.skipped == {"Secret": 2, "Service (serving.knative.dev/v1)": 1}


def test_cluster_scoped_objects_lose_a_namespace(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", "kind: Node\nmetadata: {name: n, namespace: x}")
    assert manifests.load([file]).objects[0].object.metadata.namespace == ""


def test_generated_names_are_numbered(tmp_path: Path) -> None:
    document = {"kind": "Pod", "metadata": {"generateName": "job-"}, "spec": SPEC}
    listed = {"kind": "List", "items": [document, document]}
    loaded = manifests.load([write(tmp_path / "a.json", json.dumps(listed))])
    assert keys(loaded) == ["Pod default/job-1", "Pod default/job-2"]


def test_times_stay_texts(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", POD.replace("name: p", "name: p, creationTimestamp: 2031-01-01T00:00:00Z"))
    assert manifests.load([file]).objects[0].object.metadata.creation_timestamp == "2031-01-01T00:00:00Z"


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", "\ufeffkind: Node\nmetadata: {name: n}")
    assert keys(manifests.load([file])) == ["Node n"]


def test_equal_parts_of_pods_are_stored_once(tmp_path: Path) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    items = [{**pod("a"), "spec": spec}, {**pod("b"), "spec": spec}]
    loaded = manifests.load([write(tmp_path / "a.json", json.dumps({"kind": "List", "items": items}))])
    first, second = (entry.object for entry in loaded.objects)
    assert isinstance(first, Pod)
    assert isinstance(second, Pod)
    assert first.spec.containers is second.spec.containers


def test_nothing_gives_nothing() -> None:
    assert manifests.load([]) == ([], {}, ())
