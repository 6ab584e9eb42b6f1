# SPDX-License-Identifier: Apache-2.0
"""The licence line is asked of sources alone, and inserted where it does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.spdx import has_licence, is_source, licence_line, with_licence, without_licence

LICENCE_LINE = "# SPDX-License-Identifier: Apache-2.0"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""\n', f'{LICENCE_LINE}\n"""A module."""\n'),
        ("#!/bin/sh\nset -eu\n", f"#!/bin/sh\n{LICENCE_LINE}\nset -eu\n"),
        ("", f"{LICENCE_LINE}\n"),
    ],
)
def test_the_line_comes_first_but_after_the_interpreter(before: str, after: str) -> None:
    assert with_licence(before, LICENCE_LINE) == after
    assert has_licence(after, LICENCE_LINE)
    assert not has_licence(before, LICENCE_LINE)


def test_the_line_counts_at_the_top_only() -> None:
    assert not has_licence("\n" * 10 + LICENCE_LINE, LICENCE_LINE)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("module.py", LICENCE_LINE),
        ("Makefile", LICENCE_LINE),
        ("charts.js", "// SPDX-License-Identifier: Apache-2.0"),
        ("report.css", "/* SPDX-License-Identifier: Apache-2.0 */"),
    ],
)
def test_the_line_is_a_comment_in_the_language_of_the_file(name: str, line: str) -> None:
    assert licence_line(Path(name)) == line


@pytest.mark.parametrize("name", ["module.py", "install.sh", "Makefile", "Dockerfile", "charts.js", "report.css"])
def test_sources_are_known_by_name(name: str) -> None:
    assert is_source(Path(name))


@pytest.mark.parametrize("name", ["README.md", "run.lock", "values.yaml"])
def test_other_files_are_not_asked(name: str) -> None:
    assert not is_source(Path(name))


def test_a_script_without_suffix_is_known_by_its_first_line(tmp_path: Path) -> None:
    script, text = tmp_path / "run", tmp_path / "LICENSE"
    script.write_text("#!/bin/sh\n")
    text.write_text("Apache License\n")
    assert is_source(script)
    assert not is_source(text)


def test_files_without_the_line_are_found(tmp_path: Path) -> None:
    good, bad, other = tmp_path / "good.py", tmp_path / "bad.js", tmp_path / "other.css"
    good.write_text(f"{LICENCE_LINE}\n")
    bad.write_text("let a = 1;\n")
    other.write_text(f"{LICENCE_LINE}\n")
    assert without_licence([good, bad, other]) == [bad, other]
