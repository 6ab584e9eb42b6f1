# SPDX-License-Identifier: Apache-2.0
"""What a newcomer reads first: how to install, and where everything is."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT
from tests.docs.code_blocks import code_blocks

#: Pages that the front page leads to.
SUBJECTS = {
    "sandbox": "sandbox.md",
    "planning": "how-to/plan-capacity.md",
    "scenarios": "how-to/scenarios.md",
    "sweeps": "how-to/sweeps.md",
    "records": "record.md",
    "web page": "how-to/web.md",
    "library": "how-to/library.md",
}


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_a_page_installs_from_the_clone_as_long_as_there_is_no_release(page: str) -> None:
    commands = [command for block in code_blocks(page) for command, _ in block.commands()]
    installs = [command for command in commands if re.match(r"pip\w* install", command)]
    assert installs[0] == "pip install ."
    assert not any(re.search(r"install steersman\b", command) for command in installs)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_front_page_of_the_docs_leads_to_every_subject(subject: str) -> None:
    assert f"]({SUBJECTS[subject]})" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_every_decision_has_a_row_and_rows_are_in_the_order_of_their_numbers() -> None:
    text = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^\| \[?(\d{4})", text, re.MULTILINE)]
    assert numbers == sorted(set(numbers))
    pages = {int(page.name[:4]) for page in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    assert pages <= set(numbers)
