# SPDX-License-Identifier: Apache-2.0
"""Access control delegated to the API server: TokenReview and SubjectAccessReview, cached.

`server` calls `AccessControl` before every request; the client implements `AccessReviews`. There is
no anonymous access beyond the open paths. Equal concurrent reviews are coalesced, and
`ReviewBudget` limits their number.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from steersman.base import Clock, InputError
from steersman.kube.serving.review_budget import ReviewBudget, ReviewRates, ReviewsExhausted

logger = logging.getLogger(__name__)

DEFAULT_OPEN_PATHS: Final = ("/healthz", "/readyz", "/livez")
#: Members are authorized without a review.
PRIVILEGED_GROUPS: Final = frozenset({"system:masters"})
MAX_TOKEN_LENGTH: Final = 16 * 1024
"""Maximum length of a token; longer ones are rejected without a review."""
RETRY_SECONDS: Final = 1
_MAX_CACHED: Final = 4096
T = TypeVar("T")


class User(msgspec.Struct, frozen=True):
    """Sender of a request, as in `status.user` of a TokenReview."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Access(msgspec.Struct, frozen=True):
    """Result of a SubjectAccessReview."""

    is_allowed: bool
    reason: str = ""


class AccessReviews(Protocol):
    """Reviews by the API server. Both methods raise if it does not answer."""

    async def review_token(self, token: str) -> User | None:
        """Return the user of a token; None if it is not valid."""

    async def review_access(self, user: User, verb: str, path: str) -> Access:
        """Return whether the user may use the verb (`get`) on a non-resource path."""


class AccessOptions(msgspec.Struct, frozen=True):
    """Options with the defaults of upstream's flags."""

    #: --authorization-always-allow-paths; a path may end with `*`.
    open_paths: Sequence[str] = DEFAULT_OPEN_PATHS
    #: --authentication-token-webhook-cache-ttl
    token_seconds: float = 10.0
    #: --authorization-webhook-cache-authorized-ttl
    allowed_seconds: float = 10.0
    #: --authorization-webhook-cache-unauthorized-ttl
    denied_seconds: float = 10.0
    #: Timeout of a review.
    review_seconds: float = 10.0
    #: Rate limits, applied to tokens and to access rights separately.
    rates: ReviewRates = msgspec.field(default_factory=ReviewRates)


class Granted(msgspec.Struct, frozen=True):
    """Access is granted."""

    #: None if the path is open to all.
    user: User | None = None


class Unauthenticated(msgspec.Struct, frozen=True):
    """The sender of the request is unknown."""


class AccessForbidden(msgspec.Struct, frozen=True):
    user: User
    verb: str
    path: str
    reason: str = ""


class Undecided(msgspec.Struct, frozen=True):
    """The API server did not answer the review."""

    cause: str


class TooManyReviews(msgspec.Struct, frozen=True):
    """A rate limit of reviews, of the client or of all clients, is exceeded."""

    retry_after: int = RETRY_SECONDS


Verdict = Granted | Unauthenticated | AccessForbidden | Undecided | TooManyReviews


class AccessControl:
    """Authorizes requests with reviews by the API server."""

    def __init__(self, reviews: AccessReviews, clock: Clock, options: AccessOptions | None = None) -> None:
        self._reviews = reviews
        self._options = options or AccessOptions()
        self._open = OpenPaths(self._options.open_paths)
        self._users: Reviewed[User | None] = Reviewed(clock, self._options)
        self._access: Reviewed[Access] = Reviewed(clock, self._options)

    async def decide(
        self,
        method: str,
        path: str,
        authorization: str,
        known: User | None = None,
        peer: str = "",
        *,
        is_stranger: bool = False,
    ) -> Verdict:
        """Return the verdict on a request. `authorization` is the header ("" if missing), `known`
        the user of the client certificate, `peer` the client's address. `is_stranger`: the client
        certificate belongs to no known user; without a token, even open paths are then denied, as
        upstream."""
        if path in self._open and not is_stranger:
            return Granted()
        if known is not None:
            return await self._authorise(known, method.lower(), path)
        token = bearer_token(authorization)
        if not token or len(token) > MAX_TOKEN_LENGTH:
            return Unauthenticated()
        try:
            user = await self._user(token, peer)
        except ReviewsExhausted:
            return TooManyReviews()
        except Exception as cause:
            logger.error("cannot authenticate a request for %s: %s", path, cause or type(cause).__name__)
            return Unauthenticated()
        if user is None:
            return Unauthenticated()
        return Granted(user) if path in self._open else await self._authorise(user, method.lower(), path)

    async def _authorise(self, user: User, verb: str, path: str) -> Verdict:
        if PRIVILEGED_GROUPS.intersection(user.groups):
            return Granted(user)
        try:
            access = await self._may(user, verb, path)
        except ReviewsExhausted:
            return TooManyReviews()
        except Exception as cause:
            return Undecided(str(cause) or type(cause).__name__)
        return Granted(user) if access.is_allowed else AccessForbidden(user, verb, path, access.reason)

    async def _user(self, token: str, peer: str) -> User | None:
        key = hashlib.sha256(token.encode()).digest()
        seconds = self._options.token_seconds
        return await self._users.get(key, peer, lambda: self._reviews.review_token(token), lambda _: seconds)

    async def _may(self, user: User, verb: str, path: str) -> Access:
        options = self._options
        return await self._access.get(
            (user, verb, path),
            user.name,
            lambda: self._reviews.review_access(user, verb, path),
            lambda access: options.allowed_seconds if access.is_allowed else options.denied_seconds,
        )


class Reviewed(Generic[T]):
    """Cache of one kind of review, which coalesces equal concurrent reviews."""

    def __init__(self, clock: Clock, options: AccessOptions) -> None:
        self._kept: VerdictCache[T] = VerdictCache(clock)
        self._budget = ReviewBudget(clock, options.rates)
        self._seconds = options.review_seconds
        self._under_way: dict[Hashable, asyncio.Future[T]] = {}

    async def get(
        self, key: Hashable, client: str, review: Callable[[], Awaitable[T]], good_for: Callable[[T], float]
    ) -> T:
        """Return a cached or new answer; `good_for` returns the seconds to cache it. Raise
        `ReviewsExhausted` if a rate limit is exceeded, and exceptions of the review."""
        if key in self._kept:
            return self._kept[key]
        under_way = self._under_way.get(key)
        if under_way is not None:
            return await asyncio.shield(under_way)
        with self._budget.spent_by(client):
            answer = await self._ask(key, review)
        self._kept.keep(key, answer, good_for(answer))
        return answer

    async def _ask(self, key: Hashable, review: Callable[[], Awaitable[T]]) -> T:
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._seconds):
                answer = await review()
        except BaseException as failure:
            future.set_exception(failure if isinstance(failure, Exception) else TimeoutError())
            future.exception()  # mark as retrieved: there may be no waiter
            raise
        finally:
            del self._under_way[key]
        future.set_result(answer)
        return answer


class OpenPaths:
    """Paths without access control: exact ones, and prefixes that end with `*`."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._exact = {path.removeprefix("/") for path in paths if not path.endswith("*")}
        self._prefixes = tuple(path.removeprefix("/")[:-1] for path in paths if path.endswith("*"))
        for path in paths:
            if "*" in path[:-1]:
                raise InputError("may have a * only at its end", field="--authorization-always-allow-paths", value=path)

    def __contains__(self, path: str) -> bool:
        relative = path.removeprefix("/")
        return relative in self._exact or relative.startswith(self._prefixes)


class VerdictCache(msgspec.Struct, Generic[T]):
    """Bounded cache of answers that expire; when it is full, old answers are evicted."""

    clock: Clock
    _answers: dict[Hashable, tuple[float, T]] = msgspec.field(default_factory=dict)

    def __contains__(self, key: Hashable) -> bool:
        found = self._answers.get(key)
        return found is not None and self.clock.monotonic() < found[0]

    def __getitem__(self, key: Hashable) -> T:
        return self._answers[key][1]

    def __len__(self) -> int:
        return len(self._answers)

    def keep(self, key: Hashable, answer: T, seconds: float) -> None:
        if len(self._answers) >= _MAX_CACHED:
            self._forget()
        self._answers[key] = self.clock.monotonic() + seconds, answer

    def _forget(self) -> None:
        """Drop the expired answers; if few have expired, drop the older half."""
        now = self.clock.monotonic()
        left = {key: answer for key, answer in self._answers.items() if now < answer[0]}
        self._answers = left if len(left) < _MAX_CACHED else dict(list(left.items())[_MAX_CACHED // 2 :])


def bearer_token(authorization: str) -> str:
    """Return the token of an Authorization header; "" if it has none."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.split(" ")[0] if scheme.lower() == "bearer" else ""
