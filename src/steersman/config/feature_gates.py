# SPDX-License-Identifier: Apache-2.0
"""The state of the feature gates in one emulated version, and parsing of `--feature-gates`.

`versions` declares stage and default of every gate. Gates that the scheduler does not read are
accepted, because components often share one flag value, and change nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from steersman.base import InputError
from steersman.config.other_gates import other_gates
from steersman.config.versions import (
    DEFAULT_VERSION,
    SUPPORTED_VERSIONS,
    GateSpec,
    GateStage,
    KubernetesVersion,
    gates_of,
    parse_version,
    rules_of,
    supported,
)

BINDING_CONDITION_GATES: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
"""Gates that must both be on for the binding timeout of DynamicResources to have an effect."""

_ALL_OF_STAGE: Final = {"AllAlpha": GateStage.ALPHA, "AllBeta": GateStage.BETA}
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class FeatureGates:
    """The state of every gate of the emulated version, and the rules of that version.

    Immutable; `FeatureGates()` is the state without any flag.
    """

    def __init__(
        self, chosen: Mapping[str, bool] | None = None, version: KubernetesVersion | str = DEFAULT_VERSION
    ) -> None:
        """`chosen` overrides defaults. Raises `InputError` for an unsupported gate or version."""
        self.version = parse_version(version) if isinstance(version, str) else supported(version)
        self._rules = rules_of(self.version)
        for name, value in (chosen or {}).items():
            self._check_settable(name, value)
        self._state = self._with_whole_stages(chosen or {})
        self._chosen = dict(chosen or {})
        self._check_needs()

    @classmethod
    def parse(cls, text: str, version: KubernetesVersion | str = DEFAULT_VERSION) -> Self:
        """Return the gates of a flag value such as `A=true,B=false`."""
        return cls(dict(_assignment(part) for part in text.split(",") if part), version)

    @property
    def specs(self) -> Mapping[str, GateSpec]:
        """Stage and default of every gate of the emulated version."""
        return gates_of(self.version)

    def enabled(self, name: str) -> bool:
        """Return whether the gate is on. Raises `KeyError` if no supported version reads it."""
        state = self._state.get(name)
        return state if state is not None else _state_outside(name)

    def has_rule(self, rule: str) -> bool:
        """Return whether the emulated version has a `Rule` of the table of versions."""
        return rule in self._rules

    def is_named(self, name: str) -> bool:
        """Return whether the gate was set by its own name, not by its stage (AllAlpha)."""
        return name in self._chosen

    def over(self, common: Mapping[str, bool]) -> FeatureGates:
        """Return these gates with `common` as defaults of the gates that were not chosen."""
        return FeatureGates({**common, **self._chosen}, self.version)

    def changed(self) -> dict[str, bool]:
        """Return the gates that differ from their defaults."""
        return {name: value for name, value in self._state.items() if value != self.specs[name].default}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGates) and self.version == other.version and self._state == other._state

    def __hash__(self) -> int:
        return hash((self.version, *self._state.items()))

    def __repr__(self) -> str:
        return f"FeatureGates({self.changed()})"

    def _check_needs(self) -> None:
        for name, spec in self.specs.items():
            missing = [needed for needed in spec.needs if not self._state[needed]]
            if self._state[name] and missing:
                raise _flag_error(
                    f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
                    hint=f"add {','.join(f'{needed}=true' for needed in missing)}",
                )

    def _with_whole_stages(self, chosen: Mapping[str, bool]) -> dict[str, bool]:
        """Return the defaults, overridden by whole stages, overridden by gates chosen by name."""
        of_stage = {stage: chosen[name] for name, stage in _ALL_OF_STAGE.items() if name in chosen}
        return {name: chosen.get(name, of_stage.get(spec.stage, spec.default)) for name, spec in self.specs.items()}

    def _check_settable(self, name: str, value: bool) -> None:
        if name in _ALL_OF_STAGE or name in other_gates(self.version):
            return
        if name not in self.specs:
            hint = f"use a feature gate of Kubernetes v{self.version}"
            if others := [str(version) for version in SUPPORTED_VERSIONS if name in gates_of(version)]:
                hint += f", or --emulated-version={others[-1]}"
            raise _flag_error(f"unrecognized feature gate: {name}", hint=hint)
        spec = self.specs[name]
        if spec.locked and spec.default != value:
            locked_to = str(spec.default).lower()
            raise _flag_error(
                f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {locked_to}",
                hint=f"remove {name} from the flag",
            )


def _state_outside(name: str) -> bool:
    """Return the state of another version's gate: on if permanent by now, off if new or dropped."""
    specs = [specs[name] for version in SUPPORTED_VERSIONS if name in (specs := gates_of(version))]
    if not specs:
        raise KeyError(name)
    return specs[-1].locked and specs[-1].default


def _assignment(part: str) -> tuple[str, bool]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals:
        raise _flag_error(f"missing bool value for {name}", hint="write NAME=true or NAME=false")
    if value not in _BOOLEANS:
        raise _flag_error(f"invalid value of {name}={value}", hint="use true or false")
    return name, _BOOLEANS[value]


def _flag_error(message: str, *, hint: str) -> InputError:
    return InputError(message, object="--feature-gates", hint=hint)


DEFAULT_GATES: Final = FeatureGates()
GATES: Final = DEFAULT_GATES.specs
"""The feature gates of the default version."""
