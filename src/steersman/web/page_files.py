# SPDX-License-Identifier: Apache-2.0
"""The files of the page: built by `make web` from the project in `web/`, shipped in the wheel, and open to all.

They hold no data. Nothing is loaded from elsewhere, and nobody may frame the page: the Content-Security-Policy says so.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Final

from steersman.serving.http import NOT_FOUND, Answer, text_answer

FOLDER: Final = Path(__file__).with_name("page")
INDEX: Final = "index.html"
NOT_BUILT: Final = (
    "The page was not built: type `make web` in a clone of Steersman, or install the wheel, and start again. "
    "The API under /web/v1/ works without it.\n"
)
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
OPEN_PATHS: Final = ("/", "/index.html", "/favicon.svg", "/favicon.ico", "/assets/*")
"""Paths that need no rights, for `serving.AccessOptions`."""
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".ico": "image/x-icon",
    ".png": "image/png",
    ".json": "application/json",
    ".map": "application/json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}


class PageFiles:
    """The files of one folder, read when they are first asked for."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    @cached_property
    def _paths(self) -> dict[str, Path]:
        """By the path of the address. Only what is in the folder can be asked for."""
        files = (path for path in self._folder.rglob("*") if path.is_file() and path.suffix in _TYPES)
        return {f"/{path.relative_to(self._folder).as_posix()}": path for path in files}

    @property
    def is_built(self) -> bool:
        return f"/{INDEX}" in self._paths

    def text(self, path: str) -> str:
        """A file that is there."""
        return self._paths[path].read_text(encoding="utf-8")

    def answer(self, path: str) -> Answer:
        """A file; `/` is the index. Browsers ask anew each time: files keep their names when the page changes."""
        if not self.is_built:
            return text_answer(NOT_BUILT if path in ("/", f"/{INDEX}") else NOT_FOUND, 404, dict(HEADERS))
        found = self._paths.get(f"/{INDEX}" if path == "/" else path)
        if found is None:
            return text_answer(NOT_FOUND, 404, dict(HEADERS))
        return Answer(200, found.read_bytes(), _TYPES[found.suffix], {**HEADERS, "Cache-Control": "no-cache"})
