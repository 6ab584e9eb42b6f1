# SPDX-License-Identifier: Apache-2.0
"""Passwords in URLs."""

from __future__ import annotations

import pytest

from steersman.base.redaction import hide_passwords


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:hunter2@host/path", "https://me:***@host/path"),
        ("https://me:hun@ter:2@host", "https://me:***@host"),
        ("https://token@host", "https://***@host"),
        ('Post "http://a:b@c/filter": and http://d:e@f', 'Post "http://a:***@c/filter": and http://d:***@f'),
        ("https://host/path@2", "https://host/path@2"),
        ("mail to me@host", "mail to me@host"),
        ("", ""),
    ],
)
def test_passwords_and_lone_names_are_hidden(text: str, shown: str) -> None:
    assert hide_passwords(text) == shown
