# SPDX-License-Identifier: Apache-2.0
"""HTTPS server of a running scheduler: health, metrics and debugging, with delegated authorization.

`Server` serves `Endpoints`, which `scheduler_endpoints` fills from `observe`. It is an
`HttpServer`, like a sandbox's API and page (`http`, `http_connection`); `listener` and
`connections` limit clients. Health is open; other pages need access, which `AccessControl` checks
with API server reviews (`AccessReviews`, `ApiReviews`). `ServerTls` reloads the certificate,
`CertificateUsers` authenticates clients' ones. Data of the scheduling loop are read through `Ask`.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports
from steersman.kube.serving.scheduler_endpoints import scheduler_endpoints as scheduler_endpoints

__all__: list[str]
if TYPE_CHECKING:
    from steersman.kube.serving.access import (
        Access as Access,
        AccessControl as AccessControl,
        AccessOptions as AccessOptions,
        AccessReviews as AccessReviews,
        User as User,
        bearer_token as bearer_token,
    )
    from steersman.kube.serving.api_reviews import ApiReviews as ApiReviews
    from steersman.kube.serving.client_certificates import (
        CertificateUsers as CertificateUsers,
        ClientAuthorities as ClientAuthorities,
        ProxyHeaders as ProxyHeaders,
    )
    from steersman.kube.serving.connections import (
        ConnectionLimits as ConnectionLimits,
        ConnectionTable as ConnectionTable,
    )
    from steersman.kube.serving.endpoints import (
        Ask as Ask,
        Decisions as Decisions,
        Endpoints as Endpoints,
        SchedulingLoopBusy as SchedulingLoopBusy,
        ask_here as ask_here,
    )
    from steersman.kube.serving.health import (
        HANDLERS_NOT_SYNCED as HANDLERS_NOT_SYNCED,
        PING as PING,
        SHUTTING_DOWN as SHUTTING_DOWN,
        Health as Health,
        HealthCheck as HealthCheck,
    )
    from steersman.kube.serving.http import (
        JSON as JSON,
        NOT_FOUND as NOT_FOUND,
        Answer as Answer,
        Handler as Handler,
        Request as Request,
        Route as Route,
        Router as Router,
        StreamAnswer as StreamAnswer,
        text_answer as text_answer,
    )
    from steersman.kube.serving.listener import (
        DEFAULT_PORT as DEFAULT_PORT,
        Listen as Listen,
        Listener as Listener,
        bound_sockets as bound_sockets,
    )
    from steersman.kube.serving.scheduler_endpoints import Listers as Listers, beliefs_beside as beliefs_beside
    from steersman.kube.serving.server import HttpServer as HttpServer, Server as Server
    from steersman.kube.serving.server_tls import (
        Certificate as Certificate,
        ServerTls as ServerTls,
        TlsOptions as TlsOptions,
        self_signed as self_signed,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "access": "Access AccessControl AccessOptions AccessReviews User bearer_token",
            "api_reviews": "ApiReviews",
            "client_certificates": "CertificateUsers ClientAuthorities ProxyHeaders",
            "connections": "ConnectionLimits ConnectionTable",
            "endpoints": "Ask Decisions Endpoints SchedulingLoopBusy ask_here",
            "health": "HANDLERS_NOT_SYNCED Health HealthCheck PING SHUTTING_DOWN",
            "http": "Answer Handler JSON NOT_FOUND Request Route Router StreamAnswer text_answer",
            "listener": "DEFAULT_PORT Listen Listener bound_sockets",
            "scheduler_endpoints": "Listers beliefs_beside scheduler_endpoints",
            "server": "HttpServer Server",
            "server_tls": "Certificate ServerTls TlsOptions self_signed",
        },
    )
