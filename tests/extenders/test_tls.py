# SPDX-License-Identifier: Apache-2.0
"""An extender behind TLS: its certificate is checked, its name may be given, and it may ask for ours."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from tests.client.serving import self_signed, server_tls
from tests.extenders.server import Requests, serve, world

from steersman.config import Extender, ExtenderTLSConfig
from steersman.testing import make_pod


def keep_first(args: dict[str, list[str]]) -> dict[str, list[str]]:
    return {"NodeNames": args["NodeNames"][:1]}


def extender(url: str, tls: ExtenderTLSConfig) -> Extender:
    return Extender(url_prefix=url, filter_verb="filter", enable_https=True, node_cache_capable=True, tls_config=tls)


def outcome(server: ssl.SSLContext, tls: ExtenderTLSConfig) -> tuple[str, int]:
    """Where the pod went, or why not, and how often the extender was asked."""
    requests = Requests()

    async def run() -> str:
        async with serve(requests, server, filter=keep_first) as url, world(extender(url, tls)) as cluster:
            return await cluster.place(make_pod("a")) or cluster.message

    return asyncio.run(run()), len(requests)


def test_a_certificate_of_the_given_authority_is_accepted(tmp_path: Path) -> None:
    own = self_signed(tmp_path, "extender")
    assert outcome(server_tls(own), ExtenderTLSConfig(ca_data=own.certificate)) == ("n1", 1)
    assert outcome(server_tls(own), ExtenderTLSConfig(ca_file=str(own.certificate_file))) == ("n1", 1)


def test_a_certificate_of_another_authority_is_not(tmp_path: Path) -> None:
    own, other = self_signed(tmp_path, "extender"), self_signed(tmp_path, "other")
    message, asked = outcome(server_tls(own), ExtenderTLSConfig(ca_data=other.certificate))
    assert asked == 0
    assert "certificate" in message.lower()


def test_an_insecure_extender_may_show_any_certificate(tmp_path: Path) -> None:
    assert outcome(server_tls(self_signed(tmp_path, "extender")), ExtenderTLSConfig(insecure=True)) == ("n1", 1)


def test_the_name_in_the_certificate_may_differ_from_the_address(tmp_path: Path) -> None:
    named = self_signed(tmp_path, "extender", "DNS:extender.internal")
    assert outcome(server_tls(named), ExtenderTLSConfig(ca_data=named.certificate))[1] == 0
    trusted = ExtenderTLSConfig(ca_data=named.certificate, server_name="extender.internal")
    assert outcome(server_tls(named), trusted) == ("n1", 1)


def test_an_extender_may_ask_for_our_certificate(tmp_path: Path) -> None:
    own, ours = self_signed(tmp_path, "extender"), self_signed(tmp_path, "scheduler")
    demanding = server_tls(own, clients=ours)
    assert outcome(demanding, ExtenderTLSConfig(ca_data=own.certificate))[1] == 0
    shown = ExtenderTLSConfig(ca_data=own.certificate, cert_data=ours.certificate, key_data=ours.key)
    assert outcome(server_tls(own, clients=ours), shown) == ("n1", 1)
