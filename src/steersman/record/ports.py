# SPDX-License-Identifier: Apache-2.0
"""Ports for a scheduler's external calls (writer, reader, extenders) during recording and replay.

    scheduler ─► WriterPort ─┐           ┌─► recording.RecordedCalls ─► dispatcher, API server, extender
    plugins ─► ReaderPort ───┼─► Calls ──┤
    cycle ─► ExtenderPort ───┘           └─► replay_loop.ReplayedCalls ─► answers of the record

Each method is one call with the form of its result, which `Calls` records or replays.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError, SteersmanError
from steersman.framework import (
    ApiReader,
    ApiReadError,
    ApiWriter,
    BindingBeginner,
    Extender,
    ExtenderError,
    ExtenderFilterOutcome,
    Failure,
    NodeVictims,
    PodInfo,
    PodsOn,
    Status,
)
from steersman.record.frames import AnswerBody, RaisedError

T = TypeVar("T")
TargetT = TypeVar("TargetT")
ObjectT = TypeVar("ObjectT", bound=api.Object)
OnEnd = Callable[[SteersmanError | None], None]


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


def victims_of(pods_on: PodsOn) -> ResultCodec[Mapping[str, NodeVictims]]:
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


def error_of(raised: RaisedError) -> Exception:
    """Return an exception with the recorded type name and message."""
    if raised.name == ExtenderError.__name__:
        return ExtenderError(raised.message, may_have_acted=raised.may_have_acted)
    if raised.name == ApiReadError.__name__:
        return ApiReadError(raised.message, raised.code)
    base = SteersmanError if raised.is_for_users else Exception
    made: Exception = type(raised.name, (base,), {})(raised.message)
    return made


def _pods(node: str, uids: Sequence[str], pods_on: PodsOn) -> tuple[Any, ...]:
    by_uid = {pod.uid: pod for pod in pods_on(node) or ()}
    missing = [uid for uid in uids if uid not in by_uid]
    if missing:
        raise InputError("is not on the node any more", object=f"Pod with uid {missing[0]}")
    return tuple(by_uid[uid] for uid in uids)


# -- ports -------------------------------------------------------------------------------------------------------------


class Calls(Protocol):
    """External calls of a scheduler, numbered from 1 in the order in which they start."""

    async def ask(self, form: ResultCodec[T], call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the call, or raise its error."""

    def ask_nowait(self, form: ResultCodec[T], call: Callable[[], T]) -> T:
        """Return the result of a synchronous call."""

    def report(self, call: Callable[[], None]) -> None:
        """Make a call without a result, numbered as a sandbox may deliver objects during it."""

    def begin(self, call: Callable[[OnEnd], bool], on_end: OnEnd) -> bool:
        """Start a call that no task awaits; `on_end` gets its error or None. False: not started."""


class _Port(Generic[TargetT]):
    """Base class of the ports."""

    def __init__(self, calls: Calls, target: TargetT | None = None) -> None:
        """`target` receives the calls; a replay has none."""
        self._calls = calls
        self._target = target

    @property
    def target(self) -> TargetT:
        assert self._target is not None, "a replay reads no kubeconfig"
        return self._target


class WriterPort(_Port[ApiWriter]):
    """Implements `ApiWriter`."""

    def __init__(self, calls: Calls, target: ApiWriter | None = None, *, binds_at_once: bool = False) -> None:
        super().__init__(calls, target)
        self.binds_at_once = binds_at_once

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        return self._calls.ask_nowait(STATUS, lambda: self.target.bind_nowait(pod, node_name))

    def report_failure(self, failure: Failure) -> None:
        self._calls.report(lambda: self.target.report_failure(failure))

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        self._calls.report(lambda: self.target.report_scheduled(pod, node_name))

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        self._calls.report(lambda: self.target.report_group_condition(group, condition))

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        self._calls.report(lambda: self.target.report_preempted(victim, preemptor, message, group))

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self._calls.report(lambda: self.target.report_event(pod, reason, note, is_warning=is_warning))

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return await self._calls.ask(STATUS, lambda: self.target.bind(pod, node_name))

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return await self._calls.ask(
            FLAG,
            lambda: self.target.patch_pod_status(pod, condition=condition, nominated_node_name=nominated_node_name),
        )

    async def delete_pod(self, pod: api.Pod) -> bool:
        return await self._calls.ask(FLAG, lambda: self.target.delete_pod(pod))

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return await self._calls.ask(stored(type(volume)), lambda: self.target.update_volume(volume))

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return await self._calls.ask(stored(type(claim)), lambda: self.target.update_claim(claim))

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        form = stored(type(claim))
        return await self._calls.ask(form, lambda: self.target.change_resource_claim(claim, change))

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return await self._calls.ask(stored(type(claim)), lambda: self.target.create_resource_claim(claim))

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        await self._calls.ask(EMPTY, lambda: self.target.delete_resource_claim(claim))

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        await self._calls.ask(EMPTY, lambda: self.target.set_extended_resource_claim(pod, status))


class BeginnerPort(WriterPort):
    """A `WriterPort` that also implements `BindingBeginner`: the end of a binding is a stimulus."""

    def __init__(self, calls: Calls, target: ApiWriter | None = None, beginner: BindingBeginner | None = None) -> None:
        """Writer and beginner are the same object."""
        super().__init__(calls, target)
        self._beginner = _Port(calls, beginner)

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: OnEnd) -> bool:
        return self._calls.begin(lambda ended: self._beginner.target.begin_bind(pod, node_name, ended), on_end)

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        return await self._calls.ask(STATUS, lambda: self._beginner.target.resume_bind(pod, node_name, failed))


class ReaderPort(_Port[ApiReader]):
    """Implements `ApiReader`."""

    async def get(self, kind: type[ObjectT], name: str, namespace: str = "") -> ObjectT | None:
        return await self._calls.ask(optional_object(kind), lambda: self.target.get(kind, name, namespace))

    async def list(
        self, kind: type[ObjectT], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[ObjectT]:
        selected = {"label_selector": label_selector, "field_selector": field_selector}
        return await self._calls.ask(objects(kind), lambda: self.target.list(kind, namespace, **selected))

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        return await self._calls.ask(DOCUMENT, lambda: self.target.get_document(api_version, kind, name, namespace))

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        selected = {"label_selector": label_selector, "field_selector": field_selector}
        return await self._calls.ask(
            DOCUMENTS, lambda: self.target.list_documents(api_version, kind, namespace, **selected)
        )


class ExtenderPort(_Port[Extender]):
    """Implements `Extender` with the settings of `target`, which a replay never calls."""

    def __init__(self, calls: Calls, target: Extender) -> None:
        super().__init__(calls, target)
        self.name = target.name
        self.is_ignorable = target.is_ignorable
        self.is_filter = target.is_filter
        self.is_prioritizer = target.is_prioritizer
        self.is_binder = target.is_binder
        self.supports_preemption = target.supports_preemption
        self.weight = target.weight
        self.is_interested = target.is_interested

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome:
        return await self._calls.ask(FILTER_OUTCOME, lambda: self.target.filter(pod, nodes))

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        return await self._calls.ask(PRIORITIES, lambda: self.target.prioritize(pod, nodes))

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        await self._calls.ask(EMPTY, lambda: self.target.bind(pod, node_name))

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        return await self._calls.ask(victims_of(pods_on), lambda: self.target.process_preemption(pod, victims, pods_on))
