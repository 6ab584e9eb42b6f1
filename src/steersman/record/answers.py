# SPDX-License-Identifier: Apache-2.0
"""Encoding of results of external calls: plain values, API objects, statuses, exceptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError, SteersmanError
from steersman.framework import ApiReadError, ExtenderError, ExtenderFilterOutcome, NodeVictims, PodsOn, Status
from steersman.record.frames import AnswerBody, RaisedError

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=api.Object)


@dataclass(frozen=True)
class ResultCodec(Generic[T]):
    """Encoder for results other than None, and decoder for any result."""

    write: Callable[[Any], msgspec.Raw]
    read: Callable[[msgspec.Raw], T]


def _plain(value: object) -> msgspec.Raw:
    """Encode plain values, structs and statuses."""
    return msgspec.Raw(msgspec.json.encode(value))


def _plain_form(cls: Any) -> ResultCodec[Any]:
    return ResultCodec(_plain, lambda value: msgspec.json.decode(value, type=cls))


STATUS: Final[ResultCodec[Status | None]] = _plain_form(Status | None)
FLAG: Final[ResultCodec[bool]] = _plain_form(bool)
EMPTY: Final[ResultCodec[None]] = _plain_form(None)
DOCUMENT: Final[ResultCodec[dict[str, Any] | None]] = _plain_form(dict[str, Any] | None)
DOCUMENTS: Final[ResultCodec[Sequence[dict[str, Any]]]] = _plain_form(list[dict[str, Any]])
FILTER_OUTCOME: Final[ResultCodec[ExtenderFilterOutcome]] = _plain_form(ExtenderFilterOutcome)
PRIORITIES: Final[ResultCodec[Mapping[str, int]]] = _plain_form(dict[str, int])


def stored(kind: type[ObjectT]) -> ResultCodec[ObjectT]:
    """Return the form of an object as stored by the API server."""
    return ResultCodec(_object, lambda value: codec.decode(value, kind))


def optional_object(kind: type[ObjectT]) -> ResultCodec[ObjectT | None]:
    return ResultCodec(_object, lambda value: None if bytes(value) == b"null" else codec.decode(value, kind))


def objects(kind: type[ObjectT]) -> ResultCodec[Sequence[ObjectT]]:
    def read(value: msgspec.Raw) -> Sequence[ObjectT]:
        return [codec.decode(one, kind) for one in msgspec.json.decode(value, type=list[msgspec.Raw])]

    return ResultCodec(lambda found: _plain([_object(obj) for obj in found]), read)


def victims(pods_on: PodsOn) -> ResultCodec[Mapping[str, NodeVictims]]:
    """Return the form of victims. Only their UIDs are recorded, because the replay has the pods."""

    def write(chosen: Mapping[str, NodeVictims]) -> msgspec.Raw:
        return _plain({node: ([pod.uid for pod in its.pods], its.pdb_violations) for node, its in chosen.items()})

    def read(value: msgspec.Raw) -> Mapping[str, NodeVictims]:
        chosen = msgspec.json.decode(value, type=dict[str, tuple[list[str], int]])
        return {node: NodeVictims(_pods(node, uids, pods_on), count) for node, (uids, count) in chosen.items()}

    return ResultCodec(write, read)


def _object(obj: api.Object) -> msgspec.Raw:
    return msgspec.Raw(codec.encode(obj))


# -- exceptions --------------------------------------------------------------------------------------------------------


def raised(call: int, error: Exception) -> AnswerBody:
    """Return the record of a call that raised `error`."""
    return AnswerBody(call, error=raised_error(error))


def raised_error(error: Exception) -> RaisedError:
    """Return the record of an exception."""
    may_have_acted = isinstance(error, ExtenderError) and error.may_have_acted
    code = error.code if isinstance(error, ApiReadError) else 0
    is_for_users = isinstance(error, SteersmanError)
    return RaisedError(type(error).__name__, str(error), is_for_users, may_have_acted, code)


def error_of(told: RaisedError) -> Exception:
    """Return an exception with the recorded type name and message."""
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
