# SPDX-License-Identifier: Apache-2.0
"""Answers are versioned documents whose schemas are shipped; programs may rely on them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec
import pytest
from scripts.explain_schemas import FOLDER, texts
from tests.explain.rejections import REJECTIONS, node

from steersman import Simulation, explain
from steersman.testing import make_pod

#: In the environment of developers because kubernetes-validate needs it.
jsonschema: Any = import_module("jsonschema")


def test_the_schemas_that_are_shipped_are_those_of_the_answers() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == texts()


@pytest.mark.parametrize("name", REJECTIONS)
def test_answers_about_pending_pods_are_as_the_schema_says(name: str) -> None:
    rejection = REJECTIONS[name]
    loaded = Simulation.load(rejection.objects, plugins=rejection.plugins)
    ended = loaded.fork()
    ended.run()
    document = explain.explain_pod(ended, "wanted", explain.ExplainOptions(loaded=loaded)).to_dict()
    jsonschema.validate(document, explain.schema())
    assert list(document)[:3] == ["apiVersion", "kind", "pod"]
    assert (document["apiVersion"], document["kind"]) == ("explain.steersman.dev/v1", "Explanation")


def test_an_answer_about_a_placed_pod_is_as_the_schema_says_and_can_be_read_back() -> None:
    simulation = Simulation.load(node("n1").obj(), node("n2").obj(), make_pod("web").req(cpu="1").obj())
    simulation.run()
    answer = explain.explain_pod(simulation, "web", explain.ExplainOptions(target="n2"))
    document = answer.to_dict()
    jsonschema.validate(document, explain.schema())
    fields = {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
    assert msgspec.convert(fields, explain.PodExplanation) == answer


def test_several_answers_are_a_list_with_a_schema_of_its_own() -> None:
    simulation = Simulation.load(node("n1").obj(), *(make_pod(f"a{cpu}").req(cpu=cpu).obj() for cpu in "89"))
    simulation.run()
    document = explain.answers_document(explain.explain_pending(simulation))
    assert (document["kind"], len(document["items"])) == ("ExplanationList", 2)
    jsonschema.validate(document, explain.list_schema())


def test_a_document_that_lacks_its_cause_is_refused_by_the_schema() -> None:
    simulation = Simulation.load(make_pod("a").obj())
    simulation.run()
    document = explain.explain_pod(simulation, "a").to_dict()
    del document["cause"]
    with pytest.raises(jsonschema.ValidationError, match="'cause' is a required property"):
        jsonschema.validate(document, explain.schema())
