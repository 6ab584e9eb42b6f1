# SPDX-License-Identifier: Apache-2.0
"""Answers from outside as a record has them, and back: plain values, API objects, statuses, exceptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.errors import InputError, SteersmanError
from steersman.framework.extender import Extender, ExtenderError, ExtenderFilterOutcome, NodeVictims, PodsOn
from steersman.framework.reading import ApiReadError
from steersman.framework.status import Status
from steersman.record.frames import AnswerBody, RaisedError

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=api.Object)

NOTHING: Final = msgspec.Raw(b"null")


class ExtenderStandIn:
    """Stands in the place of an extender, with its settings: records what it answers, or answers what was recorded."""

    def __init__(self, extender: Extender) -> None:
        self.name = extender.name
        self.is_ignorable = extender.is_ignorable
        self.is_filter = extender.is_filter
        self.is_prioritizer = extender.is_prioritizer
        self.is_binder = extender.is_binder
        self.supports_preemption = extender.supports_preemption
        self.weight = extender.weight
        self.is_interested = extender.is_interested


# -- on the way into a record ------------------------------------------------------------------------------------------


def plain(value: object) -> msgspec.Raw:
    """Plain values, structs and statuses."""
    return NOTHING if value is None else msgspec.Raw(msgspec.json.encode(value))


def of_object(obj: api.Object | None) -> msgspec.Raw:
    return NOTHING if obj is None else msgspec.Raw(codec.encode(obj))


def of_objects(objects: Sequence[api.Object]) -> msgspec.Raw:
    return plain([of_object(obj) for obj in objects])


def of_victims(victims: Mapping[str, NodeVictims]) -> msgspec.Raw:
    """Victims by their uids: the replay knows the pods."""
    return plain({node: ([pod.uid for pod in its.pods], its.pdb_violations) for node, its in victims.items()})


def raised(call: int, error: Exception) -> AnswerBody:
    """An exception instead of an answer."""
    return AnswerBody(call, error=raised_error(error))


def raised_error(error: Exception) -> RaisedError:
    """An exception, as a record has it."""
    may_have_acted = isinstance(error, ExtenderError) and error.may_have_acted
    code = error.code if isinstance(error, ApiReadError) else 0
    is_for_users = isinstance(error, SteersmanError)
    return RaisedError(type(error).__name__, str(error), is_for_users, may_have_acted, code)


# -- and back ----------------------------------------------------------------------------------------------------------


def as_type(cls: Any) -> Callable[[msgspec.Raw], Any]:
    """Reads what `plain` has written."""
    return lambda value: msgspec.json.decode(value, type=cls)


def as_object(kind: type[ObjectT]) -> Callable[[msgspec.Raw], ObjectT | None]:
    return lambda value: None if bytes(value) == bytes(NOTHING) else codec.decode(value, kind)


def as_objects(kind: type[ObjectT]) -> Callable[[msgspec.Raw], list[ObjectT]]:
    return lambda value: [codec.decode(one, kind) for one in msgspec.json.decode(value, type=list[msgspec.Raw])]


def as_victims(pods_on: PodsOn) -> Callable[[msgspec.Raw], Mapping[str, NodeVictims]]:
    def read(value: msgspec.Raw) -> Mapping[str, NodeVictims]:
        chosen = msgspec.json.decode(value, type=dict[str, tuple[list[str], int]])
        return {node: NodeVictims(_pods(node, uids, pods_on), count) for node, (uids, count) in chosen.items()}

    return read


as_status: Final = as_type(Status | None)
as_outcome: Final = as_type(ExtenderFilterOutcome)


def error_of(told: RaisedError) -> Exception:
    """An exception that looks like the one that was raised."""
    if told.name == ExtenderError.__name__:
        return ExtenderError(told.message, may_have_acted=told.may_have_acted)
    if told.name == ApiReadError.__name__:
        return ApiReadError(told.message, told.code)
    base = SteersmanError if told.is_for_users else Exception
    made: Exception = type(told.name, (base,), {})(told.message)
    return made


def _pods(node: str, uids: Sequence[str], pods_on: PodsOn) -> tuple[Any, ...]:
    by_uid = {pod.uid: pod for pod in pods_on(node) or ()}
    missing = [uid for uid in uids if uid not in by_uid]
    if missing:
        raise InputError("is not on the node any more", object=f"Pod with uid {missing[0]}")
    return tuple(by_uid[uid] for uid in uids)
