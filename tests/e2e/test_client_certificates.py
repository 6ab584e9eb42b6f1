# SPDX-License-Identifier: Apache-2.0
"""Clients with certificates on the scheduler's port: it looks up in the cluster whom to believe."""

from __future__ import annotations

import http.client
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from steersman.testing.control_plane import Authority, ControlPlane, Identity, Steersman, wait_until


def answer(steersman: Steersman, identity: Identity, folder: Path) -> int:
    """The code with which /metrics is answered."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(*identity.write(folder, "client"))
    connection = http.client.HTTPSConnection(urlsplit(steersman.url).netloc, context=context, timeout=10)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().status
    finally:
        connection.close()


def test_users_of_the_cluster_are_known_by_their_certificates(plane: ControlPlane, tmp_path: Path) -> None:
    with Steersman(plane) as steersman:
        admin = plane.identity("admin", ("system:masters",))
        wait_until(lambda: answer(steersman, admin, tmp_path) == 200)
        assert answer(steersman, plane.identity("visitor", ()), tmp_path) == 403
        assert steersman.get("/metrics")[0] == 401
        assert answer(steersman, Authority("strangers").user("admin", ("system:masters",)), tmp_path) == 401


def test_without_a_lookup_no_certificate_is_trusted(plane: ControlPlane, tmp_path: Path) -> None:
    with Steersman(plane, flags=("--authentication-skip-lookup",)) as steersman:
        assert answer(steersman, plane.identity("admin", ("system:masters",)), tmp_path) == 401
