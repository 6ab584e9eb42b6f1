# SPDX-License-Identifier: Apache-2.0
"""HTTPS server of a running scheduler: health, metrics and debugging, with delegated authorization.

`Server` serves `Endpoints`, which `scheduler_endpoints` fills from `observe`. It is an
`HttpServer`, like a sandbox's API and page (`http`, `http_connection`); `listener` and
`connections` limit clients. Health is open; other pages need access, which `AccessControl` checks
with API server reviews (`AccessReviews`, `ApiReviews`). `ServerTls` reloads the certificate,
`CertificateUsers` authenticates clients' ones. Data of the scheduling loop are read through
`LoopRunner`.
"""

from steersman.base import lazy_exports
from steersman.kube.serving.scheduler_endpoints import scheduler_endpoints as scheduler_endpoints

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "access": "Access AccessControl AccessOptions AccessReviews User bearer_token",
        "api_reviews": "ApiReviews",
        "client_certificates": "CertificateUsers ClientAuthorities ProxyHeaders",
        "connections": "ConnectionLimits ConnectionTable",
        "endpoints": "LoopRunner Decisions Endpoints SchedulingLoopBusy ask_here",
        "health": "HANDLERS_NOT_SYNCED Health HealthCheck PING SHUTTING_DOWN",
        "http": "Answer Handler JSON NOT_FOUND Request Route Router StreamAnswer text_answer",
        "listener": "DEFAULT_PORT Listen Listener bound_sockets",
        "scheduler_endpoints": "Listers scheduler_snapshot scheduler_endpoints",
        "server": "HttpServer Server",
        "server_tls": "Certificate ServerTls TlsOptions self_signed",
    },
)
