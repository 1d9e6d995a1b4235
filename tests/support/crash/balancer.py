"""Runs HAProxy as the handbook sets it up."""

import re

from tests.support.sources import ROOT


def handbook_haproxy(*ports: int) -> str:
    """Returns deploy/haproxy.cfg with these ports for 8081, 8082; it listens without a certificate,
    and as whoever starts it.
    """
    whole = (ROOT / "deploy" / "haproxy.cfg").read_text("utf-8")
    said = whole[whole.index("\ndefaults\n") :].replace("    log global\n", "")
    said, bound = re.subn(r"bind :443 ssl .*", "bind 127.0.0.1:8080", said)
    assert bound == 1
    for told, port in zip((8081, 8082), ports, strict=True):
        assert said.count(f"127.0.0.1:{told}") == 1
        said = said.replace(f"127.0.0.1:{told}", f"127.0.0.1:{port}")
    return said
