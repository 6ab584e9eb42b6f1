# SPDX-License-Identifier: Apache-2.0
"""What clients get over HTTP."""

from __future__ import annotations

import pytest
from tests.kube.serving.reviews import Reviews
from tests.kube.serving.running import RECORD, get

GUARDED = ["/metrics", "/configz", "/debug/cache", "/debug/queue", "/debug/decisions", "/debug/decisions/default/web"]


def with_rights(*paths: str) -> Reviews:
    reviews = Reviews()
    reviews.allowed |= {("prometheus", path) for path in paths}
    return reviews


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
def test_health_is_open(path: str) -> None:
    answer = get(path)
    assert (answer.status, answer.text) == (200, "ok")
    assert answer.headers["Cache-Control"] == "no-cache, private"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_failing_check_fails_unless_it_is_excluded() -> None:
    assert get("/readyz").status == 500
    assert get("/readyz?verbose&exclude=sync").text == "[+]sync excluded: ok\nreadyz check passed\n"


def test_a_single_check_with_its_reason_needs_rights() -> None:
    assert get("/readyz/sync").status == 401
    answer = get("/readyz/sync", "monitor", reviews=with_rights("/readyz/sync"))
    assert (answer.status, answer.text) == (500, "internal server error: not yet\n")


@pytest.mark.parametrize("path", GUARDED)
def test_without_a_token_the_answer_is_401(path: str) -> None:
    answer = get(path)
    assert answer.status == 401
    assert answer.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


@pytest.mark.parametrize("path", GUARDED)
def test_without_the_right_the_answer_is_403(path: str) -> None:
    answer = get(path, "guest")
    assert answer.status == 403
    assert answer.json["message"] == f'forbidden: User "guest" cannot get path "{path}"'
    assert (answer.json["reason"], answer.json["details"], answer.json["code"]) == ("Forbidden", {}, 403)


def test_the_reason_of_a_refusal_is_passed_on_and_names_are_escaped() -> None:
    reviews = Reviews()
    reviews.reason = "no policy"
    assert get("/a<b>", "guest", reviews=reviews).json["message"] == (
        'forbidden: User "guest" cannot get path "/a&lt;b&gt;": no policy'
    )


def test_an_api_server_that_cannot_be_asked_is_an_internal_error() -> None:
    class Broken(Reviews):
        async def review_access(self, *_: object) -> None:  # type: ignore[override]
            raise ConnectionError("refused")

    answer = get("/metrics", "monitor", reviews=Broken())
    assert (answer.status, answer.text) == (500, 'Internal Server Error: "/metrics": refused\n')


def test_metrics_are_in_the_format_of_prometheus() -> None:
    answer = get("/metrics", "monitor")
    assert (answer.status, answer.text) == (200, "scheduler_pending_pods 1\n")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_the_configuration_is_shown_as_component_configuration() -> None:
    assert get("/configz", "monitor").json == {"componentconfig": {"kind": "KubeSchedulerConfiguration"}}


@pytest.mark.parametrize(("path", "text"), [("/debug/cache", "Node name: n1\n"), ("/debug/queue", "activeQ:0\n")])
def test_dumps_are_text(path: str, text: str) -> None:
    assert get(path, "monitor", reviews=with_rights(path)).text == text


def test_recent_decisions_are_listed() -> None:
    reviews = with_rights("/debug/decisions")
    assert get("/debug/decisions?limit=5", "monitor", reviews=reviews).json == {"decisions": [RECORD.to_dict()]}


@pytest.mark.parametrize("limit", ["0", "-1", "many", "10001", "²"])
def test_a_limit_that_is_no_number_of_decisions_is_refused(limit: str) -> None:
    answer = get(f"/debug/decisions?limit={limit}", "monitor", reviews=with_rights("/debug/decisions"))
    assert (answer.status, answer.text) == (400, "limit must be a number from 1 to 10000\n")


def test_decisions_on_a_pod_are_explained_on_demand() -> None:
    path = "/debug/decisions/default/web"
    reviews = with_rights(path)
    assert get(path, "monitor", reviews=reviews).json == {"decisions": [RECORD.to_dict()]}
    explained = get(f"{path}?explain", "monitor", reviews=reviews).json
    assert explained["explanation"]["message"] == "held back"
    assert "not tried: held back" in get(f"{path}?explain=table", "monitor", reviews=reviews).text


def test_an_unknown_pod_is_not_found() -> None:
    path = "/debug/decisions/default/nobody"
    answer = get(f"{path}?explain", "monitor", reviews=with_rights(path))
    assert (answer.status, answer.text) == (404, "nothing is known of pod default/nobody\n")


def test_unknown_paths_look_like_forbidden_ones_without_permissions() -> None:
    assert get("/secret").status == 401
    assert get("/secret", "guest").status == 403
    answer = get("/secret", "monitor", reviews=with_rights("/secret"))
    assert (answer.status, answer.text) == (404, "404 page not found\n")


def test_other_methods_are_not_allowed() -> None:
    assert get("/healthz", method="POST").status == 405
