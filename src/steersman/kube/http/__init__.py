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

from steersman.kube.http.answers import LONGEST_BODY, LONGEST_LIST, BadAnswer, HttpAnswer
from steersman.kube.http.client import CONNECT_SECONDS, Headers, HttpClient
from steersman.kube.http.connector import Connector, NotSent
from steersman.kube.http.http2 import Http2Answer
from steersman.kube.http.http2_requests import Http2NotSpoken, Http2Requests
from steersman.kube.http.read_pacing import ReadPacing
from steersman.kube.http.streams import StreamedAnswer
from steersman.kube.http.url import Url

__all__ = [
    "CONNECT_SECONDS",
    "LONGEST_BODY",
    "LONGEST_LIST",
    "BadAnswer",
    "Connector",
    "Headers",
    "Http2Answer",
    "Http2NotSpoken",
    "Http2Requests",
    "HttpAnswer",
    "HttpClient",
    "NotSent",
    "ReadPacing",
    "StreamedAnswer",
    "Url",
]
