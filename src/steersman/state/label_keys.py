# SPDX-License-Identifier: Apache-2.0
"""The label keys of pods that decide anything: those that some selector in use refers to.

Pods that differ in other labels only share their signature. Counted by those who bring selectors: count tables (`pod_counts`)
and the affinity terms of pods (`term_tables`).
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.kept import Kept

#: Keys that nobody refers to any more stay for a while: a key that comes back would concern signatures once more.
_MOST_UNUSED = 256


LABEL_KEYS_IN_USE = Kept(
    name="label keys in use",
    attributes=("LabelKeysInUse.users",),
    holds="how many selectors in use refer to a label of pods",
    key="label key",
    stamps="never: written with every change of the facts; `version` moves when a key comes",
    bound="those in use and 256 others",
    twin="the keys of all matchers and terms in use",
)


class LabelKeysInUse:
    """Invariant: `users[key]` selectors in use refer to the key; none of the unused ones is missed."""

    def __init__(self) -> None:
        #: Number of selectors in use by key. Written here alone.
        self.users: dict[str, int] = {}
        self._unused = 0
        #: Grows with every key that was not here before. Keys that disappear do not matter: pods that nothing tells apart may
        #: still be told apart.
        self.version = 0

    def keys(self) -> frozenset[str]:
        return frozenset(self.users)

    def hold(self, keys: Iterable[str]) -> None:
        """A selector that refers to the keys came into use."""
        for key in keys:
            users = self.users.get(key)
            if users is None:
                self.version += 1
            elif users == 0:
                self._unused -= 1
            self.users[key] = (users or 0) + 1

    def release(self, keys: Iterable[str]) -> None:
        """The selector is not in use any more."""
        for key in keys:
            self.users[key] -= 1
            self._unused += not self.users[key]
        if self._unused > _MOST_UNUSED:
            self.users = {key: users for key, users in self.users.items() if users}
            self._unused = 0

    def clear(self) -> None:
        """Nothing is in use any more: everything starts anew."""
        self.users.clear()
        self._unused = 0

    def __len__(self) -> int:
        return len(self.users)
