# SPDX-License-Identifier: Apache-2.0
"""Compiled expressions by text, limited by total length: memory depends on length, and the number
of expressions is unlimited."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class ExpressionCache(Generic[T]):
    """LRU cache of compiled expressions."""

    def __init__(self, most_characters: int) -> None:
        self._most_characters = most_characters
        self._characters = 0
        self._by_text: OrderedDict[tuple[str, bool], T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_text)

    def get(self, text: str, variant: bool) -> T | None:
        found = self._by_text.get((text, variant))
        if found is not None:
            self._by_text.move_to_end((text, variant))
        return found

    def put(self, text: str, variant: bool, compiled: T) -> None:
        """Add an expression that is not cached."""
        self._by_text[text, variant] = compiled
        self._characters += len(text)
        while self._characters > self._most_characters and len(self._by_text) > 1:
            (dropped, _), _ = self._by_text.popitem(last=False)
            self._characters -= len(dropped)
