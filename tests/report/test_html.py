# SPDX-License-Identifier: Apache-2.0
"""Reports as HTML: what is in the file, that foreign text stays text, and that nothing else may run or load."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from tests.report.pages import HOSTILE, SCRIPT, STYLE, ReadPage, built_page, full_report

from steersman.base.printable_text import has_printable_lines
from steersman.base.report import FRACTION, BarChart, Column, Report, Table, render_html

PLAIN = ["web-0", "node-1", "zone a"]


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return built_page(tmp_path, monkeypatch)


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_of(page: ReadPage) -> dict[str, list[str]]:
    (content,) = (has["content"] for _, has in page.elements if has.get("http-equiv") == "Content-Security-Policy")
    return {name: values for name, *values in (directive.split() for directive in content.split(";"))}


def test_question_answer_commands_and_notes_are_in_the_file_as_text() -> None:
    report = Report("Drain", "Where do they go?", "All fit.", [], ["steersman plan drain a"], ["One note."], fits=True)
    page = render_html(report)
    for text in (
        "<title>Drain · Steersman</title>",
        "Where do they go?",
        "All fit.",
        "steersman plan drain a",
        "One note.",
    ):
        assert text in page
    assert 'class="answer yes"' in page


def test_hostile_text_makes_no_element_and_no_attribute() -> None:
    def shape(texts: list[str]) -> list[tuple[str, list[str]]]:
        elements = ReadPage(render_html(full_report(texts))).elements
        return [(tag, sorted(attributes)) for tag, attributes in elements]

    assert shape(HOSTILE) == shape([f"plain {number}" for number in range(len(HOSTILE))])


def test_hostile_text_is_the_same_text_in_the_data() -> None:
    table = next(
        data for data in ReadPage(render_html(full_report(HOSTILE))).sections if data and data["type"] == "table"
    )
    assert table["rows"][0][0] == f"{HOSTILE[0]} 0"
    assert table["columns"][0]["title"] == HOSTILE[1]


def test_control_characters_and_marks_of_direction_are_written_out() -> None:
    page = ReadPage(render_html(full_report(HOSTILE)))
    assert all(map(has_printable_lines, page.texts))
    names = [row[0] for data in page.sections if data and data["type"] == "table" for row in data["rows"]]
    assert names[5] == r"right\u202eleft\u202c \u2066isolated\u2069 5"
    assert has_printable_lines(page.text_of(id="sections"))


def test_the_policy_allows_nothing_but_the_scripts_and_the_style_of_the_file() -> None:
    page = ReadPage(render_html(full_report(PLAIN)))
    policy = policy_of(page)
    assert policy["default-src"] == ["'none'"]
    assert policy["img-src"] == ["data:"]
    scripts = [
        text
        for (tag, has), text in zip(page.elements, page.texts, strict=True)
        if tag == "script" and "type" not in has
    ]
    assert scripts == [SCRIPT]
    assert policy["script-src"] == [hash_of(SCRIPT)]
    style = page.texts[[tag for tag, _ in page.elements].index("style")]
    assert style.startswith(STYLE)
    assert policy["style-src"] == [hash_of(style)]


def test_the_file_names_nothing_that_would_be_loaded() -> None:
    page = ReadPage(render_html(full_report(PLAIN)))
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.elements}
    assert all("src" not in has and "style" not in has for _, has in page.elements)
    assert all(has["href"].startswith("#") for _, has in page.elements if "href" in has)


def test_without_the_built_page_tables_are_html_and_charts_say_what_to_build(page: Path) -> None:
    (page / "report.js").unlink()
    text = render_html(
        Report(
            "t",
            "q",
            "a",
            [
                BarChart("bars", ["a"], {"b": [1]}),
                Table("rows", ["<n>", Column("free", FRACTION)], [(1234, 0.5), ("<b>", None)]),
            ],
        )
    )
    read = ReadPage(text)
    assert "script" not in {tag for tag, _ in read.elements}
    assert policy_of(read)["script-src"] == ["'none'"]
    assert text.count("type `make web` in the clone") == 1
    assert '<th scope="col">&lt;n&gt;</th>' in text
    assert "<tr><td>1,234</td><td>50%</td></tr><tr><td>&lt;b&gt;</td><td>–</td></tr>" in text


def test_a_table_without_rows_says_so() -> None:
    page = render_html(Report("t", "q", "a", [Table("Preempted", ["pod"], [])]))
    assert '<p class="caption">None.</p>' in page
    assert "data-section" not in page.partition("<script")[0]


def test_the_same_report_is_the_same_file() -> None:
    assert render_html(full_report(PLAIN)) == render_html(full_report(PLAIN))


def test_every_section_has_a_heading_that_the_contents_lead_to() -> None:
    page = render_html(full_report(PLAIN))
    anchors = re.findall(r'<li><a href="#([^"]+)">', page)
    assert anchors == ["answer", *(f"section-{number}" for number in range(9)), "commands", "notes"]
    for anchor in anchors:
        assert f'id="{anchor}"' in page
