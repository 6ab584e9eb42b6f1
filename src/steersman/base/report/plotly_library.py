# SPDX-License-Identifier: Apache-2.0
"""Plotly's JavaScript from the `plotly` package on PyPI, the extra `steersman[report]`.

It is read as a file, never imported, because it runs in the reader's browser. A page contains it
compressed, and allows it by its hash. See docs/adr/0029-plotly-in-reports.md.
"""

from __future__ import annotations

import base64
import gzip
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from steersman.base.errors import SteersmanError

MISSING: Final = "charts in reports need Plotly, which is not installed; pip install 'steersman[report]'"
_FILE: Final = Path("package_data", "plotly.min.js")
#: The bundle adds style sheets that reports do not use, unless an element with this id exists.
_STYLE_GUARD: Final = re.compile(r'getElementById\("([0-9a-f]{64})"\)')


class PlotlyLibrary(msgspec.Struct, frozen=True):
    """The script, and the additions that a page with a strict policy needs."""

    source: str
    #: Compressed with gzip, base64-encoded.
    packed: str
    #: Ids of the style sheets that it adds unless an element with the id exists.
    style_ids: tuple[str, ...]


@cache
def load_plotly_library() -> PlotlyLibrary:
    """Return the installed library; raises `SteersmanError` with the install command if it is
    missing."""
    found = find_spec("plotly")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / _FILE
        if path.is_file():
            return _library(path.read_text("utf-8"))
    raise SteersmanError(MISSING)


def _library(source: str) -> PlotlyLibrary:
    packed = base64.b64encode(gzip.compress(source.encode(), mtime=0)).decode()
    return PlotlyLibrary(source, packed, tuple(dict.fromkeys(_STYLE_GUARD.findall(source))))
