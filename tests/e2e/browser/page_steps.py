# SPDX-License-Identifier: Apache-2.0
"""What tests of the web page do with it: open, wait, and hold against what must always be true."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.e2e.browser.conftest import Seen

Step = tuple[object, ...]

AXE: Final = Path(__file__).resolve().parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
LIVE: Final[Step] = ("wait_text", "[role=status]", "Live")
#: The map has been drawn: its canvas shows more than one colour.
COLOURS: Final = """(() => { const canvas = document.querySelector("canvas[role=application]");
    if (!canvas || !canvas.width) return 0;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    return new Set(new Uint32Array(pixels.buffer)).size; })()"""
DRAWN: Final[Step] = ("wait_function", f"{COLOURS} > 3")
OVERFLOW: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def place(address: str, path: str) -> str:
    """The address of a page with its token, at a place."""
    return f"{address}&{path}"


def assert_silent(seen: Seen, address: str) -> None:
    """No message, no error, and no request to another origin."""
    assert seen.console == []
    assert seen.errors == []
    origin = urlsplit(address)._replace(path="", query="", fragment="").geturl()
    assert [url for url in seen.requests if not url.startswith((f"{origin}/", "blob:"))] == []
