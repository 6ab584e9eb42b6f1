# SPDX-License-Identifier: Apache-2.0
"""Unknown fields of manifests: refused, told in a few lines, or ignored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steersman.api import manifests
from steersman.api.field_check import MOST_LINES, FieldCheck, Validation
from steersman.errors import InputError

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: c, resorces: {requests: {cpu: 1}}}
"""


def pods(count: int, **spec: Any) -> str:
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"web-{index}"}, "spec": spec}
        for index in range(count)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def load(file: Path, text: str, validate: Validation = "warn") -> manifests.Loaded:
    file.write_text(text)
    return manifests.load([str(file)], validate=validate)


def test_a_misspelt_field_is_told_with_file_object_and_field(tmp_path: Path) -> None:
    loaded = load(tmp_path / "pod.yaml", POD)
    assert len(loaded.objects) == 1
    assert loaded.notes == (
        f"{tmp_path}/pod.yaml, document 1: Pod default/web: spec.containers[0].resorces: is not a field of this kind; "
        'did you mean "resources"?',
    )


def test_strict_validation_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"pod\.yaml, document 1: Pod default/web: spec\.containers\[0\]\.resorces: is not"
    ):
        load(tmp_path / "pod.yaml", POD, "strict")


def test_strict_validation_refuses_it_in_a_dump_as_well(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"item 1: Pod default/web-0: spec\.nodeSelectr: .*did you mean \"nodeSelector\""
    ):
        load(tmp_path / "pods.json", pods(2, nodeSelectr={}), "strict")


def test_nobody_looks_if_it_is_to_be_ignored(tmp_path: Path) -> None:
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


def test_many_unknown_fields_are_told_in_a_bounded_number_of_lines(tmp_path: Path) -> None:
    notes = load(tmp_path / "pods.json", pods(1, **{f"unknown{index}": 1 for index in range(500)})).notes
    assert len(notes) == MOST_LINES + 1
    assert notes[-1] == f"{500 - MOST_LINES} more fields are unknown"


def test_kinds_that_are_passed_over_are_checked_too(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndat: {}\n"
    assert ["ConfigMap x/c: dat:" in note for note in load(tmp_path / "a.yaml", text).notes] == [True]


def test_custom_resources_are_not_checked(tmp_path: Path) -> None:
    text = "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: c, bogus: 1}\nanything: {}\n"
    assert load(tmp_path / "a.yaml", text, "strict").notes == ()


def test_an_object_that_says_no_version_is_checked_as_the_kind_that_is_read(tmp_path: Path) -> None:
    assert len(load(tmp_path / "a.yaml", "kind: Pod\nmetadata: {name: p}\nspek: {}\n").notes) == 1


def test_an_unheard_way_to_validate_is_refused() -> None:
    with pytest.raises(InputError, match="use one of strict, warn, ignore"):
        FieldCheck("sometimes")  # type: ignore[arg-type]
