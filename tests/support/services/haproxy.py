"""Runs HAProxy, the load balancer of the handbook's example, in front of several API processes."""

import os
import re
import shutil
import subprocess

import httpx

from tests.support import plain_http
from tests.support.services import ServiceMissing
from tests.support.services.private import PrivateService

# Debian's is where an ordinary user's PATH does not lead
PATH = f"/usr/sbin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
ADVICE = (
    "HAProxy is needed: install it (Debian, Ubuntu: sudo apt-get install --no-install-recommends"
    " haproxy)"
)


def find_haproxy() -> str | None:
    """Returns its version, such as `2.6.12`, or None when it is missing."""
    program = shutil.which("haproxy", path=PATH)
    if program is None:
        return None
    said = subprocess.run(
        [program, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"version ([\d.]+)", said)
    return found[1] if found else "of an unknown version"


class HAProxy(PrivateService):
    """Runs HAProxy with this configuration, in which `127.0.0.1:8080` is where it listens."""

    def __init__(self, configuration: str) -> None:
        program = shutil.which("haproxy", path=PATH)
        if program is None:
            raise ServiceMissing(ADVICE)
        super().__init__()
        self._program = program
        self.address = f"http://127.0.0.1:{self.port}"
        (self.directory / "haproxy.cfg").write_text(
            configuration.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}"), "utf-8"
        )

    def command(self) -> list[str]:
        return [self._program, "-db", "-f", str(self.directory / "haproxy.cfg")]

    def is_ready(self) -> bool:
        try:
            return plain_http.get(f"{self.address}/readyz", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False
