# SPDX-License-Identifier: Apache-2.0
"""`python -m scripts.site FOLDER`: the source of the site, for MkDocs to render."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.site.assembly import assemble

if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
