# SPDX-License-Identifier: Apache-2.0
"""What `steersman run --record` costs: CPU time per pod with and without, in turn, on an API server that only answers.

`stub_server` is that API server, in the process of the benchmark; `__main__` starts `steersman run` beside it, with and without
a record, and has both work in turn. CPU time is the scheduler's alone, by thread.
"""
