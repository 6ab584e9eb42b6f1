# SPDX-License-Identifier: Apache-2.0
"""Who may see what: delegated to the API server by TokenReview and SubjectAccessReview, with answers kept for a while.

`server` asks `AccessControl` before every request. `AccessReviews` is implemented by the client. A request without a token
or client certificate is nobody's: there is no anonymous access beyond the open paths. Equal questions that come together are
asked once, and no more of them than the `ReviewBudget` allows.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from steersman.clock import Clock
from steersman.errors import InputError
from steersman.serving.review_budget import ReviewBudget, ReviewRates, ReviewsExhausted

logger = logging.getLogger(__name__)

DEFAULT_OPEN_PATHS: Final = ("/healthz", "/readyz", "/livez")
#: Members may do everything; the API server need not be asked.
PRIVILEGED_GROUPS: Final = frozenset({"system:masters"})
LONGEST_TOKEN: Final = 16 * 1024
"""A longer one is nobody's, and is not sent on."""
RETRY_SECONDS: Final = 1
_MOST_KEPT: Final = 4096
T = TypeVar("T")


class User(msgspec.Struct, frozen=True):
    """Who sent a request, as TokenReview says (`status.user`)."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Access(msgspec.Struct, frozen=True):
    """Whether a user may do something, as SubjectAccessReview says."""

    is_allowed: bool
    reason: str = ""


class AccessReviews(Protocol):
    """The API server's word. Both raise when it cannot be had."""

    async def review_token(self, token: str) -> User | None:
        """Whose token it is; None when it is nobody's."""

    async def review_access(self, user: User, verb: str, path: str) -> Access:
        """Whether the user may use the verb (`get`) on a path that is no resource."""


class AccessOptions(msgspec.Struct, frozen=True):
    """Defaults as upstream's flags have them."""

    #: --authorization-always-allow-paths; a path may end with `*`.
    open_paths: Sequence[str] = DEFAULT_OPEN_PATHS
    #: --authentication-token-webhook-cache-ttl
    token_seconds: float = 10.0
    #: --authorization-webhook-cache-authorized-ttl
    allowed_seconds: float = 10.0
    #: --authorization-webhook-cache-unauthorized-ttl
    denied_seconds: float = 10.0
    #: The API server's time for one answer.
    review_seconds: float = 10.0
    #: For tokens and for rights alike, each by itself.
    rates: ReviewRates = msgspec.field(default_factory=ReviewRates)


class Granted(msgspec.Struct, frozen=True):
    """Go on."""

    #: None: the path is open to all.
    user: User | None = None


class Unauthenticated(msgspec.Struct, frozen=True):
    """Nobody knows who sent the request."""


class AccessForbidden(msgspec.Struct, frozen=True):
    user: User
    verb: str
    path: str
    reason: str = ""


class Undecided(msgspec.Struct, frozen=True):
    """The API server could not be asked."""

    cause: str


class TooManyReviews(msgspec.Struct, frozen=True):
    """The API server was not asked: the client, or all together, had too many questions."""

    retry_after: int = RETRY_SECONDS


Verdict = Granted | Unauthenticated | AccessForbidden | Undecided | TooManyReviews


class AccessControl:
    """Decides on every request, by the API server's word."""

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
        """`authorization` is the header, "" when there is none; `known` who it is by a client certificate; `peer` the address
        that the request comes from. A stranger has shown a certificate that names nobody: without a token there is nothing
        for it, not even what is open to those who show none, as upstream has it."""
        if path in self._open and not is_stranger:
            return Granted()
        if known is not None:
            return await self._authorise(known, method.lower(), path)
        token = bearer_token(authorization)
        if not token or len(token) > LONGEST_TOKEN:
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
    """Answers of one kind of review: kept for a while, asked for once by all who want to know the same at the same time."""

    def __init__(self, clock: Clock, options: AccessOptions) -> None:
        self._kept: KeptVerdicts[T] = KeptVerdicts(clock)
        self._budget = ReviewBudget(clock, options.rates)
        self._seconds = options.review_seconds
        self._under_way: dict[Hashable, asyncio.Future[T]] = {}

    async def get(
        self, key: Hashable, client: str, review: Callable[[], Awaitable[T]], good_for: Callable[[T], float]
    ) -> T:
        """ReviewsExhausted for a client with too many questions; else whatever the review raises. `good_for`: the seconds for
        which an answer is kept."""
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
            future.exception()  # nobody need have waited
            raise
        finally:
            del self._under_way[key]
        future.set_result(answer)
        return answer


class OpenPaths:
    """Paths that need no rights: exact ones, and prefixes that end with `*`."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._exact = {path.removeprefix("/") for path in paths if not path.endswith("*")}
        self._prefixes = tuple(path.removeprefix("/")[:-1] for path in paths if path.endswith("*"))
        for path in paths:
            if "*" in path[:-1]:
                raise InputError("may have a * only at its end", field="--authorization-always-allow-paths", value=path)

    def __contains__(self, path: str) -> bool:
        relative = path.removeprefix("/")
        return relative in self._exact or relative.startswith(self._prefixes)


class KeptVerdicts(msgspec.Struct, Generic[T]):
    """Answers that are good for some seconds. Bounded: who sends many different tokens only loses the memory of others."""

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
        if len(self._answers) >= _MOST_KEPT:
            self._forget()
        self._answers[key] = self.clock.monotonic() + seconds, answer

    def _forget(self) -> None:
        """Drops what is too old; if nothing is, the older half."""
        now = self.clock.monotonic()
        left = {key: answer for key, answer in self._answers.items() if now < answer[0]}
        self._answers = left if len(left) < _MOST_KEPT else dict(list(left.items())[_MOST_KEPT // 2 :])


def bearer_token(authorization: str) -> str:
    """The token of an Authorization header; "" when it has none."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.split(" ")[0] if scheme.lower() == "bearer" else ""
