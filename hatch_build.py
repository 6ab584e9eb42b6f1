# SPDX-License-Identifier: Apache-2.0
"""What is made when the package is built: files that are in the wheel and not in git."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MadeFiles(BuildHookInterface):
    """Called by hatchling for wheels, for installations from a checkout as well."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        try:
            from scripts import protobuf_fields
        finally:
            sys.path.remove(self.root)
        problem = protobuf_fields.make(Path(self.root))
        if problem:
            self.app.display_warning(problem)
        else:
            build_data["artifacts"].append(str(protobuf_fields.TARGET))
