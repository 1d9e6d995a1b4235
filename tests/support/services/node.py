"""Finds Node and npm: they run what others wrote, for our tests: the SMPP peer (npm `smpp`), the
verifier of webhooks (npm `standardwebhooks`).
"""

import shutil
import subprocess
from pathlib import Path

OLDEST = 18
ADVICE = (
    f"Node {OLDEST} or newer and npm are needed: install them (Debian, Ubuntu: sudo apt-get install"
    " nodejs npm)"
)


def find_node() -> str | None:
    """Returns the version of the Node that will be used, such as `v20.11.0`, or None when it is
    missing, too old, or comes without npm.
    """
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    version = subprocess.run(
        [node, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout.strip()
    return version if int(version.lstrip("v").split(".")[0]) >= OLDEST else None


def ensure_modules(folder: Path) -> None:
    """Installs what its package-lock.json names, once, as `make test` does. Raises when Node is
    missing, or npm fails: no test is skipped.
    """
    lock, installed = folder / "package-lock.json", folder / "node_modules" / ".installed"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    if find_node() is None:
        raise RuntimeError(ADVICE)
    npm = shutil.which("npm")
    assert npm is not None
    subprocess.run(
        [npm, "ci", "--silent", "--no-audit", "--no-fund"],
        cwd=folder,
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    installed.touch()
