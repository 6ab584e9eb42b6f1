# SPDX-License-Identifier: Apache-2.0
"""Template files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.workload_texts import pod

from steersman import api
from steersman.base.errors import InputError
from steersman.testing.bench.templates import Template, Templates, UnknownKind


def template(folder: Path, text: str) -> Template:
    file = folder / "template.yaml"
    file.write_text(text, encoding="utf-8")
    return Template(str(file))


def test_objects_differ_by_their_index(tmp_path: Path) -> None:
    made = template(tmp_path, pod(metadata="name: pod-{{ .Index }}"))
    assert [made.draft(index, 2).object.metadata.name for index in range(2)] == ["pod-0", "pod-1"]


def test_a_file_without_expressions_is_decoded_once(tmp_path: Path) -> None:
    made = template(tmp_path, pod())
    assert made.draft(0, 2) is made.draft(1, 2)


def test_the_same_file_is_read_once(tmp_path: Path) -> None:
    template(tmp_path, pod())
    templates = Templates()
    assert templates(str(tmp_path / "template.yaml")) is templates(str(tmp_path / "template.yaml"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (pod(metadata="name: pod-{{ .Name }}"), "template.yaml: the template expression has no value"),
        ("kind: Pod\n---\nkind: Pod", "template.yaml: has 2 documents"),
        ("- 1", "template.yaml: has 1 documents"),
        ("kind: [", "template.yaml, line 1: is not YAML"),
        ("kind: Pod\nspec: 1", "template.yaml: spec: must be a map"),
        (pod("overhead: {cpu: much}"), "template.yaml: spec.overhead.cpu"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError) as refusal:
        template(tmp_path, text).draft()
    assert complaint in str(refusal.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ghost\.yaml: cannot be read: No such file"):
        Template(str(tmp_path / "ghost.yaml"))


def test_another_kind_than_the_operation_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'kind: is of the wrong kind \(got "Pod"\); use a Node'):
        template(tmp_path, pod()).make_object(api.Node)


def test_an_unread_kind_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(UnknownKind, match="Gadget"):
        template(tmp_path, "apiVersion: v1\nkind: Gadget").draft()


def test_a_draft_keeps_what_steersman_does_not_read(tmp_path: Path) -> None:
    draft = template(tmp_path, pod("hostname: web")).draft()
    assert draft.document["spec"]["hostname"] == "web"
