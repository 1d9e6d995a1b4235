"""Finds systemd's programs that look at units, sysusers and tmpfiles files. None of them needs a
running systemd.
"""

import shutil

PROGRAMS = ("systemd-analyze", "systemd-sysusers", "systemd-tmpfiles")
ADVICE = (
    "systemd's programs are needed, to check the units in deploy/: install them (Debian, Ubuntu:"
    " sudo apt-get install systemd)"
)


def find_programs() -> str | None:
    """Returns where they are, or None when one is missing."""
    found = [shutil.which(program) for program in PROGRAMS]
    return None if None in found else ", ".join(map(str, found))
