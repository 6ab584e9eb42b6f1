# SPDX-License-Identifier: Apache-2.0
"""Static files of the page: built by `make web` from `web/`, shipped in the wheel, and public.

They contain no data. The Content-Security-Policy forbids other sources and framing.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Final

from steersman.kube.serving import NOT_FOUND, Answer, text_answer

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
"""Public paths, for `serving.AccessOptions`."""
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
    """Files of one folder, read on first use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    @cached_property
    def _paths(self) -> dict[str, Path]:
        """Files by URL path. Only files of the folder are served."""
        files = (path for path in self._folder.rglob("*") if path.is_file() and path.suffix in _TYPES)
        return {f"/{path.relative_to(self._folder).as_posix()}": path for path in files}

    @property
    def is_built(self) -> bool:
        return f"/{INDEX}" in self._paths

    def text(self, path: str) -> str:
        """Return the text of an existing file."""
        return self._paths[path].read_text(encoding="utf-8")

    def answer(self, path: str) -> Answer:
        """Return a file; `/` is the index. Browsers revalidate each time, because file names do not
        change with the page."""
        if not self.is_built:
            return text_answer(NOT_BUILT if path in ("/", f"/{INDEX}") else NOT_FOUND, 404, dict(HEADERS))
        found = self._paths.get(f"/{INDEX}" if path == "/" else path)
        if found is None:
            return text_answer(NOT_FOUND, 404, dict(HEADERS))
        return Answer(200, found.read_bytes(), _TYPES[found.suffix], {**HEADERS, "Cache-Control": "no-cache"})
