# SPDX-License-Identifier: Apache-2.0
"""`check_plugin`: compares the promises and kernels of a plugin with its scalar methods.

Generates small clusters, changes them step by step, and evaluates the same pods twice after every
step: as the scheduler does, with kernels and caches, and by calling the plugin for every node. Both
must agree for every node and score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from random import Random
from types import CodeType, FunctionType
from typing import Any

import msgspec

from steersman import api
from steersman.framework import ColumnarFilter, ColumnarScore, CycleAborted, Plugin, PodInfo, QueueSortPlugin
from steersman.scheduler.engine import Evaluation, ScalarEvaluation, promise
from steersman.scheduler.state import StateInvariantError
from steersman.testing.harness import AnyNode, AnyObject, AnyPod, Harness
from steersman.testing.nodes import NodeBuilder, make_node
from steersman.testing.pods import PodBuilder, make_pod

_LABEL = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?")
_VALUES = ("0", "1", "7", "50", "100", "a", "b")

Answers = dict[str, object]
"""Results of the plugin by node, or by plugin and node. An internal error is the only entry."""


class PluginCheckError(AssertionError):
    """The plugin's kernel or promise gives another result than its scalar method."""


class PluginCheck(msgspec.Struct):
    """Coverage of a check, which proves little without rejections or differing scores."""

    comparisons: int = 0
    rejections: int = 0
    scores: set[int] = msgspec.field(default_factory=set)
    #: Evaluations that ended with an exception of the plugin, in both ways.
    faults: int = 0


def check_plugin(
    plugin: type[Plugin],
    *,
    args: Mapping[str, Any] | None = None,
    nodes: Iterable[AnyNode] = (),
    pods: Iterable[AnyPod] = (),
    objects: Iterable[AnyObject] = (),
    clusters: int = 20,
    steps: int = 20,
    seed: int = 0,
) -> PluginCheck:
    """Compare the results of the plugin's kernels and promises with those of its methods. Raises
    PluginCheckError for a difference.

    `nodes` and `pods` are samples: generated ones start as copies of them and get random labels,
    sizes and requests. Label keys are taken from the samples and the string constants in the
    plugin's code. `objects` are in every cluster.
    """
    texts = list(_texts(plugin))
    words = dict(zip(texts, [*texts[1:], ""], strict=True))  # the text after a label key is often a value of it
    samples = [NodeBuilder(_object(node)) for node in nodes] or [make_node()]
    pod_samples = [PodBuilder(_object(pod)) for pod in pods] or [make_pod()]
    seen = PluginCheck()
    for number in range(clusters):
        cluster = _Cluster(plugin, args, objects, Random(f"{seed}/{number}"), words, samples, pod_samples)
        with cluster.harness:
            for step in range(steps):
                place = f'plugin "{plugin.name}", seed {seed}, cluster {number}, step {step} ({cluster.change()})'
                cluster.compare(place, seen)
    return seen


class _Cluster:
    """A generated cluster, and the pods that are evaluated on it."""

    def __init__(
        self,
        plugin: type[Plugin],
        args: Mapping[str, Any] | None,
        objects: Iterable[AnyObject],
        rng: Random,
        words: Mapping[str, str],
        node_samples: list[NodeBuilder],
        pod_samples: list[PodBuilder],
    ) -> None:
        own = [] if issubclass(plugin, QueueSortPlugin) else [{"name": "PrioritySort"}]
        section = {"disabled": [{"name": "*"}], "enabled": [*own, {"name": "DefaultBinder"}, {"name": plugin.name}]}
        self._plugin, self._rng, self._words = plugin.name, rng, words
        self._node_samples, self._pod_samples = node_samples, pod_samples
        given = {} if args is None else {plugin.name: args}
        configuration = {"profiles": [{"plugins": {"multiPoint": section}}]}
        self.harness = Harness([plugin], objects=objects, configuration=configuration, args=given)
        self._names = [f"n{index}" for index in range(rng.randint(2, 7))]
        self._nodes: dict[str, NodeBuilder] = {}
        self._pods: list[PodBuilder] = []
        self._numbers = iter(range(1, 1 << 30))
        for name in self._names[:-1]:
            self._put_node(name)
        self._probes = [self._pod(f"probe-{index}").obj() for index in range(5)]

    def change(self) -> str:
        """Change the cluster at random, and return a description of the change."""
        changes: list[Callable[[], str]] = [self._add_pod, self._add_pod, self._change_node, self._change_node]
        changes.append(self._pass_time)
        if self._pods:
            changes += [self._delete_pod, self._delete_pod]
        if len(self._nodes) > 2:
            changes.append(self._delete_node)
        return self._rng.choice(changes)()

    def compare(self, place: str, seen: PluginCheck) -> None:
        """Evaluate all pods both ways. Raise `PluginCheckError` for the first difference."""
        for probe in self._probes:
            info = self.harness.scheduler.cache.shapes.info(probe)
            plain, fast = _answers(partial(self._ask_plugin, info)), _answers(partial(self.harness.evaluate, probe))
            has_failed = "" in plain and "" in fast  # with several faults, each way may find another one first
            for key in () if has_failed else [*plain, *fast]:
                if plain.get(key) != fast.get(key):
                    text = f"{place}: {key or 'evaluation'} for pod {info.key}: the method says {plain.get(key)!r}"
                    raise PluginCheckError(f"{text}, {self._by(info)} says {fast.get(key)!r}")
            seen.comparisons += len(self._nodes)
            seen.rejections += sum(bool(key) and isinstance(answer, str) for key, answer in plain.items())
            seen.scores.update(answer[0] for answer in plain.values() if isinstance(answer, tuple))
            seen.faults += has_failed
        try:
            self.harness.scheduler.cycle.validate_state()
        except StateInvariantError as error:
            raise PluginCheckError(f"{place}: {error}; row() and rows() differ, or another row changed") from None

    def _ask_plugin(self, pod: PodInfo) -> Evaluation:
        """Return the evaluation by the plugin's methods alone."""
        table = self.harness.scheduler.cache.nodes
        nodes = {table.names[row]: table.info(row) for row in table.live_rows()}
        return ScalarEvaluation(self.harness.scheduler.profiles[pod.scheduler_name], pod, nodes, {})

    def _by(self, pod: PodInfo) -> str:
        """Return a description of the mechanism whose result the scheduler uses."""
        plugin = next(iter(self.harness.scheduler.profiles.values())).plugins[self._plugin]
        if isinstance(plugin, ColumnarFilter | ColumnarScore):
            return "the kernel"
        depends = promise(plugin)
        if depends is None:
            return "the scheduler"
        looks = getattr(plugin, "fragment", None)
        parts = f" and fragment {looks(pod)!r}" if callable(looks) else ""
        return f"the answer cached as promised (depends = Depends.{depends.name}{parts})"

    # -- generated objects
    # -------------------------------------------------------------------------------

    def _add_pod(self) -> str:
        node = self._rng.choice(sorted(self._nodes))
        pod = self._pod(f"p{next(self._numbers)}").node(node)
        self._pods.append(pod)
        self.harness.add(pod)
        return f"pod {pod.obj().metadata.name} came to {node}"

    def _delete_pod(self) -> str:
        pod = self._pods.pop(self._rng.randrange(len(self._pods)))
        self.harness.delete(pod)
        return f"pod {pod.obj().metadata.name} left {pod.obj().spec.node_name}"

    def _change_node(self) -> str:
        return f"node {self._put_node(self._rng.choice(self._names))} was added or changed"

    def _delete_node(self) -> str:
        name = self._rng.choice(sorted(self._nodes))
        self.harness.delete(self._nodes.pop(name))
        return f"node {name} was deleted"

    def _pass_time(self) -> str:
        seconds = self._rng.choice((1, 60, 3600, 5 * 3600, 30 * 3600))
        self.harness.advance(seconds)
        return f"{seconds} s passed"

    def _put_node(self, name: str) -> str:
        rng = self._rng
        node = rng.choice(self._node_samples).name(name).labels(self._labels(self._node_samples))
        node = node.capacity(cpu=str(rng.randint(1, 8)), memory=f"{rng.randint(1, 16)}Gi")
        node = node.taint("dedicated", "a") if rng.random() < 0.2 else node.unschedulable(rng.random() < 0.2)
        self._nodes[name] = node
        self.harness.add(node)
        return name

    def _pod(self, name: str) -> PodBuilder:
        rng = self._rng
        pod = (
            rng.choice(self._pod_samples)
            .name(name)
            .uid(name)
            .labels(self._labels(self._pod_samples))
            .priority(rng.choice((0, 0, 9)))
        )
        if rng.random() < 0.8:
            pod = pod.req(cpu=f"{rng.choice((0, 100, 500, 1500))}m", memory=f"{rng.choice((0, 256, 2048))}Mi")
        for key, value in self._labels(self._pod_samples).items():
            pod = pod.annotation(key, value) if rng.random() < 0.3 else pod
        return pod.namespace(rng.choice(("default", "default", "shop")))

    def _labels(self, samples: list[Any]) -> dict[str, str]:
        keys = {key: value for sample in samples for key, value in sample.obj().metadata.labels.items()}
        known = [*keys.values(), *(word for word in self._words if "/" not in word), *_VALUES]
        likely = {key: value for key, value in {**self._words, **keys}.items() if value and "/" not in value}
        return {
            key: likely[key] if key in likely and self._rng.random() < 0.4 else self._rng.choice(known)
            for key in sorted({*keys, *self._words})
            if self._rng.random() < 0.6
        }


def _answers(evaluate: Callable[[], Evaluation]) -> Answers:
    """Return the result of one evaluation for every node: the rejection, or raw and normalised
    score."""
    try:
        evaluation = evaluate()
        answers: Answers = {
            f"filter on node {name}": f"{status.code.label}: {status.message}"
            for status, names in evaluation.statuses().groups.items()
            for name in names
        }
        table = evaluation.scores() if evaluation.feasible_count > 1 else None
    except CycleAborted as abort:
        return {"": abort.status.message}
    for scores in table.plugins if table is not None else ():
        pairs = zip(scores.raw, scores.normalised, strict=True)
        answers |= {f"score on node {n}": pair for n, pair in zip(table.nodes if table else (), pairs, strict=True)}
    return answers


def _texts(plugin: type) -> Iterator[str]:
    """Yield the string constants in the code of the plugin's module that may be label keys."""
    methods = [method for base in plugin.__mro__ for method in vars(base).values() if isinstance(method, FunctionType)]
    module = methods[0].__globals__ if methods else {}
    found = [plugin, *(value for name, value in module.items() if name[:2] != "__" and _is_of(value, plugin))]
    for value in [*found, *(method for each in found if isinstance(each, type) for method in vars(each).values())]:
        if isinstance(value, str):
            yield from (value,) if _LABEL.fullmatch(value) else ()
        elif isinstance(value, FunctionType):
            yield from _constants(value.__code__)


def _is_of(value: object, plugin: type) -> bool:
    return isinstance(value, str) or getattr(value, "__module__", "") == plugin.__module__


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str) and _LABEL.fullmatch(constant):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _constants(constant)


def _object(given: Any) -> Any:
    return given if isinstance(given, api.Object) else given.obj()
