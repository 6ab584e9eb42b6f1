# SPDX-License-Identifier: Apache-2.0
"""Answers are versioned documents whose schemas are shipped; programs may rely on them."""

from __future__ import annotations

import msgspec
from scripts.plan_schemas import FOLDER, texts

from steersman import Simulation, plan
from steersman.report import Table
from steersman.testing import make_node, make_pod


def test_the_schemas_that_are_shipped_are_those_of_the_answers() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == texts()


def test_an_answer_as_a_document_says_what_it_is_and_can_be_read_back() -> None:
    node = make_node("n1").capacity(cpu="2", memory="4Gi", pods=10).obj()
    answer = plan.capacity(Simulation.load(node), [make_pod("web").req(cpu="1").obj()])
    document = answer.to_dict()
    assert list(document)[:3] == ["apiVersion", "kind", "fits"]
    assert (document["apiVersion"], document["kind"], document["fits"]) == ("steersman.dev/plan/v1", "Capacity", 2)
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
