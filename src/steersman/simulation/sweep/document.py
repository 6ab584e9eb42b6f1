# SPDX-License-Identifier: Apache-2.0
"""The document of kind Sweep: every field with its description for users.

`loading` reads and checks it, `matrix` derives the runs. The reference in the docs is generated
from these structs.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steersman.api import DocumentPart
from steersman.base import SWEEP_VERSION

SWEEP_KIND: Final = "Sweep"

JsonObject: TypeAlias = dict[str, Any]
ParameterValue: TypeAlias = str | int | float | bool


class ConfigurationChoice(DocumentPart, frozen=True):
    """A scheduler to compare with others."""

    name: Annotated[str, Meta(description="The name in results; default: the name of the file, or `default`.")] = ""
    config: Annotated[
        str | JsonObject | None,
        Meta(description="A KubeSchedulerConfiguration, or its file; default: kube-scheduler's own defaults."),
    ] = None
    plugins: Annotated[list[str], Meta(description="Python files with plugins.")] = []
    feature_gates: Annotated[dict[str, bool], Meta(description="Feature gates of the scheduler.")] = {}


class InputChoice(DocumentPart, frozen=True):
    """A workload on a cluster; exactly one of `manifests` and `scenario`."""

    name: Annotated[str, Meta(description="The name in results; default: the name of the file, or `input`.")] = ""
    manifests: Annotated[
        list[str | JsonObject],
        Meta(description="Manifests and dumps as for `simulate -f`: files, directories, or objects."),
    ] = []
    scenario: Annotated[str | JsonObject | None, Meta(description="A Scenario, or its file.")] = None
    until: Annotated[
        str | float | None,
        Meta(description="With `manifests`: continue for this virtual time; default: until nothing changes any more."),
    ] = None
    kubelets: Annotated[
        str | JsonObject | None, Meta(description="With `manifests`: a KubeletPolicy, or its file.")
    ] = None
    controllers: Annotated[
        bool, Meta(description="With `manifests`: whether Deployments and their like make pods.")
    ] = True


class SeedRange(DocumentPart, frozen=True):
    """Seeds that follow each other."""

    count: Annotated[int, Meta(ge=1, description="How many.")]
    first: Annotated[int, Meta(description="The first one.")] = 0


class Sweep(DocumentPart, frozen=True, kw_only=True):
    """Many runs: every configuration on every input, with every combination of parameters and every seed."""

    api_version: Annotated[str, Meta(description="`steersman.dev/v1alpha1`.")] = SWEEP_VERSION
    kind: Annotated[str, Meta(description="`Sweep`.")] = SWEEP_KIND
    name: Annotated[str, Meta(description="A name for reports; default: the name of the file.")] = ""
    description: Annotated[str, Meta(description="What it is about.")] = ""
    configurations: Annotated[
        list[ConfigurationChoice], Meta(description="Schedulers; default: kube-scheduler's own defaults.")
    ] = msgspec.field(default_factory=lambda: [ConfigurationChoice()])
    inputs: Annotated[list[InputChoice], Meta(description="Workloads on clusters.")]
    parameters: Annotated[
        dict[str, list[ParameterValue]],
        Meta(description="Values of `${name}` in scenarios and configurations; each of them is run."),
    ] = {}
    seeds: Annotated[
        int | list[int] | SeedRange,
        Meta(description="Number of seeds from 0 on, a list, or `{first: 100, count: 50}`. Default: 1."),
    ] = 1

    measures: Annotated[
        list[str],
        Meta(description="Python files; each public function in them takes the result of a run and returns a number."),
    ] = []
    keep: Annotated[
        list[Literal["placements", "namespaces", "utilisation", "events", "preempted", "series"]],
        Meta(description="Tables of every run to write, each into a folder of its name."),
    ] = []

    @property
    def all_seeds(self) -> list[int]:
        if isinstance(self.seeds, list):
            return self.seeds
        if isinstance(self.seeds, SeedRange):
            return list(range(self.seeds.first, self.seeds.first + self.seeds.count))
        return list(range(self.seeds))
