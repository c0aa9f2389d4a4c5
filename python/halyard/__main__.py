"""`python -m halyard`, and the script `halyard`: the command line of Halyard."""
from __future__ import annotations

import os
import sys

from ._runtime_files import command


def main() -> None:
    program = str(command())
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
