"""Finds Kannel, an SMS gateway that others wrote: it is the client of our SMSC that its users most
likely have.
"""

import os
import re
import shutil
import subprocess

# Debian's are where an ordinary user's PATH does not lead
PATH = f"/usr/sbin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
ADVICE = (
    "Kannel is needed: install it (Debian, Ubuntu: sudo apt-get install --no-install-recommends"
    " kannel)"
)


def find_kannel() -> str | None:
    """Returns its version, such as `1.4.5`, or None when it is missing."""
    bearerbox, smsbox = (shutil.which(program, path=PATH) for program in ("bearerbox", "smsbox"))
    if bearerbox is None or smsbox is None:
        return None
    said = subprocess.run(
        [bearerbox, "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found = re.search(r"version [`'\"]?([\w.]+)", said)
    return found[1] if found else "of an unknown version"
