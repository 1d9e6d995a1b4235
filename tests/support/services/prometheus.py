"""Runs Prometheus's own checker of rules and queries, for what `deploy/` gives to a monitoring."""

import os
import re
import shutil
import subprocess

PATH = f"/usr/sbin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
ADVICE = (
    "promtool is needed: install Prometheus (Debian, Ubuntu: sudo apt-get install"
    " --no-install-recommends prometheus)"
)


def find_promtool() -> str | None:
    """Returns its version, such as `2.42.0`, or None when it is missing."""
    program = shutil.which("promtool", path=PATH)
    if program is None:
        return None
    said = subprocess.run(
        [program, "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"version ([\d.]+)", said.stdout + said.stderr)
    return found[1] if found else "of an unknown version"
