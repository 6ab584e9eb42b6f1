# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman`: the command line, where the script of the same name is not on the path."""

from steersman.cli import main

if __name__ == "__main__":
    main(prog_name="steersman")
