# SPDX-License-Identifier: Apache-2.0
"""Lines of an audit log become requests: who sent them, when, and what came of them."""

from __future__ import annotations

import json

from tests.chaos.audit_trail import LifeKey, read_requests

RECEIVED = "2030-01-01T00:00:01.500000Z"
ANSWERED = "2030-01-01T00:00:01.750000Z"
SECONDS = 1_893_456_000.0


def line(audit_id: str, stage: str, **fields: object) -> bytes:
    document = {
        "kind": "Event",
        "auditID": audit_id,
        "stage": stage,
        "verb": "create",
        "requestReceivedTimestamp": RECEIVED,
        "stageTimestamp": ANSWERED,
        "objectRef": {"resource": "pods", "subresource": "binding", "namespace": "default", "name": "web-0"},
        **fields,
    }
    return json.dumps(document).encode() + b"\n"


def test_the_lines_of_one_request_are_joined() -> None:
    answer = line("a.2.17.1893456001.250000", "ResponseComplete", responseStatus={"code": 201})
    [request] = read_requests([line("a.2.17.1893456001.250000", "RequestReceived"), answer])
    assert request.sender == LifeKey("a", 2)
    assert (request.sent, request.received, request.answered) == (SECONDS + 1.25, SECONDS + 1.5, SECONDS + 1.75)
    assert (request.resource, request.name, request.granted) == ("pods/binding", "web-0", True)


def test_a_request_that_was_never_answered_was_not_granted() -> None:
    [request] = read_requests([line("b.1.3.1893456001.000000", "RequestReceived")])
    assert request.code is None
    assert not request.granted


def test_a_request_of_another_user_has_no_sender() -> None:
    stamped = line("0b0ffa52-2c0b-4a0c-9c55-6ad1d0a0c2f1", "ResponseComplete", responseStatus={"code": 201})
    [request] = read_requests([stamped])
    assert request.sender is None
    assert request.sent == request.received


def test_the_holder_of_a_lease_is_read_from_what_was_written() -> None:
    lease = {"objectRef": {"resource": "leases", "name": "kube-scheduler"}, "responseStatus": {"code": 200}}
    held = line("a.1.1.1893456001.000000", "ResponseComplete", requestObject={"spec": {"holderIdentity": "x"}}, **lease)
    released = line("a.1.2.1893456001.000000", "ResponseComplete", requestObject={"spec": {}}, **lease)
    assert [request.holder for request in read_requests([held, released])] == ["x", ""]


def test_a_line_that_a_killed_server_did_not_finish_is_left_out() -> None:
    whole = line("a.1.1.1893456001.000000", "RequestReceived")
    assert len(read_requests([whole, whole[:40]])) == 1
