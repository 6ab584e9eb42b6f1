# SPDX-License-Identifier: Apache-2.0
"""Puts the source of the site together: docs/, some pages of the root, and the reference that is written from the code.

Pages link to each other as they do in the repository. A link to a file that is no page (a test, an example) is replaced by the
file's name: a site has no such file. A link to nothing at all is an error.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Final

from scripts import cache_table
from scripts.lockfile import ROOT
from scripts.site.annotation_page import annotation_page
from scripts.site.api_page import contract_page, harness_page, library_page, objects_page
from scripts.site.command_page import command_page
from scripts.site.configuration_page import configuration_page
from scripts.site.metrics_page import metrics_page
from scripts.site.scenario_page import scenario_page

#: Pages of the root, by their places in the site.
ROOT_PAGES: Final = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "deploy/README.md": "deploy.md",
}
GENERATED: Final = {
    "reference/commands.md": command_page,
    "reference/configuration.md": configuration_page,
    "reference/metrics.md": metrics_page,
    "reference/library.md": library_page,
    "reference/plugins.md": contract_page,
    "reference/objects.md": objects_page,
    "reference/testing.md": harness_page,
    "reference/annotations.md": annotation_page,
    "reference/scenarios.md": scenario_page,
    "reference/caches.md": cache_table.page,
}
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE: Final = re.compile(r"^(```|~~~)")
#: A block with a comment that names its file, which the site shows as the title of the block.
_NAMED_BLOCK: Final = re.compile(r"^( *)<!-- file: (\S+) -->\n( *```\w+)$", re.MULTILINE)


class BrokenLinkError(Exception):
    """A page links to what does not exist."""


def assemble(target: Path) -> list[Path]:
    """Write the source of the site into an emptied folder; return the pages."""
    shutil.rmtree(target, ignore_errors=True)
    places = site_places()
    for path, place in places.items():
        written = target / place
        written.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            written.write_text(relinked((ROOT / path).read_text(encoding="utf-8"), path, places), encoding="utf-8")
        else:
            shutil.copy(ROOT / path, written)
    for place, page in GENERATED.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_text(page() + "\n", encoding="utf-8")
    return sorted(target.rglob("*.md"))


def site_places() -> dict[str, str]:
    """Files of the repository that are part of the site, and where."""
    docs = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*")) if path.is_file())
    return {**{path: path.removeprefix("docs/") for path in docs}, **ROOT_PAGES}


def relinked(text: str, path: str, places: dict[str, str]) -> str:
    """The page with links that hold in the site. BrokenLinkError names the page and the link."""
    titled = _NAMED_BLOCK.sub(r'\3 title="\2"', text)
    lines, is_code = titled.splitlines(keepends=True), False
    for index, line in enumerate(lines):
        is_code ^= bool(_FENCE.match(line))
        if not is_code:
            lines[index] = _LINK.sub(lambda link: _relinked(link, path, places), line)
    return "".join(lines)


def _relinked(link: re.Match[str], path: str, places: dict[str, str]) -> str:
    label, target = link[1], link[2]
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return link[0]
    file, hash_mark, anchor = target.partition("#")
    meant = os.path.normpath(PurePosixPath(path).parent / file)
    generated = meant.removeprefix("docs/")
    if meant in places or generated in GENERATED:
        here = PurePosixPath(places[path]).parent
        return f"[{label}]({os.path.relpath(places.get(meant, generated), here)}{hash_mark}{anchor})"
    if not (ROOT / meant).exists():
        raise BrokenLinkError(f"{path}: [{label}]({target}) leads nowhere")
    return _name_of(label, meant)


def _name_of(label: str, file: str) -> str:
    """The label, followed by the name of the file if it does not say it."""
    plain = label.strip("`")
    return label if file.endswith(plain) and plain else f"{label} (`{file}`)"
