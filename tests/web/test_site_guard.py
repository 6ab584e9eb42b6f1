# SPDX-License-Identifier: Apache-2.0
"""Requests that a browser sends for another site get nowhere."""

from __future__ import annotations

import pytest
from tests.web.looked_at import request

from steersman.sandbox.web import SiteGuard, names_of
from steersman.sandbox.web.site_guard import FOREIGN_HOST, FOREIGN_ORIGIN

GUARD = SiteGuard(names_of("127.0.0.1"), "http")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1:8080"},
        {"Host": "localhost:8080", "Origin": "http://localhost:8080"},
        {"Host": "[::1]:8080"},
        {"Host": "127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"},
        {"Host": "127.0.0.1:8080", "Sec-Fetch-Site": "none"},
    ],
)
def test_the_own_page_may_ask(headers: dict[str, str]) -> None:
    assert GUARD.refusal(request("/web/v1/info", headers=headers)) == ""


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, FOREIGN_HOST),
        ({"Host": "evil.example:8080"}, FOREIGN_HOST),
        ({"Host": "127.0.0.1.evil.example"}, FOREIGN_HOST),
        ({"Host": "[::1"}, FOREIGN_HOST),
        ({"Host": "127.0.0.1:8080", "Origin": "https://evil.example"}, FOREIGN_ORIGIN),
        ({"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:9090"}, FOREIGN_ORIGIN),
        ({"Host": "127.0.0.1:8080", "Origin": "null"}, FOREIGN_ORIGIN),
        ({"Host": "127.0.0.1:8080", "Sec-Fetch-Site": "cross-site"}, FOREIGN_ORIGIN),
        ({"Host": "127.0.0.1:8080", "Sec-Fetch-Site": "same-site"}, FOREIGN_ORIGIN),
    ],
)
def test_other_sites_may_not(headers: dict[str, str], why: str) -> None:
    assert GUARD.refusal(request("/web/v1/info", headers=headers)) == why


def test_a_server_on_all_addresses_is_known_by_any_name_but_not_to_other_origins() -> None:
    guard = SiteGuard(names_of("0.0.0.0"), "https")
    headers = {"Host": "scheduler.example:10259"}
    assert guard.refusal(request("/", headers=headers)) == ""
    assert guard.refusal(request("/", headers={**headers, "Origin": "https://scheduler.example:10259"})) == ""
    assert guard.refusal(request("/", headers={**headers, "Origin": "https://evil.example"})) == FOREIGN_ORIGIN
