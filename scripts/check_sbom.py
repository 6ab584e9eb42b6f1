# SPDX-License-Identifier: Apache-2.0
"""Holds a bill of materials against the schema of CycloneDX 1.6. Runs with the tools of requirements/tools.lock alone."""

from __future__ import annotations

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main() -> None:
    text = Path(sys.argv[1]).read_text()
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"{sys.argv[1]}: not a CycloneDX 1.6 document: {fault.data.message}")
    print(f"{sys.argv[1]}: valid CycloneDX 1.6")


if __name__ == "__main__":
    main()
