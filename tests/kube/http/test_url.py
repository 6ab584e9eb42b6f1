# SPDX-License-Identifier: Apache-2.0
"""URLs are split into what a request needs."""

from __future__ import annotations

import pytest

from steersman.kube.http.url import Url


@pytest.mark.parametrize(
    ("text", "origin", "target", "user"),
    [
        ("https://api.example", "https://api.example", "", ""),
        ("https://api.example:443/", "https://api.example", "/", ""),
        ("http://API.example:8080/k8s/c-1?a=b%20c", "http://api.example:8080", "/k8s/c-1?a=b%20c", ""),
        ("https://[::1]:6443/a b", "https://[::1]:6443", "/a%20b", ""),
        ("http://me:p%40ss@proxy:3128", "http://proxy:3128", "", "me:p@ss"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example", "/%C3%BC", ""),
    ],
)
def test_a_url_has_an_origin_a_target_and_a_user(text: str, origin: str, target: str, user: str) -> None:
    url = Url.parse(text)
    assert (url.origin, url.target, url.user) == (origin, target, user)


def test_an_address_names_the_default_port_too() -> None:
    assert Url.parse("https://api.example").address == "api.example:443"
    assert Url.parse("http://[::1]").address == "[::1]:80"


@pytest.mark.parametrize("text", ["", "ftp://x", "https://", "http://x:99999", "http://[::1", "//x/y"])
def test_what_is_not_the_url_of_an_http_server_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Url.parse(text)
