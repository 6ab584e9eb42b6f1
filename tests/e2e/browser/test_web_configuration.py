# SPDX-License-Identifier: Apache-2.0
"""Configurations on the web page of a real sandbox: checked, tried, applied and compared; former moments; a report file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.browser.conftest import Browser
from tests.e2e.browser.page_steps import AXE, DRAWN, LIVE, OVERFLOW, Step, assert_silent, place
from tests.e2e.browser.web_sandbox import PLACED, PODS, WAITING, WebSandbox, objects, pod, web_sandbox

from steersman.cli import main
from steersman.testing.control_plane import Binaries

EDITOR = ".cm-content"
PACK = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - name: NodeResourcesFit
        weight: 7
      disabled:
      - name: NodeResourcesFit
      - name: NodeResourcesBalancedAllocation
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - name: cpu
          weight: 1
"""
PROFILE: Step = ("wait_text", "[aria-label='Profile default-scheduler'] td", "NodeResourcesFit")


@pytest.fixture(scope="module")
def sandbox(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSandbox]:
    with web_sandbox(tmp_path_factory.mktemp("web"), binaries) as running:
        yield running


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 420)])
def test_pages_about_configurations_are_accessible_and_fit(
    browser: Browser, sandbox: WebSandbox, theme: str, width: int
) -> None:
    places: dict[str, Step] = {
        "/configuration": PROFILE,
        "/configuration?tab=values": ("wait_text", "td", "podInitialBackoffSeconds"),
        "/configuration?tab=edit": ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        "/compare": ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        "/compare?tab=runs": ("wait", "input[type=file]"),
        "/time": ("wait", "[aria-label='The past'] input[type=range]"),
    }
    steps: list[Step] = [LIVE]
    for path, shown in places.items():
        steps += [("hash", path), shown, ("evaluate", OVERFLOW), ("axe", str(AXE))]
    seen = browser.visit(sandbox.address, *steps, width=width, theme=theme)
    assert_silent(seen, sandbox.address)
    assert dict(zip(places, seen.values[3::4], strict=True)) == dict.fromkeys(places, 0)
    assert dict(zip(places, seen.values[4::4], strict=True)) == {path: [] for path in places}


def test_two_configurations_are_compared(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/compare"),
        ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        ("paste", f"{EDITOR} >> nth=1", PACK),
        ("click", 'button >> text="Compare"'),
        ("wait_text", "[aria-label=Comparison] h2", "would go elsewhere"),
        ("text", "[aria-label=Comparison]"),
    )
    assert_silent(seen, sandbox.address)
    assert "nodes in use" in seen.values[4]
    assert "NodeResourcesFit gives it" in seen.values[4]


def test_two_runs_are_compared_with_the_plugin_that_made_each_difference(
    browser: Browser, sandbox: WebSandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other run is a simulation of the same objects under a configuration that packs."""
    manifests, packing, report = tmp_path / "objects.json", tmp_path / "pack.yaml", tmp_path / "packed.html"
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()}))
    packing.write_text(PACK)
    given = ["simulate", "-f", str(manifests), "--config", str(packing)]
    main([*given, "--report", str(report), "--interactive"], standalone_mode=False)
    assert f"{PLACED} of " in capsys.readouterr().out
    reasons = """[...document.querySelectorAll('[aria-label=Comparison] [data-row]')].map(
        (row) => [...row.cells].map((cell) => cell.textContent.trim()))"""
    seen = browser.visit(
        place(sandbox.address, "/compare?tab=runs"),
        ("wait", "input[type=file]"),
        ("upload", "input[type=file]", str(report)),
        ("wait_text", "[aria-label=Comparison] h2", "are elsewhere"),
        ("evaluate", reasons),
        ("text", "[aria-label=Comparison] h2"),
        ("axe", str(AXE)),
    )
    assert_silent(seen, sandbox.address)
    rows = seen.values[3]
    assert rows
    for name, here, there, plugin, why in rows:
        assert name.startswith("default/web-")
        assert here != there
        assert plugin in ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread")
        assert "in this run" in why or "in the other run" in why
    assert {row[3] for row in rows} >= {"NodeResourcesFit"}
    assert seen.values[4] == f"{len(rows)} pods of {PLACED + WAITING} are elsewhere"
    assert seen.values[5] == []


def test_a_file_that_is_no_report_is_refused(browser: Browser, sandbox: WebSandbox, tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<p>another page</p>")
    seen = browser.visit(
        place(sandbox.address, "/compare?tab=runs"),
        ("wait", "input[type=file]"),
        ("upload", "input[type=file]", str(other)),
        ("wait_text", "[role=alert]", "other.html is not an interactive report"),
    )
    assert_silent(seen, sandbox.address)


def test_a_configuration_is_checked_tried_and_applied(browser: Browser, sandbox: WebSandbox) -> None:
    seen = browser.visit(
        place(sandbox.address, "/configuration?tab=edit"),
        ("wait_text", EDITOR, "KubeSchedulerConfiguration"),
        ("paste", EDITOR, PACK.replace("MostAllocated", "Fullest")),
        ("wait_text", "[role=alert]", "scoringStrategy.type"),
        ("paste", EDITOR, PACK),
        ("wait_text", "[role=status]", "differ from what is in effect"),
        ("click", "button >> text=Try it"),
        ("wait_text", "[aria-label=Comparison] h2", "would go elsewhere"),
        ("click", 'button >> text="Apply"'),
        ("wait_text", "[role=status]", "Applied"),
        ("hash", "/configuration"),
        ("wait_text", "[aria-label='Profile default-scheduler'] tr", "applied"),
        LIVE,
    )
    assert_silent(seen, sandbox.address)


def test_a_former_moment_is_shown_on_every_page(browser: Browser, sandbox: WebSandbox) -> None:
    before = browser.visit(sandbox.address, LIVE, ("evaluate", "document.querySelector('time').dateTime")).values[1]
    assert sandbox.process.request("POST", PODS, pod("later-0", "100m"))[0] == 201
    seen = browser.visit(
        place(sandbox.address, "/time"),
        ("wait", "[aria-label='The past'] input[type=range]"),
        ("evaluate", f"location.hash = `/cluster?at=${{Date.parse('{before}') / 1000}}`"),
        ("wait_text", "[role=status]", "The past"),
        DRAWN,
        ("wait_text", "[data-stop=bound] strong", str(PLACED)),
        ("click", "text=Back to now"),
        ("wait_text", "[data-stop=bound] strong", str(PLACED + 1)),
    )
    assert_silent(seen, sandbox.address)


def test_a_simulation_is_examined_in_a_file(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    main(
        ["simulate", "--example", "quickstart", "--seed", "1", "--report", str(report), "--interactive"],
        standalone_mode=False,
    )
    assert "15 of 16 pods scheduled" in capsys.readouterr().out
    url = report.as_uri()
    seen = browser.visit(
        f"{url}#/cluster",
        ("wait_text", "[role=status]", "One moment"),
        DRAWN,
        ("axe", str(AXE)),
        ("hash", "/pending"),
        ("wait_text", "h2", "Insufficient example.com/gpu"),
        ("press", "/"),
        *[("press", letter) for letter in "web-0"],
        ("wait_text", "[role=option]", "default/web-0"),
        ("press", "Enter"),
        ("wait_text", "h1", "default/web-0"),
        ("hash", "/pod/default/web-0?tab=matrix"),
        ("wait_text", "[data-rows='6'] td", "alpha-2"),
        ("hash", "/nodes"),
        ("wait_text", "td", "charlie-gpu"),
        ("hash", "/configuration"),
        PROFILE,
        ("texts", "[role=tab]"),
        ("hash", "/pod/default/train-2?tab=matrix&attempt=1"),
        ("wait_text", ".notice", "No record is kept here"),
        ("texts", "nav[aria-label=Pages] a"),
    )
    assert (seen.console, seen.errors) == ([], [])
    assert seen.values[2] == []
    assert not {"Objects", "Time", "Compare"} & set(seen.values[-1])
    assert "Edit and try" not in seen.values[-4]
    assert {request.split("#")[0] for request in seen.requests if not request.startswith(("blob:", "data:"))} == {url}
