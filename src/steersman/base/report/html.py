# SPDX-License-Identifier: Apache-2.0
"""Renders a `Report` as one HTML file that works offline: question, answer, sections, commands,
notes.

Prose is in the HTML itself; tables, charts and heat maps are drawn from JSON in the file by the
built page (`page`: `web/src/report`, built by `make web` and shipped in the wheel). Without it, as
in a source checkout, tables are plain HTML and charts are replaced by a note. All text is foreign
and is escaped here. The content security policy allows this script and this style sheet by their
hashes and nothing else, including requests: injected markup would have no effect.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

from steersman.base.build_info import KUBE_SCHEDULER_VERSION, steersman_version
from steersman.base.printable_text import printable, printable_lines
from steersman.base.report.model import FRACTION, Cell, Column, Figures, Report, Section, Table, Text
from steersman.base.report.page_data import json_for_html, section_data

PAGE: Final = Path(__file__).with_name("page")
"""Folder of the built script and style sheet. It is not in git."""
NOT_BUILT: Final = "the page of reports is not built, so charts are missing: type `make web` in the clone"
_SYSTEM_COLOURS: Final = (
    ":root { color-scheme: light dark; --paper: Canvas; --raised: Canvas; --sunken: Canvas; "
    "--text: CanvasText; --quiet: CanvasText; --grid: GrayText; --accent: LinkText; --yes: green; --no: crimson }\n"
)
"""Replaces the colours of the built style sheet, which follow the theme as well."""
_VERDICTS: Final = {True: ("yes", "✓"), False: ("no", "✗"), None: ("neither", "→")}


def is_page_built() -> bool:
    return (PAGE / "report.js").is_file()


def render_html(report: Report) -> str:
    """Return the file's text, to be written as UTF-8."""
    colours, script = (_built("report.css"), _built("report.js")) if is_page_built() else (_SYSTEM_COLOURS, "")
    style = colours + _own_style()
    body = "\n".join(_body(report, has_script=bool(script)))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(report.title)} · Steersman</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"{_drawing(report, script) if script else ''}</body>\n</html>\n"
    )


# -- assets ---------------------------------------------------------------------------------------


@cache
def _own_style() -> str:
    return files("steersman.base.report").joinpath("report.css").read_text("utf-8")


def _built(name: str) -> str:
    return (PAGE / name).read_text("utf-8")


def _drawing(report: Report, script: str) -> str:
    """Return the data of the sections and the script that draws them."""
    data = json_for_html([section_data(section) for section in report.sections])
    return f'<script type="application/json" id="sections">{data}</script>\n<script>{script}</script>\n'


def _policy(style: str, script: str) -> str:
    scripts = csp_hash(script) if script else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {csp_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def csp_hash(text: str) -> str:
    """Return the source expression of a content security policy that allows the text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# -- text -----------------------------------------------------------------------------------------


def _text(text: str) -> str:
    return escape(printable(text))


def _body(report: Report, has_script: bool) -> Iterator[str]:
    yield '<a class="skip" href="#answer">To the answer</a>'
    switch = _THEME_SWITCH if has_script else ""
    yield f'<header class="top"><p class="brand">Steersman</p><h1>{_text(report.title)}</h1>{switch}</header>'
    yield f'<div class="layout">{_contents(report)}<main>'
    if has_script:
        yield "<noscript><p>Charts and tables are drawn by a script in the file, and scripts are switched off.</p></noscript>"
    yield from _question_and_answer(report)
    for number, section in enumerate(report.sections):
        yield _section(number, section, has_script)
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


def _section(number: int, section: Section, has_script: bool) -> str:
    caption = getattr(section, "caption", "")
    anchor = f"section-{number}"
    return (
        f'<section id="{anchor}" class="card" aria-labelledby="{anchor}-title">'
        f'<h2 id="{anchor}-title">{_text(section.title)}</h2>'
        + (f'<p class="caption">{_text(caption)}</p>' if caption else "")
        + f"{_content(number, section, has_script)}</section>"
    )


def _content(number: int, section: Section, has_script: bool) -> str:
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
        case Table() if not has_script:
            return _plain_table(section)
    if has_script:
        return f'<div class="drawing" data-section="{number}"></div>'
    return f'<p class="caption">{_text(NOT_BUILT[0].upper() + NOT_BUILT[1:])}.</p>'


def _plain_table(table: Table) -> str:
    columns = [Column(column) if isinstance(column, str) else column for column in table.columns]
    head = "".join(f'<th scope="col">{_text(column.title)}</th>' for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_with_unit(cell, column.unit)}</td>' for cell, column in zip(row, columns, strict=True))}</tr>"
        for row in table.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _with_unit(value: Cell, unit: str) -> str:
    if value is None or isinstance(value, str):
        return _figure(value)
    return f"{value:.0%}" if unit == FRACTION else f"{_figure(value)} {_text(unit)}".rstrip()


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
