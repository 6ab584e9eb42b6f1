# SPDX-License-Identifier: Apache-2.0
"""Arguments of plugins are checked against the declared Struct: unknown fields, types, constraints, faults of the Struct."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from steersman import api
from steersman.config import ConfigError
from steersman.framework import FilterPlugin, Handle, NodeInfo, PodInfo
from steersman.testing import Harness, make_node, make_pod


class Zone(api.Struct, frozen=True):
    name: str
    most_pods: int = 10


class Spot(api.Struct, frozen=True, tag="spot"):
    price: int = 0


class Reserved(api.Struct, frozen=True, tag="reserved"):
    until: str = ""


class ShareArgs(api.Struct, frozen=True):
    share: Annotated[int, msgspec.Meta(ge=0, le=100)] = 50
    zones: list[Zone] | None = None
    by_team: dict[str, Zone] = {}
    kind_of_node: Spot | Reserved = Spot()

    def __post_init__(self) -> None:
        if self.share == 13:
            raise ValueError("share may not be 13")
        if self.share == 14:
            raise LookupError("broken")


class Share(FilterPlugin):
    name = "Share"
    args = ShareArgs

    def __init__(self, args: ShareArgs, handle: Handle) -> None:
        self.given = args

    def filter(self, pod: PodInfo, node: NodeInfo) -> str:
        return repr(self.given)


def problem(args: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        Harness([Share], args={"Share": args})
    return str(error.value)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"share": 101}, ".args.share: Invalid value: 101: expected int <= 100"),
        ({"share": "many"}, '.args.share: Invalid value: "many": expected int, got str'),
        ({"share": 13}, "share may not be 13"),
        ({"share": 14}, "ShareArgs cannot be used: LookupError: broken ("),
        ({"zones": [{"name": "a", "mostPod": 3}]}, '.args.zones[0].mostPod: unknown field; did you mean "mostPods"?'),
        ({"zones": [{"name": "a"}, {"mostPods": 3}]}, ".args.zones[1].name: Required value"),
        ({"byTeam": {"x": {"nam": "a"}}}, '.args.byTeam.x.nam: unknown field; did you mean "name"?'),
        (
            {"kindOfNode": {"type": "spot", "price": "low"}},
            '.args.kindOfNode.price: Invalid value: "low": expected int',
        ),
    ],
)
def test_arguments_that_do_not_fit_are_named_by_field(args: dict[str, Any], text: str) -> None:
    assert text in problem(args)


@pytest.mark.parametrize(
    "args",
    [{}, {"zones": None}, {"kindOfNode": {"type": "reserved", "until": "May"}}, {"byTeam": {"x": {"name": "a"}}}],
)
def test_arguments_that_fit_are_given_as_the_struct(args: dict[str, Any]) -> None:
    harness = Harness([Share], nodes=[make_node("n")], args={"Share": args} if args else None)
    expected = msgspec.convert(args, ShareArgs)
    assert harness.rejections(make_pod("p"))["n"].message == repr(expected)
