# SPDX-License-Identifier: Apache-2.0
"""Whatever an expression, a claim or a slice says, something with a name comes out, and soon.

Expressions are put together from the functions that there are, at random; claims and slices from everything that their
schemas allow. `STEERSMAN_RANDOM=1` looks for new ones; those that broke something once are kept in `@example`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, strategies as st
from tests.equivalence.examples import examples

from steersman import api
from steersman.api.cel import CelError, DeviceInput, Version, compile_device_selector
from steersman.api.cel.cost import LIMIT
from steersman.api.cel.environment import FUNCTIONS
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DevicesInUse,
    Features,
    NodeFault,
    OutOfTime,
    Pace,
    PublishedDevices,
    Supply,
    find_devices,
    prepare,
)
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import make_node

#: Of the processor: the machine may be busy.
SECONDS = 5.0
"""A hundred times what any of it takes on an idle machine."""

DEVICE = DeviceInput(
    "gpu.example.com",
    {"model": "a100", "index": 3, "ecc": True, "version": Version("1.2.3-rc.1"), "other.example.com/x": "\u00e9"},
    {"memory": "40Gi"},
)
DIGITS = st.integers(1, 6000).map(lambda count: "9" * count)
TEXTS = st.one_of(
    st.text(alphabet="aA0.:/-%$^*+?()[]{}|\\é𝄞 \n,=", max_size=12),
    st.sampled_from(
        ["1Gi", "1.2.3", "10.0.0.1", "10.0.0.0/8", "fe80::1%eth0", "http://a/b?c", "1h", "(a*)*b", "%s%.3f%d"]
    ),
    st.tuples(st.sampled_from("a0.1:"), st.integers(1, 4000)).map(lambda pair: pair[0] * pair[1]),
    DIGITS,
)


@pytest.fixture(autouse=True, scope="module")
def _objects_of_other_tests_cost_nothing() -> Iterator[None]:
    """Exclude what other tests of this process keep alive from garbage collections, which count as processor time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


ATOMS = st.one_of(
    TEXTS.map(quoted),
    st.integers(-(2**64), 2**65).map(str),
    DIGITS,
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["true", "false", "null", "b'\\xff'", "1u", "device", "device.attributes", "device.capacity", "x", "int"]
    ),
    st.sampled_from(["device.attributes['gpu.example.com'].model", "device.attributes['gpu.example.com'].version"]),
    st.sampled_from(["timestamp('2020-01-01T00:00:00Z')", "duration('1h')", "lists.range(1000)", "[]", "{}"]),
)
NAMES = sorted(name for name in FUNCTIONS if name[0].isalpha())
MACROS = ("all", "exists", "exists_one", "map", "filter", "sortBy", "optMap", "optFlatMap")
OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", "in", "&&", "||")


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(" ".join).map("({})".format),
        st.tuples(st.sampled_from(NAMES), st.lists(inner, max_size=3)).map(
            lambda call: f"{call[0]}({','.join(call[1])})"
        ),
        st.tuples(inner, st.sampled_from(NAMES), st.lists(inner, max_size=2)).map(
            lambda call: f"{call[0]}.{call[1]}({','.join(call[2])})"
        ),
        st.tuples(inner, st.sampled_from(MACROS), inner).map(lambda call: f"{call[0]}.{call[1]}(x, {call[2]})"),
        st.tuples(inner, inner).map(lambda pair: f"cel.bind(x, {pair[0]}, {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"cel.bind(x, {pair[0]}, x + x + {pair[1]})"),
        st.lists(inner, max_size=4).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(inner, inner).map(lambda pair: f"{{{pair[0]}: {pair[1]}}}"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})"),
        st.tuples(inner, inner).map(lambda pair: f"{pair[0]}[{pair[1]}]"),
        inner.map(lambda part: f"dyn({part})"),
    )


EXPRESSIONS = st.recursive(ATOMS, combined, max_leaves=12)
DOUBLED_LISTS = "cel.bind(x, [0], " + "".join("cel.bind(x, x + x, " for _ in range(60)) + "x == x" + ")" * 61
NESTED_LISTS = "cel.bind(x, [0], " + "".join("cel.bind(x, [x, x], " for _ in range(60)) + "{} == {}" + ")" * 61


def outcome(expression: str) -> bool | str:
    selector = compile_device_selector(expression)
    if selector.error is not None:
        return selector.error
    try:
        matches, cost = selector.evaluate(DEVICE, time.monotonic)
    except CelError as error:
        return str(error)
    assert cost <= LIMIT
    return matches


@examples(150)
@given(EXPRESSIONS)
@example(f"isQuantity('{'0' * 3000}x')")
@example(f"'{'a' * 3000}'.findAll('a*b|a').size() == 1")
@example(f"'{'a' * 3000}'.matches('((((a?){{10}}){{10}}){{10}})b')")
@example(f"int('{'9' * 5000}') == {'9' * 5000}")
@example(f"double('{'1' * 5000}x') > 0.0")
@example(f"quantity('{'9' * 5000}').isInteger()")
@example(f"quantity('1e{'9' * 5000}').isInteger()")
@example(f"semver('{'9' * 5000}.1.1').major() == 1")
@example(f"duration('0.{'9' * 5000}s') == duration('1s')")
@example(f"'%.{'9' * 5000}f'.format([1.0]) == ''")
@example(f"isIP('{'1.' * 4000}') || isIP('{'1:' * 4000}')")
@example("timestamp('2020-01-01T00:00:00Z').getHours('999999999:00') == 1")
@example("'%.9999999f%.65000e'.format([1.0, 1.0]) == ''")
@example(DOUBLED_LISTS)
@example(NESTED_LISTS.format("x", "x"))
@example(NESTED_LISTS.format("'%s'.format([x])", "''"))
@example(NESTED_LISTS.format("dyn(x).flatten(60)", "[]"))
@example(NESTED_LISTS.format("dyn([x]).sum()", "x"))
@example("optional.of(1)" + ".optMap(x, x)" * 200 + ".hasValue()")
@example("lists.range(190000).filter(x, lists.range(190000).filter(x, false).size() > 0).size() == 1")
@example("'\\\\q" * 2500)
@example("'a'.matches('" + "(?i)[\\\\pL]" * 800 + "')")
def test_every_expression_has_an_outcome_soon(expression: str) -> None:
    started = time.process_time()
    told = outcome(expression)
    assert time.process_time() - started < SECONDS, expression[:200]
    assert isinstance(told, bool | str)
    assert "Exceeds the limit" not in str(told), "these are Python's words"


QUANTITIES = st.one_of(st.sampled_from(["1", "4Gi", "100m", "0", "-1"]), DIGITS, st.integers(0, 2**63).map(str))
ATTRIBUTES = st.one_of(
    st.builds(api.DeviceAttribute, int_value=st.integers(-(2**63), 2**63 - 1)),
    st.builds(api.DeviceAttribute, string_value=st.text(max_size=8)),
    st.builds(api.DeviceAttribute, bool_value=st.booleans()),
    st.builds(api.DeviceAttribute, version_value=st.sampled_from(["1.2.3", "no version", "9" * 5000 + ".1.1"])),
    st.builds(api.DeviceAttribute),
)
WORDS = st.sampled_from(["a", "b", "gpu.example.com/a", "c"])
COUNTERS = st.dictionaries(WORDS, st.builds(api.Counter, value=QUANTITIES), max_size=2)
DEVICES = st.builds(
    api.Device,
    name=st.sampled_from(["d0", "d1", "d2", "d3", "d4"]),
    attributes=st.dictionaries(WORDS, ATTRIBUTES, max_size=3),
    capacity=st.dictionaries(WORDS, st.builds(api.DeviceCapacity, value=QUANTITIES), max_size=2),
    consumes_counters=st.lists(
        st.builds(api.DeviceCounterConsumption, counter_set=WORDS, counters=COUNTERS), max_size=2
    ).map(tuple),
    allow_multiple_allocations=st.sampled_from([None, True, False]),
    all_nodes=st.booleans(),
    taints=st.lists(
        st.builds(api.DeviceTaint, key=WORDS, effect=st.sampled_from(["NoSchedule", "NoExecute", "None", "x"])),
        max_size=1,
    ).map(tuple),
)
SLICES = st.builds(
    lambda name, pool, devices, counters, everywhere: api.ResourceSlice(
        metadata=api.ObjectMeta(name=name),
        spec=api.ResourceSliceSpec(
            driver="gpu.example.com", pool=pool, devices=devices, shared_counters=counters, all_nodes=everywhere
        ),
    ),
    st.sampled_from(["s0", "s1", "s2"]),
    st.builds(
        api.ResourcePool,
        name=WORDS,
        generation=st.integers(0, 2),
        resource_slice_count=st.integers(-1, 3),
    ),
    st.lists(DEVICES, max_size=12).map(tuple),
    st.lists(st.builds(api.CounterSet, name=WORDS, counters=COUNTERS), max_size=2).map(tuple),
    st.booleans(),
)
SELECTORS = st.lists(
    st.one_of(EXPRESSIONS, st.sampled_from(["true", "device.driver == 'gpu.example.com'"])).map(
        lambda text: api.DeviceSelector(cel=api.CELDeviceSelector(expression=text))
    ),
    max_size=2,
).map(tuple)
REQUESTS = st.builds(
    lambda name, mode, count, selectors, admin, capacity: api.DeviceRequest(
        name=name,
        exactly=api.ExactDeviceRequest(
            device_class_name="any",
            allocation_mode=mode,
            count=count,
            selectors=selectors,
            admin_access=admin,
            capacity=capacity,
        ),
    ),
    WORDS,
    st.sampled_from(["ExactCount", "ExactCount", "All", "Some"]),
    st.integers(-1, 40),
    SELECTORS,
    st.sampled_from([None, True]),
    st.one_of(st.none(), st.builds(api.CapacityRequirements, requests=st.dictionaries(WORDS, QUANTITIES, max_size=2))),
)
CONSTRAINTS = st.one_of(
    st.builds(api.DeviceConstraint, match_attribute=WORDS, requests=st.lists(WORDS, max_size=2).map(tuple)),
    st.builds(api.DeviceConstraint, distinct_attribute=WORDS),
    st.builds(api.DeviceConstraint),
)
CLAIMS = st.builds(
    lambda requests, constraints: api.ResourceClaim(
        metadata=api.ObjectMeta(name="c", namespace="default"),
        spec=api.ResourceClaimSpec(devices=api.DeviceClaim(requests=requests, constraints=constraints)),
    ),
    st.lists(REQUESTS, min_size=1, max_size=3).map(tuple),
    st.lists(CONSTRAINTS, max_size=2).map(tuple),
)


@examples(60)
@given(CLAIMS, st.lists(SLICES, max_size=3), SELECTORS)
def test_every_claim_has_an_outcome_soon(
    claim: api.ResourceClaim, slices: list[api.ResourceSlice], of_class: tuple[api.DeviceSelector, ...]
) -> None:
    store = ObjectStore()
    for one in slices:
        store.put(one)
    device_class = api.DeviceClass(metadata=api.ObjectMeta(name="any"), spec=api.DeviceClassSpec(selectors=of_class))
    told = ""
    started = time.process_time()
    try:
        prepared = prepare([claim], {"any": device_class}.get, Features())
        node = PublishedDevices(store, partitionable=True).devices_of(make_node("n").obj())
        supply = Supply(DevicesInUse(), Features(), time.monotonic)
        find_devices(prepared, node, supply, Pace(time.monotonic, 1.0))
    except (AllocationFault, NodeFault, OutOfTime) as named:
        told = str(named)
    assert time.process_time() - started < SECONDS
    assert "Exceeds the limit" not in told, "these are Python's words"
