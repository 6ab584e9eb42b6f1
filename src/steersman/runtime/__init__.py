# SPDX-License-Identifier: Apache-2.0
"""From configuration to callable plugins: the registry, profiles, and the one way in which plugins are called."""

from steersman.runtime.faults import CycleAborted, PluginError
from steersman.runtime.profile import PluginRef, Profile, ProfileSpec, build
from steersman.runtime.registry import Registry

__all__ = ["CycleAborted", "PluginError", "PluginRef", "Profile", "ProfileSpec", "Registry", "build"]
