"""Node and npm: they run the SMPP peer that others wrote (npm `smpp`)."""

import shutil
import subprocess

OLDEST = 18
ADVICE = f"Node {OLDEST} or newer and npm are needed: install them (Debian, Ubuntu: sudo apt-get install nodejs npm)"


def find_node() -> str | None:
    """The version of the Node that will be used, such as `v20.11.0`; None when it is missing, too old, or comes without npm."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    version = subprocess.run([node, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout.strip()
    return version if int(version.lstrip("v").split(".")[0]) >= OLDEST else None
