# SPDX-License-Identifier: Apache-2.0
"""What is made when the package is built: files that are in the wheel and not in git."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class MadeFiles(BuildHookInterface):
    """Called by hatchling for wheels, for installations from a checkout as well."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        try:
            from scripts import protobuf_fields, web_page
        finally:
            sys.path.remove(self.root)
        self._take(build_data, protobuf_fields.make(Path(self.root)), str(protobuf_fields.TARGET))
        # In a checkout the page is built by `make web`.
        if version != "editable":
            problem = web_page.make(Path(self.root))
            for target in (web_page.TARGET, web_page.REPORT_TARGET):
                self._take(build_data, problem, f"{target}/**")

    def _take(self, build_data: dict[str, Any], problem: str, files: str) -> None:
        if problem:
            self.app.display_warning(problem)
        else:
            build_data["artifacts"].append(files)


class PackageDescription(MetadataHookInterface):
    """Fills in the description and the project URLs; the address of the repository comes from the environment."""

    def update(self, metadata: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        try:
            from scripts.package_description import REPOSITORY, package_description, project_urls
        finally:
            sys.path.remove(self.root)
        repository, version = os.environ.get(REPOSITORY, "").rstrip("/"), metadata["version"]
        text = package_description(Path(self.root, "README.md").read_text(encoding="utf-8"), repository, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = project_urls(repository, version)
