# SPDX-License-Identifier: Apache-2.0
"""Virtual time: the driver of a simulation's scheduler, and the scheduler's ports.

Read `driver`, then `tasks`: how binding cycles wait in virtual time. `writer` carries decisions out
in the embedded cluster and records events, `extenders` calls the configured extenders in real time.
May import everything below `simulation`.
"""
