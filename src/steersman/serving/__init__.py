"""The HTTPS server of a running scheduler: health, metrics and debugging, with delegated access control.

`Server` serves `Endpoints`, which the host fills, mostly from `observe`. Health is open to all; everything else asks
`AccessControl`, which asks the API server through `AccessReviews`.
"""

from steersman.serving.access import Access, AccessControl, AccessOptions, AccessReviews, User
from steersman.serving.certificates import Certificate, context_for, from_files, self_signed
from steersman.serving.endpoints import Decisions, Endpoints
from steersman.serving.health import HANDLERS_NOT_SYNCED, PING, SHUTTING_DOWN, Check, Health
from steersman.serving.server import DEFAULT_PORT, Listen, Server

__all__ = [
    "DEFAULT_PORT",
    "HANDLERS_NOT_SYNCED",
    "PING",
    "SHUTTING_DOWN",
    "Access",
    "AccessControl",
    "AccessOptions",
    "AccessReviews",
    "Certificate",
    "Check",
    "Decisions",
    "Endpoints",
    "Health",
    "Listen",
    "Server",
    "User",
    "context_for",
    "from_files",
    "self_signed",
]
