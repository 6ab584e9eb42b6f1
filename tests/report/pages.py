# SPDX-License-Identifier: Apache-2.0
"""Reports to render, and a reader of what is rendered."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from steersman.base.report import (
    BYTES,
    FRACTION,
    SECONDS,
    BarChart,
    Column,
    Distribution,
    Figures,
    HeatMap,
    Line,
    LineChart,
    Report,
    Table,
    Text,
)

SCRIPT, STYLE = "document.title = 1;", ":root { --paper: #fff }\n"
HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    '" onmouseover="document.title=1" x="',
    "' onclick='document.title=1",
    "<b>bold</b> & <a href='javascript:document.title=1'>link</a>",
    "right\u202eleft\u202c \u2066isolated\u2069",
    "bell\x07 escape\x1b[31m nul\x00 line\u2028end",
    "half \ud83d of a pair",
    "]]> --> <!-- %{customdata} ${1} {{x}}",
    "=HYPERLINK(0)",
]


def built_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what `make web` builds for reports, which they carry in the test: building the real one needs Node."""
    page = folder / "built page"
    page.mkdir()
    (page / "report.js").write_text(SCRIPT)
    (page / "report.css").write_text(STYLE)
    monkeypatch.setattr("steersman.base.report.html.PAGE", page)
    return page


def full_report(texts: list[str], nodes: int = 30, rows: int = 200) -> Report:
    """A report with a section of every kind; the texts are used wherever there is a text."""

    def text(number: int) -> str:
        return texts[number % len(texts)]

    names = [f"{text(number)} {number}" for number in range(nodes)]
    before = {name: number % 10 / 10 for number, name in enumerate(names)}
    return Report(
        title=text(0),
        question=text(1),
        answer=text(2),
        fits=False,
        sections=[
            Figures(text(3), {text(number): number * 1234.5 for number in range(3)}),
            LineChart(f"lines {text(0)}", {t: Line([0, 60, 7200], [0.1, None, 0.9]) for t in texts}, FRACTION),
            LineChart(
                "stacked", {t: Line([0, 60, 7200], [1, 2, 3]) for t in texts}, text(0), stacked=True, caption=text(1)
            ),
            BarChart("bars", texts, {text(0): range(len(texts)), text(1): range(len(texts))}, text(1)),
            Distribution("distribution", {t: [1.0, 2.0, 5.0, float("nan")] for t in texts}, SECONDS),
            HeatMap(
                f"heat map {text(4)}",
                before,
                {**{name: 1 - value for name, value in list(before.items())[1:]}, "came": 1.2},
                {name: text(number) for number, name in enumerate(names)},
                {name: text(number) for number, name in enumerate(names)},
            ),
            Table(
                f"table {text(5)}",
                [
                    Column(text(1)),
                    "number",
                    Column("share", FRACTION),
                    Column("memory", BYTES),
                    "maybe",
                ],
                [
                    (f"{text(row)} {row}", row, row / rows, row * 2**28, None if row % 2 else text(row))
                    for row in range(rows)
                ],
            ),
            Text("text", "\n\n".join(texts)),
            Text("code", "\n".join(texts), is_code=True),
        ],
        commands=texts,
        notes=texts,
    )


class ReadPage(HTMLParser):
    """The elements of a page in order, each with its attributes and the text up to the next one."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        """A script ends with its text; of others, what follows belongs to an element around them."""
        if tag in ("script", "style"):
            self.elements.append(("", {}))
            self.texts.append("")

    def text_of(self, **attributes: str) -> str:
        """The text of the one element with these attributes."""
        (place,) = (at for at, (_, has) in enumerate(self.elements) if attributes.items() <= has.items())
        return self.texts[place]

    @property
    def sections(self) -> list[Any]:
        data: list[Any] = json.loads(self.text_of(id="sections"))
        return data
