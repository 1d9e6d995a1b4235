"""A trial of a bind ends in time, even if the name server takes every question and answers none."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.services import netns

WITHIN_S: Final = 1.0
RESOLVER_S: Final = 5.0  # before the resolver asks a second time; it gives up after twice as long
# a network and a resolv.conf of its own, so that nothing of the machine's is touched
BEGIN: Final = 'ip link set lo up && mount --bind "$1" /etc/resolv.conf && exec "$2" -c "$3"'
TRY: Final = f"""
import os, socket, time
from heliograph.carriers import trial_connection
from heliograph.carriers.smpp.trial_bind import run_trial_bind

silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
silent.settimeout(5)
given = {{"host": "smsc.example.net", "port": 2775, "system_id": "amina"}}
connection = trial_connection("gh", given, "x")
began_s = time.monotonic()
state, detail = run_trial_bind(connection, {WITHIN_S})
print(time.monotonic() - began_s, state.value, len(silent.recv(512)) > 0, flush=True)
os._exit(0)  # the thread that still waits would hold up an ordinary end
"""


def test_a_silent_name_server_does_not_hold_up_a_trial(tmp_path: Path) -> None:
    if netns.find_ip() is None:
        pytest.skip(netns.ADVICE)
    servers = tmp_path / "resolv.conf"
    servers.write_text(f"nameserver 127.0.0.1\noptions timeout:{RESOLVER_S:.0f} attempts:2\n")
    unshare = ["unshare", "--mount", "--net", "sh", "-c", BEGIN, "sh"]
    ran = subprocess.run(
        [*unshare, str(servers), sys.executable, TRY],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=dict(os.environ),
    )
    took_s, state, was_asked = ran.stdout.split()
    assert (state, was_asked) == ("connecting", "True")
    assert WITHIN_S <= float(took_s) < RESOLVER_S
