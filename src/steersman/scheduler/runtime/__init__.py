# SPDX-License-Identifier: Apache-2.0
"""From configuration to callable plugins: the registry, profiles, and the calls of plugins."""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.runtime.applicable_calls import ApplicableCalls as ApplicableCalls
    from steersman.scheduler.runtime.capabilities import capabilities_of as capabilities_of
    from steersman.scheduler.runtime.event_registrations import pod_events_of as pod_events_of
    from steersman.scheduler.runtime.faults import (
        PLUGIN_FAULTS as PLUGIN_FAULTS,
        PluginError as PluginError,
        describe_fault as describe_fault,
    )
    from steersman.scheduler.runtime.guarded_coroutine import GuardedCoroutine as GuardedCoroutine
    from steersman.scheduler.runtime.handle import TableNodes as TableNodes
    from steersman.scheduler.runtime.plugin_args import check_args as check_args
    from steersman.scheduler.runtime.profile import (
        FilterCall as FilterCall,
        PluginRef as PluginRef,
        PreBindCall as PreBindCall,
        Profile as Profile,
        ProfileSpec as ProfileSpec,
        RawCall as RawCall,
        ScoreCall as ScoreCall,
        StatusCall as StatusCall,
        build as build,
    )
    from steersman.scheduler.runtime.registry import (
        Registry as Registry,
        load_module as load_module,
        load_module_once as load_module_once,
    )
else:
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
            "profile": ("FilterCall PluginRef PreBindCall Profile ProfileSpec RawCall ScoreCall StatusCall build"),
            "registry": "Registry load_module load_module_once",
        },
    )
