# SPDX-License-Identifier: Apache-2.0
"""From configuration to callable plugins: the registry, profiles, and the calls of plugins."""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "applicable_calls": "ApplicableCalls",
        "capabilities": "capabilities_of",
        "event_registrations": "pod_events_of",
        "faults": "PLUGIN_FAULTS PluginError describe_fault",
        "guarded_coroutine": "GuardedCoroutine",
        "handle": "TableNodes",
        "plugin_args": "check_args",
        "profile": "FilterCall PluginRef PreBindCall Profile ProfileSpec RawCall ScoreCall StatusCall build",
        "registry": "Registry load_module load_module_once",
    },
)
