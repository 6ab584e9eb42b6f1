# SPDX-License-Identifier: Apache-2.0
"""The manual page says what the commands say, and a formatter has nothing against it."""

from __future__ import annotations

from scripts.command_tree import command_entries
from scripts.man_page import PAGE, man_page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == man_page(), "run `python -m scripts.man_page`"


def test_every_command_and_option_has_its_place() -> None:
    page = man_page()
    for command in command_entries():
        for option in command.options:
            assert option.usage.replace("-", "\\-").replace("`", "") in page, (command.path, option)
