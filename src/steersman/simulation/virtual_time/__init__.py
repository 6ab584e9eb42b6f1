# SPDX-License-Identifier: Apache-2.0
"""Virtual time: the driver of a simulation's scheduler, and the scheduler's ports.

Read `driver`, then `tasks`: how binding cycles wait without waiting. `writer` carries decisions out in the embedded cluster and
has the events for users, `extenders` calls those of the configuration in real time.
May import everything below `simulation`.
"""
