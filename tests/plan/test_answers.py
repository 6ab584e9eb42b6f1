# SPDX-License-Identifier: Apache-2.0
"""Answers are versioned documents whose schemas are shipped; programs may rely on them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import msgspec
import pytest
from scripts.lockfile import ROOT
from scripts.plan_schemas import FOLDER, answers, texts

from steersman import Simulation, plan
from steersman.base.report import Table
from steersman.cli.plan import plan as plan_commands
from steersman.testing import make_node, make_pod


def test_the_schemas_that_are_shipped_are_those_of_the_answers() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == texts()


def concrete_answers(kind: type[plan.PlanAnswer] = plan.PlanAnswer) -> Iterator[type[plan.PlanAnswer]]:
    """Yield the kinds of answers that the package defines, without the bases that have no kind."""
    for found in kind.__subclasses__():
        if hasattr(found, "KIND") and found.__module__.startswith("steersman."):
            yield found
        yield from concrete_answers(found)


#: The answer of each question, as the annotation names it, to the question.
QUESTIONS = {
    question.__annotations__.get("return"): name
    for name in plan.__all__
    if inspect.isfunction(question := getattr(plan, name))
}


def test_every_kind_of_answer_is_exported() -> None:
    assert set(concrete_answers()) == set(answers()), "export it from steersman/plan/__init__.py"


@pytest.mark.parametrize("answer", list(answers()), ids=lambda answer: answer.KIND)
def test_every_answer_has_a_question_a_command_and_a_page(answer: type[plan.PlanAnswer]) -> None:
    question = QUESTIONS.get(answer.__name__)
    assert question is not None, f"export a function that returns {answer.__name__} from steersman/plan/__init__.py"
    assert question in plan_commands.commands, f"add a command {question} to steersman/cli/plan.py"
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "how-to").glob("plan-*.md")]
    documented = any(f"steersman plan {question}" in page for page in pages)
    assert documented, f"show `steersman plan {question}` on a page docs/how-to/plan-*.md"


@pytest.mark.parametrize("page", [path.name for path in (ROOT / "docs" / "how-to").glob("plan-*.md")])
def test_every_page_of_a_question_is_on_the_site(page: str) -> None:
    assert f"how-to/{page}" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), f"add how-to/{page} to mkdocs.yml"


def test_an_answer_as_a_document_says_what_it_is_and_can_be_read_back() -> None:
    node = make_node("n1").capacity(cpu="2", memory="4Gi", pods=10).obj()
    answer = plan.capacity(Simulation.load(node), [make_pod("web").req(cpu="1").obj()])
    document = answer.to_dict()
    assert list(document)[:3] == ["apiVersion", "kind", "fits"]
    assert (document["apiVersion"], document["kind"], document["fits"]) == ("plan.steersman.dev/v1", "Capacity", 2)
    assert set(document) == set(plan.schema(plan.Capacity)["properties"])
    fields = {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
    assert msgspec.convert(fields, plan.Capacity) == answer


def test_a_report_has_the_question_the_answer_and_what_repeats_it() -> None:
    node = make_node("n1").capacity(cpu="2", memory="4Gi", pods=10).obj()
    answer = plan.capacity(Simulation.load(node), [make_pod("web").req(cpu="1").obj()])
    report = answer.report(["steersman plan capacity --pod web.yaml"])
    assert report.question == "How many more pods of web fit?"
    assert report.answer == "2 more pods fit; 1 of 1 nodes: Insufficient cpu."
    assert report.fits
    assert report.commands == ["steersman plan capacity --pod web.yaml"]


def test_a_report_has_no_empty_tables() -> None:
    nodes = [make_node(name).capacity(cpu="2", memory="4Gi", pods=10).obj() for name in ("n1", "n2")]
    answer = plan.lose(Simulation.load(nodes, make_pod("web").req(cpu="1").node("n1").obj()), ["n1"])
    assert [section.title for section in answer.report().sections if isinstance(section, Table)] == ["Lost"]
