# SPDX-License-Identifier: Apache-2.0
"""An HTTP client for many small requests to one server. Knows nothing about Kubernetes; imports
`base` only.

    HttpClient.request(method, target, …)     ─► HttpAnswer       HTTP/1.1, keep-alive connections
    HttpClient.begin_stream(target, …)        ─► StreamedAnswer   a response that goes on, such as a watch
    Http2Requests.exchange(block, body, …)    ─► Http2Answer      HTTP/2, many requests share one connection

Reading order: `url`, `connector` (opens connections, also through proxies); `answers` (HTTP/1.1
parser, no I/O), `http1` (keep-alive connections), `streams`, `client`; `hpack` (header blocks, no
I/O), `http2`, `http2_requests`; `read_pacing`, which lets the connections of a loop read many
responses together. Every response is bounded.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "answers": "InvalidAnswer HttpAnswer MAX_BODY_BYTES MAX_LIST_BYTES",
        "client": "CONNECT_SECONDS Headers HttpClient",
        "connector": "Connector NotSent",
        "http2": "Http2Answer",
        "http2_requests": "Http2NotSpoken Http2Requests",
        "read_pacing": "ReadPacing",
        "streams": "StreamedAnswer",
        "url": "Url",
    },
)
