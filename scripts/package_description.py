# SPDX-License-Identifier: Apache-2.0
"""The description of the package on PyPI, made from README.md, and the addresses beside it.

A page of a package index has no files next to it, so links are absolute. The repository does not know where it is
hosted: `make release` gets the address (`--repository https://…`) and passes it on in `STEERSMAN_REPOSITORY`. Without an
address, links to files become their labels and pictures are left out.
"""

from __future__ import annotations

import re
from typing import Final

#: The environment variable with the address of the repository, such as `https://github.com/OWNER/steersman`.
REPOSITORY: Final = "STEERSMAN_REPOSITORY"
_CODE: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def package_description(readme: str, repository: str, version: str) -> str:
    """Return README.md with absolute links to files of the release's tag."""
    parts = _CODE.split(readme)
    parts[::2] = [_LINK.sub(lambda link: _absolute(link, repository, version), part) for part in parts[::2]]
    return "".join(parts)


def project_urls(repository: str, version: str) -> dict[str, str]:
    """Return the `[project.urls]` of a repository on GitHub; none without an address."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": f"{repository}/blob/v{version}/docs/index.md",
        "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def _absolute(link: re.Match[str], repository: str, version: str) -> str:
    picture, label, target = link.groups()
    if not repository:
        return "" if picture else label
    return f"{picture}[{label}]({repository}/{'raw' if picture else 'blob'}/v{version}/{target})"
