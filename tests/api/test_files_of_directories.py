# SPDX-License-Identifier: Apache-2.0
"""What lies beside manifests in a directory, and files that are compressed."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from steersman.api import manifests
from steersman.base.errors import InputError

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 1}}\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("values.yaml", "replicas: 3\ncontroller:\n  kind: DaemonSet\n"),
        ("list.yaml", "- a\n- b\n"),
        ("text.yml", "just text\n"),
        ("package.json", '{"name": "x"}'),
        ("templates/pod.yaml", "kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n{{- if .Values.x }}\n"),
    ],
)
def test_files_that_are_no_manifests_are_passed_over_with_a_note(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path / "node.yaml", NODE)
    write(tmp_path / name, text)
    loaded = manifests.load([str(tmp_path)])
    assert len(loaded.objects) == 1
    assert len(loaded.notes) == 1
    assert loaded.notes[0].startswith(f"{tmp_path / name} is no manifest and was passed over: ")


def test_the_same_file_is_an_error_if_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kind: is missing"):
        manifests.load([str(write(tmp_path / "values.yaml", "replicas: 3\n"))])


@pytest.mark.parametrize(
    "text",
    [
        "kind: Pod\nmetadata: {name: a\n",
        f"{NODE}---\nreplicas: 3\n",
        f"replicas: 3\n---\n{NODE}",
        "kind: Pod\nmetadata: {}\n",
        "kind: List\nitems: [{}]\n",
    ],
)
def test_a_broken_manifest_in_a_directory_is_an_error(tmp_path: Path, text: str) -> None:
    write(tmp_path / "a.yaml", text)
    with pytest.raises(InputError):
        manifests.load([str(tmp_path)])


@pytest.mark.parametrize("name", ["a.yaml.gz", "b.yml.gz", "c"])
def test_compressed_files_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(NODE.encode()))
    assert len(manifests.load([str(tmp_path / name)]).objects) == 1


def test_compressed_files_of_a_directory_and_of_standard_input_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'{"kind": "Node", "metadata": {"name": "a"}}'))
    compressed = io.BytesIO(gzip.compress(NODE.encode()))
    assert len(manifests.load([str(tmp_path), "-"], compressed).objects) == 2


def test_a_damaged_compressed_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.gz").write_bytes(gzip.compress(NODE.encode())[:-9])
    with pytest.raises(InputError, match=r"a\.yaml\.gz: cannot be uncompressed"):
        manifests.load([str(tmp_path / "a.yaml.gz")])


def test_a_compressed_file_is_decompressed_up_to_a_limit(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.yaml.gz"
    bomb.write_bytes(gzip.compress(b"#" * (manifests.MIN_UNCOMPRESSED_LIMIT + 1)))
    with pytest.raises(InputError, match=r"bomb\.yaml\.gz: is larger than 64 MiB when it is decompressed"):
        manifests.load([str(bomb)])


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("Chart.yaml", "helm template web"),
        ("kustomization.yaml", "kubectl kustomize"),
        ("kustomization.yml", "kubectl kustomize"),
    ],
)
def test_a_folder_that_has_to_be_rendered_is_refused_with_the_command(tmp_path: Path, file: str, command: str) -> None:
    write(tmp_path / "web" / file, "name: web\n")
    write(tmp_path / "web" / "node.yaml", NODE)
    with pytest.raises(
        InputError, match=f"which has to be rendered; pipe `{command} .*/web` to `-f -`, or add --render"
    ):
        manifests.load([str(tmp_path / "web")])
    with pytest.raises(InputError, match=f"pipe `{command} .*/web` to `-f -`"):
        manifests.load([str(tmp_path / "web" / file)])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "a path is empty; name a file or a folder, or - for the standard input"),
        ("https://example.com/a.yaml?b=1&c=2", r"is a URL; pipe `curl -fL 'https://.*&c=2'` to `-f -`"),
    ],
)
def test_a_path_that_names_no_file_is_refused_with_what_to_do(path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        manifests.load([path])


def test_charts_below_a_folder_are_passed_over_with_one_note_each(tmp_path: Path) -> None:
    write(tmp_path / "web" / "Chart.yaml", "name: web\n")
    write(tmp_path / "web" / "templates" / "pod.yaml", "kind: Pod\nmetadata: {name: {{ .Release.Name }}}\n")
    write(tmp_path / "node.yaml", NODE)
    loaded = manifests.load([str(tmp_path)])
    assert len(loaded.objects) == 1
    assert loaded.notes[0] == f"{tmp_path / 'web'} is a Helm chart and was passed over"


def test_input_without_any_object_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"empty\.yaml: contains no objects"):
        manifests.load([str(write(tmp_path / "empty.yaml", "# nothing\n---\n"))])
    with pytest.raises(InputError, match="-: contains no objects"):
        manifests.load(["-"], io.BytesIO(b""))


def test_a_folder_that_changes_while_it_is_read_is_refused_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(_folder: Path, _pattern: str) -> list[Path]:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "rglob", vanish)
    with pytest.raises(InputError, match=f"{tmp_path}: cannot be read: No such file or directory"):
        manifests.load([str(tmp_path)])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (NODE.encode("utf-16"), r"is UTF-16 text; save it as UTF-8"),
        (b"\0" * 257 + b"ustar\0" + b"\0" * 249, "is a tar archive; unpack it"),
        (b"PK\x03\x04" + b"\0" * 64, "is a zip archive; unpack it"),
        (b'[{"kind": "Node"}]', r'must be an object, not a list; write .*"kind": "List"'),
        (b"- kind: Node\n", r'must be an object, not a list; write .*"kind": "List"'),
        (b"kind: Node\n\tmetadata: {name: n}\n", "YAML is indented with spaces, not with tabs"),
    ],
)
def test_a_file_in_another_format_is_refused_with_what_to_do(tmp_path: Path, data: bytes, message: str) -> None:
    for name in ("a.yaml", "a.json") if data.startswith(b"[") else ("a.yaml",):
        file = tmp_path / name
        file.write_bytes(data)
        with pytest.raises(InputError, match=message):
            manifests.load([str(file)])
