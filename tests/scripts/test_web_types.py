# SPDX-License-Identifier: Apache-2.0
"""The types of the web page are those of the structs that encode the answers."""

from __future__ import annotations

from scripts.web_types import NAMES, PAGE, VALUES, web_types


def test_the_types_of_the_page_are_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == web_types(), "run `python -m scripts.web_types`"


def test_every_narrower_type_and_every_name_belongs_to_a_struct() -> None:
    written = web_types()
    assert [name for name in NAMES.values() if f"export interface {name} {{" not in written] == []
    for field, narrower in VALUES.items():
        assert (
            f"{field.partition('.')[2]}: {narrower};" in written
            or f"{field.partition('.')[2]}?: {narrower};" in written
        )
