# SPDX-License-Identifier: Apache-2.0
"""Renders a `Report` as one HTML file that works offline: question, answer, sections, commands,
notes.

Prose is in the HTML itself; tables, charts and heat maps are drawn by the scripts in `page/` from
JSON in the file. All text is foreign and is escaped here. The content security policy allows these
scripts and this style sheet by their hashes and nothing else, including requests: injected markup
would have no effect.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from steersman.base.build_info import KUBE_SCHEDULER_VERSION, steersman_version
from steersman.base.printable_text import printable, printable_lines
from steersman.base.report.model import BarChart, Cell, Distribution, Figures, LineChart, Report, Section, Table, Text
from steersman.base.report.page_data import json_for_html, section_data
from steersman.base.report.plotly_library import PlotlyLibrary, load_plotly_library

_SCRIPTS: Final = ("elements.js", "formats.js", "tables.js", "charts.js", "heatmap.js", "page.js")
"""In dependency order; concatenated into one script."""
_CHARTS: Final = (LineChart, BarChart, Distribution)
"""Sections that Plotly draws. A report without them does not include it."""
_VERDICTS: Final = {True: ("yes", "✓"), False: ("no", "✗"), None: ("neither", "→")}
_EMPTY: Final = ""
"""Plotly fills an empty style sheet rule by rule: its policy is the hash of the empty string."""


def render_html(report: Report) -> str:
    """Return the file's text, to be written as UTF-8. Raises `SteersmanError` if there are charts
    and Plotly is not installed."""
    library = load_plotly_library() if any(isinstance(section, _CHARTS) for section in report.sections) else None
    style, script = _asset("report.css"), _script()
    body = "\n".join(_body(report))
    data = json_for_html([section_data(section) for section in report.sections])
    packed = "" if library is None else _library(library)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script, library)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(report.title)} · Steersman</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f'<script type="application/json" id="sections">{data}</script>\n{packed}<script>{script}</script>\n</body>\n</html>\n'
    )


# -- assets ---------------------------------------------------------------------------------------


@cache
def _asset(name: str) -> str:
    return files("steersman.base.report").joinpath("page", name).read_text("utf-8")


@cache
def _script() -> str:
    return '(() => {\n"use strict";\n' + "".join(map(_asset, _SCRIPTS)) + "})();\n"


def _library(library: PlotlyLibrary) -> str:
    guards = "".join(f'<template id="{style_id}"></template>' for style_id in library.style_ids)
    return f'{guards}<script type="text/plain" id="plotly">{library.packed}</script>\n'


def _policy(style: str, script: str, library: PlotlyLibrary | None) -> str:
    scripts = csp_hash(script) if library is None else f"{csp_hash(script)} {csp_hash(library.source)}"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {csp_hash(style)} {csp_hash(_EMPTY)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def csp_hash(text: str) -> str:
    """Return the source expression of a content security policy that allows the text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# -- text -----------------------------------------------------------------------------------------


def _text(text: str) -> str:
    return escape(printable(text))


def _body(report: Report) -> Iterator[str]:
    yield '<a class="skip" href="#answer">To the answer</a>'
    yield f'<header class="top"><p class="brand">Steersman</p><h1>{_text(report.title)}</h1>{_THEME_SWITCH}</header>'
    yield f'<div class="layout">{_contents(report)}<main>'
    yield "<noscript><p>Charts and tables of this page are drawn by scripts in the file, which are switched off.</p></noscript>"
    yield from _question_and_answer(report)
    for number, section in enumerate(report.sections):
        yield _section(number, section)
    yield from _commands(report)
    yield from _notes(report)
    yield "</main></div>"
    yield f"<footer>Steersman {_text(steersman_version())}, decisions of kube-scheduler {KUBE_SCHEDULER_VERSION}</footer>"


_THEME_SWITCH: Final = (
    '<label class="theme">Theme <select id="theme"><option value="">as the system</option>'
    '<option value="light">light</option><option value="dark">dark</option></select></label>'
)


def _contents(report: Report) -> str:
    titles = [(f"section-{number}", section.title) for number, section in enumerate(report.sections)]
    if report.commands:
        titles.append(("commands", "Repeat it"))
    if report.notes:
        titles.append(("notes", "Notes"))
    links = "".join(f'<li><a href="#{anchor}">{_text(title)}</a></li>' for anchor, title in titles)
    return f'<nav aria-label="Contents"><ol><li><a href="#answer">Answer</a></li>{links}</ol></nav>'


def _question_and_answer(report: Report) -> Iterator[str]:
    verdict, mark = _VERDICTS[report.fits]
    yield f'<section id="answer" class="answer {verdict}"><p class="question">{_text(report.question)}</p>'
    yield f'<p class="sentence"><span class="mark" aria-hidden="true">{mark}</span> {_text(report.answer)}</p></section>'


def _section(number: int, section: Section) -> str:
    caption = getattr(section, "caption", "")
    anchor = f"section-{number}"
    return (
        f'<section id="{anchor}" class="card" aria-labelledby="{anchor}-title">'
        f'<h2 id="{anchor}-title">{_text(section.title)}</h2>'
        + (f'<p class="caption">{_text(caption)}</p>' if caption else "")
        + f"{_content(number, section)}</section>"
    )


def _content(number: int, section: Section) -> str:
    match section:
        case Text(is_code=True):
            return f'<pre tabindex="0">{escape(printable_lines(section.text))}</pre>'
        case Text():
            return "".join(
                f"<p>{_text(' '.join(part.split()))}</p>" for part in section.text.split("\n\n") if part.strip()
            )
        case Table() if not section.rows:
            return '<p class="caption">None.</p>'
        case Figures():
            figures = (
                f"<div><dd>{_figure(value)}</dd><dt>{_text(name)}</dt></div>" for name, value in section.values.items()
            )
            return f'<dl class="figures">{"".join(figures)}</dl>'
    return f'<div class="drawing" data-section="{number}"></div>'


def _figure(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.3g}"


def _commands(report: Report) -> Iterator[str]:
    if report.commands:
        yield '<section id="commands" class="card"><h2>Repeat it</h2>'
        for command in report.commands:
            yield f'<div class="command"><pre tabindex="0">{escape(printable_lines(command))}</pre></div>'
        yield "</section>"


def _notes(report: Report) -> Iterator[str]:
    if report.notes:
        notes = "".join(f"<li>{_text(note)}</li>" for note in report.notes)
        yield f'<section id="notes" class="card"><h2>Notes</h2><ul>{notes}</ul></section>'
