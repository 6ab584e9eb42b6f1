# SPDX-License-Identifier: Apache-2.0
"""An API server's word on tokens and rights, in memory."""

from __future__ import annotations

from steersman.kube.serving import Access, User


class Reviews:
    """`users` by token; `allowed` are pairs of user name and path. Implements `AccessReviews`."""

    def __init__(self) -> None:
        self.users = {"monitor": User("prometheus", groups=("system:authenticated",)), "guest": User("guest")}
        self.allowed = {("prometheus", "/metrics"), ("prometheus", "/configz")}
        self.asked: list[str] = []
        self.failure: Exception | None = None
        self.reason = ""

    async def review_token(self, token: str) -> User | None:
        self.asked.append(f"token {token}")
        if self.failure is not None:
            raise self.failure
        return self.users.get(token)

    async def review_access(self, user: User, verb: str, path: str) -> Access:
        self.asked.append(f"access {user.name} {verb} {path}")
        if self.failure is not None:
            raise self.failure
        return Access((user.name, path) in self.allowed, self.reason)
