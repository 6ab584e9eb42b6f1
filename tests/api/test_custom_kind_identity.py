# SPDX-License-Identifier: Apache-2.0
"""A custom kind is one class, however it is asked for."""

from __future__ import annotations

from steersman import api


def test_the_default_scope_and_the_same_scope_in_words_give_one_class() -> None:
    assert api.custom_kind("example.com/v1", "Rate", "rates") is api.custom_kind(
        "example.com/v1", "Rate", "rates", namespaced=True
    )


def test_another_scope_is_another_class() -> None:
    scoped = api.custom_kind("example.com/v1", "Rate", "rates")
    assert scoped is not api.custom_kind("example.com/v1", "Rate", "rates", namespaced=False)
