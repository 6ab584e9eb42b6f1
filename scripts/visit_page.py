# SPDX-License-Identifier: Apache-2.0
"""Visits a page with Chromium and runs the given steps: for tests and pictures, in an environment with Playwright.

`visit_page.py CHROMIUM` reads a JSON document from standard input: `url`, `width`, `height`, `theme` (light or dark) and
`steps`, each a list of a name and arguments (see `STEPS`). It prints a JSON document: `values`, what each step gave; `console`
and `errors`, the page's messages and uncaught errors; `requests`, the addresses that were asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

TIMEOUT_MS: Final = 60_000
POLL_MS: Final = 50
Step = Callable[..., object]


def print_to_paper(page: Page, path: str) -> int:
    """A PDF as paper would be; the number of its bytes."""
    return len(page.pdf(path=path, format="A4"))


def download(page: Page, selector: str) -> str:
    """The text of the file that a click offers."""
    with page.expect_download() as offered:
        page.click(selector)
    return Path(offered.value.path()).read_text("utf-8")


def accessibility(page: Page, script: str) -> list[str]:
    """What axe, whose script is at that path, objects to: its rules, and the elements."""
    page.evaluate(Path(script).read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {node['target']}" for one in found["violations"] for node in one["nodes"]]


def drag(page: Page, selector: str, dx: float, dy: float) -> None:
    """Drag from the middle of an element by a number of pixels, in steps."""
    box = page.locator(selector).bounding_box()
    assert box is not None, f"{selector} is not shown"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=5)
    page.mouse.up()


PASTE: Final = """(field, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def paste(page: Page, selector: str, text: str) -> None:
    """Puts a text into an editor in place of what is there, as people do: select all, paste."""
    page.focus(selector)
    page.keyboard.press("ControlOrMeta+a")
    page.locator(selector).evaluate(PASTE, text)


def wait_until(page: Page, script: str) -> None:
    """Waits until a script gives something true. Playwright's own way evaluates a text in the page: its policy forbids it."""
    for _ in range(TIMEOUT_MS // POLL_MS):
        if page.evaluate(script):
            return
        page.wait_for_timeout(POLL_MS)
    raise TimeoutError(f"never came true: {script}")


STEPS: Final[dict[str, Step]] = {
    "wait": lambda page, selector: page.wait_for_selector(selector, state="attached") and None,
    "wait_text": lambda page, selector, text: page.locator(selector, has_text=text).first.wait_for(state="attached"),
    "wait_function": wait_until,
    "hash": lambda page, fragment: page.evaluate("(fragment) => { location.hash = fragment }", fragment),
    "run": lambda page, *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout,
    "axe": accessibility,
    "drag": drag,
    "wheel": lambda page, by: page.mouse.wheel(0, by),
    "paste": paste,
    "upload": lambda page, selector, path: page.set_input_files(selector, path),
    "evaluate": lambda page, script: page.evaluate(script),
    "click": lambda page, selector: page.click(selector),
    "fill": lambda page, selector, text: page.fill(selector, text),
    "select": lambda page, selector, value: page.select_option(selector, value),
    "focus": lambda page, selector: page.focus(selector),
    "press": lambda page, key: page.keyboard.press(key),
    "hover": lambda page, selector, x, y: page.hover(selector, position={"x": x, "y": y}),
    "text": lambda page, selector: page.inner_text(selector),
    "texts": lambda page, selector: page.locator(selector).all_inner_texts(),
    "theme": lambda page, theme: page.emulate_media(color_scheme=theme),
    "resize": lambda page, width, height: page.set_viewport_size({"width": width, "height": height}),
    "screenshot": lambda page, path, options: page.screenshot(path=path, **options) and None,
    "print": print_to_paper,
    "download": download,
}


def visit(chromium: str, wanted: dict[str, Any]) -> dict[str, Any]:
    seen: dict[str, Any] = {"values": [], "console": [], "errors": [], "requests": []}
    with sync_playwright() as playwright:
        # Root has no user namespaces to make a sandbox of.
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=os.geteuid() != 0)
        page = browser.new_page(
            viewport={"width": wanted["width"], "height": wanted["height"]},
            color_scheme=wanted["theme"],
            reduced_motion="reduce",
            ignore_https_errors=True,  # a server of a test signs its certificate itself
        )
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", lambda message: seen["console"].append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen["errors"].append(str(error)))
        page.on("request", lambda request: seen["requests"].append(request.url))
        page.goto(wanted["url"])
        for name, *arguments in wanted["steps"]:
            seen["values"].append(STEPS[name](page, *arguments))
        browser.close()
    return seen


if __name__ == "__main__":
    print(json.dumps(visit(sys.argv[1], json.load(sys.stdin))))
