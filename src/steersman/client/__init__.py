"""The only package that speaks HTTP outward: extenders.

`http_extenders` makes the extenders of a configuration; the scheduler knows them as `framework.extender.Extender`.
"""

from steersman.client.extenders import HttpExtender, http_extenders

__all__ = ["HttpExtender", "http_extenders"]
