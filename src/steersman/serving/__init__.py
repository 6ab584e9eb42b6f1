# SPDX-License-Identifier: Apache-2.0
"""The HTTPS server of a running scheduler: health, metrics and debugging, with delegated access control.

`Server` serves `Endpoints`, which `scheduler_endpoints` fills from `observe`; `listener` and `connections` bound what clients
may hold. Health is open to all; everything else asks `AccessControl`, which asks the API server through `AccessReviews`
(`ApiReviews`). `ServerTls` keeps the certificate fresh, `CertificateUsers` knows clients by theirs. What belongs to the
scheduling loop is asked for (`Ask`).
"""

from steersman.serving.access import Access, AccessControl, AccessOptions, AccessReviews, User
from steersman.serving.api_reviews import ApiReviews
from steersman.serving.client_certificates import CertificateUsers, ClientAuthorities, ProxyHeaders
from steersman.serving.connections import ConnectionLimits
from steersman.serving.endpoints import Ask, Decisions, Endpoints, SchedulingLoopBusy, ask_here
from steersman.serving.health import HANDLERS_NOT_SYNCED, PING, SHUTTING_DOWN, Health, HealthCheck
from steersman.serving.listener import DEFAULT_PORT, Listen, bound_sockets
from steersman.serving.scheduler_endpoints import Listers, beliefs_beside, scheduler_endpoints
from steersman.serving.server import Server
from steersman.serving.server_tls import Certificate, ServerTls, TlsOptions, self_signed

__all__ = [
    "DEFAULT_PORT",
    "HANDLERS_NOT_SYNCED",
    "PING",
    "SHUTTING_DOWN",
    "Access",
    "AccessControl",
    "AccessOptions",
    "AccessReviews",
    "ApiReviews",
    "Ask",
    "Certificate",
    "CertificateUsers",
    "ClientAuthorities",
    "ConnectionLimits",
    "Decisions",
    "Endpoints",
    "Health",
    "HealthCheck",
    "Listen",
    "Listers",
    "ProxyHeaders",
    "SchedulingLoopBusy",
    "Server",
    "ServerTls",
    "TlsOptions",
    "User",
    "ask_here",
    "beliefs_beside",
    "bound_sockets",
    "scheduler_endpoints",
    "self_signed",
]
