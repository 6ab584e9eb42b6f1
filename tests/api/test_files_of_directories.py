# SPDX-License-Identifier: Apache-2.0
"""What lies beside manifests in a directory, and files that are compressed."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from steersman.api import manifests
from steersman.errors import InputError

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("values.yaml", "replicas: 3\ncontroller:\n  kind: DaemonSet\n"),
        ("kustomization.yaml", "resources: [a.yaml]\n"),
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
