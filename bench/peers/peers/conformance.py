"""Checks the CPU driver's results against vectors: speed counts only with correct results."""

import os
import re
import subprocess

from peers import models
from peers.contenders import DEVICE

PROGRAM = "halyard-kit"
_FOLDERS = (models.SOURCE / "tests" / "vectors", models.SOURCE.parent / "shared" / "conformance")


def measure(build):
    """{folder: {"passed", "failed", "skipped"} or {"error"}} of the folders on this machine."""
    results = {}
    for folder in _FOLDERS:
        if not folder.exists():
            continue
        done = subprocess.run(
            [str(build.program(PROGRAM)), "conformance", str(folder), "--device", DEVICE],
            capture_output=True, text=True, check=False,
            env={**os.environ, "HALYARD_DRIVER_FILES": str(build.manifest())})
        name = folder.name
        found = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped", done.stdout)
        if found is None:
            results[name] = {"error": (done.stderr.strip().splitlines() or ["no answer"])[-1]}
        else:
            results[name] = dict(zip(("passed", "failed", "skipped"), map(int, found.groups())))
    return results
