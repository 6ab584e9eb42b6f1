# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: charts are drawn, tables sort and filter, nothing foreign runs, no request leaves."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

import pytest
from tests.e2e.browser.conftest import Browser, Seen
from tests.report.pages import HOSTILE, full_report

from steersman.base.report import Report, Table, render_html
from steersman.cli import main

PLAIN: Final = ["web", "Insufficient cpu", "zone a"]
DRAWN: Final = ("wait", "html[data-state=drawn]")
#: Of every canvas of a heat map: how many different colours it has.
COLOURS: Final = """[...document.querySelectorAll(".heatmap canvas")].map((canvas) => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return new Set(new Uint32Array(pixels.buffer)).size; })"""
#: Of every chart: how many lines it names, bars or boxes it has.
MARKS: Final = """[...document.querySelectorAll(".lines, .bars, .distribution")].map((chart) =>
    chart.querySelectorAll("figcaption span, .bar i, svg").length)"""
#: The pixels of the first line chart, as a text.
LINE_PIXELS: Final = 'document.querySelector(".lines canvas").toDataURL()'
#: Of every line chart: how many different colours it has.
LINE_COLOURS: Final = COLOURS.replace(".heatmap", ".lines")


def written(report: Report, folder: Path) -> str:
    path = folder / "report.html"
    path.write_text(render_html(report), encoding="utf-8")
    return path.as_uri()


def assert_silent(seen: Seen, url: str) -> None:
    """No message, no error, and no request but for the file itself and what it makes on its own."""
    assert seen.console == []
    assert seen.errors == []
    assert [request for request in seen.requests if not request.startswith("blob:")] == [url]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_is_drawn_in_silence(browser: Browser, tmp_path: Path, theme: str) -> None:
    url = written(full_report(PLAIN), tmp_path)
    background = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    seen = browser.visit(
        url, DRAWN, *(("evaluate", script) for script in (MARKS, COLOURS, LINE_COLOURS, background)), theme=theme
    )
    assert_silent(seen, url)
    _, marks, colours, line_colours, red = seen.values
    assert marks == [3, 3, 6, 3]
    assert min(colours) > 10
    assert min(line_colours) > 10
    assert (red > 128) == (theme == "light")


def test_hostile_names_are_shown_and_do_nothing(browser: Browser, tmp_path: Path) -> None:
    url = written(full_report(HOSTILE), tmp_path)
    elements = 'document.querySelectorAll("main img, main b, main a[href*=script], main script").length'
    seen = browser.visit(
        url,
        DRAWN,
        ("evaluate", "document.title"),
        ("evaluate", elements),
        ("texts", "tbody tr:first-child td:first-child"),
        ("evaluate", '[...document.querySelectorAll(".lines figcaption span")].map((text) => text.textContent)'),
    )
    assert_silent(seen, url)
    _, title, count, first, legend = seen.values
    assert title == f"{HOSTILE[0]} · Steersman"
    assert count == 0
    assert first == [f"{HOSTILE[0]} 0"]
    assert any("<b>bold</b> & <a href='javascript:document.title=1'>link</a>" in text for text in legend)


def test_markup_that_got_through_would_be_stopped_by_the_policy(browser: Browser, tmp_path: Path) -> None:
    """What the escapes keep out is put in by hand: the policy is a second wall, and not for show."""
    page = render_html(full_report(PLAIN))
    smuggled = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><img src='http://127.0.0.1:9/x'>"
    path = tmp_path / "report.html"
    path.write_text(page.replace("<main>", f"<main>{smuggled}"), encoding="utf-8")
    seen = browser.visit(path.as_uri(), DRAWN, ("evaluate", "document.title"))
    assert seen.values[1] == "web · Steersman"
    assert len(seen.console) >= 3
    assert all("Content Security Policy" in message for message in seen.console)


def test_tables_sort_by_a_click_and_filter_by_words(browser: Browser, tmp_path: Path) -> None:
    rows = [
        (f"node-{number}", number * 37 % 1000, None if number % 3 else f"part-{number % 7}") for number in range(1000)
    ]
    url = written(Report("t", "q", "a", [Table("Nodes", ["node", "used", "maybe"], rows)]), tmp_path)
    first = ("texts", "tbody tr[aria-rowindex='2'] td")
    seen = browser.visit(
        url,
        DRAWN,
        ("text", ".foot span"),
        ("click", "th:nth-child(2) button"),
        first,
        ("evaluate", 'document.querySelectorAll("th")[1].getAttribute("aria-sort")'),
        ("click", "th:nth-child(2) button"),
        first,
        ("click", "th:nth-child(1) button"),
        ("texts", "tbody tr:nth-child(-n+3) td:first-child"),
        ("fill", "input[type=search]", "node-1 part-3"),
        ("text", ".foot span"),
        ("texts", "tbody td:nth-child(3)"),
        ("fill", "input[type=search]", "no such row"),
        ("text", ".foot span"),
    )
    assert_silent(seen, url)
    _, count, _, highest, order, _, lowest, _, names, _, filtered, parts, _, none = seen.values
    assert count == "1,000 rows"
    assert (highest[1], order) == ("999", "descending")
    assert lowest[1] == "0"
    assert names == ["node-0", "node-1", "node-2"]
    assert filtered == f"{len(parts)} rows"
    assert set(parts) == {"part-3"}
    assert none == "0 rows"


def test_a_long_table_has_the_rows_in_view_and_is_saved_whole(browser: Browser, tmp_path: Path) -> None:
    rows = [(f"=node-{number}", number) for number in range(2000)]
    url = written(Report("t", "q", "a", [Table("Nodes", ["node", "used"], rows)]), tmp_path)
    seen = browser.visit(
        url,
        DRAWN,
        ("evaluate", "document.querySelector('.scroll').scrollTop = 33 * 1000"),
        ("wait", "tr[data-row='1010']"),
        ("evaluate", "document.querySelectorAll('tbody tr').length"),
        ("download", "text=Save as CSV"),
    )
    assert_silent(seen, url)
    assert 20 < seen.values[3] < 100
    saved = list(csv.reader(io.StringIO(seen.values[4])))
    assert saved[0] == ["node", "used"]
    assert len(saved) == 2001
    assert saved[1] == ["'=node-0", "0"]


def test_5000_nodes_are_shown_found_and_pointed_at(browser: Browser, tmp_path: Path) -> None:
    url = written(full_report(["node"], nodes=5000, rows=20_000), tmp_path)
    seen = browser.visit(
        url,
        DRAWN,
        ("texts", ".heatmap figcaption"),
        ("evaluate", COLOURS),
        ("hover", ".heatmap figure:nth-child(2) canvas", 100, 100),
        ("text", ".tip"),
        ("fill", "input[placeholder='find nodes']", "node 4999"),
        ("select", ".controls select", "change"),
        ("focus", ".heatmap canvas"),
        ("press", "Escape"),
        ("press", "ArrowRight"),
        ("text", ".tip"),
        ("press", "ArrowDown"),
        ("text", ".tip"),
    )
    assert_silent(seen, url)
    captions, colours = seen.values[1:3]
    assert captions == ["Before · 5,000 nodes, mean 45 %, median 45 %", "After · 5,000 nodes, mean 55 %, median 55 %"]
    assert min(colours) > 10
    assert "→" in seen.values[4]
    assert seen.values[10].startswith("node 10 0 % → 100 %")
    assert "0 % → 100 %" in seen.values[12] != seen.values[10]


def test_the_theme_is_switched_by_the_reader_and_by_the_system(browser: Browser, tmp_path: Path) -> None:
    colour = ("evaluate", 'getComputedStyle(document.querySelector(".card")).backgroundColor')
    axis = ("evaluate", LINE_PIXELS)
    url = written(full_report(PLAIN), tmp_path)
    steps = (
        DRAWN,
        colour,
        axis,
        ("select", "#theme", "dark"),
        colour,
        axis,
        ("select", "#theme", ""),
        colour,
        ("theme", "dark"),
        ("wait", "html[data-theme=dark]"),
        colour,
    )
    seen = browser.visit(url, *steps)
    assert_silent(seen, url)
    values = seen.values
    assert values[1] == values[7] != values[4] == values[10]
    assert values[2] != values[5]


@pytest.mark.parametrize("width", [360, 800, 1920])
def test_no_width_needs_scrolling_sideways(browser: Browser, tmp_path: Path, width: int) -> None:
    url = written(full_report(PLAIN), tmp_path)
    seen = browser.visit(url, DRAWN, ("evaluate", "document.documentElement.scrollWidth"), width=width)
    assert_silent(seen, url)
    assert seen.values[1] <= width


def test_paper_shows_more_rows_and_light_colours(browser: Browser, tmp_path: Path) -> None:
    url = written(full_report(PLAIN), tmp_path)
    during = """new Promise((resolve) => { addEventListener("beforeprint", () => setTimeout(() => resolve(
        [document.documentElement.dataset.theme,
         ...["tbody tr", "tr.spacer"].map((rows) => document.querySelectorAll(rows).length)]), 0), { once: true });
        dispatchEvent(new Event("beforeprint")); })"""
    seen = browser.visit(url, DRAWN, ("evaluate", during), ("print", str(tmp_path / "report.pdf")), theme="dark")
    assert seen.errors == []
    assert seen.values[1] == ["light", 200, 0]
    assert seen.values[2] > 20_000


def test_a_simulated_report_is_drawn(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "quickstart.html"
    main(["simulate", "--example", "quickstart", "--seed", "1", "--report", str(page)], standalone_mode=False)
    seen = browser.visit(page.as_uri(), DRAWN, ("text", ".sentence"), ("evaluate", COLOURS))
    assert_silent(seen, page.as_uri())
    assert "15 of 16 pods are scheduled on 6 nodes" in seen.values[1]
    assert len(seen.values[2]) == 4
