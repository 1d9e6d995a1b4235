"""Has handsets write while a server is killed again and again."""

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import RememberingSmsc
from tests.support.polling import wait_until

ROUNDS = int(os.environ.get("HELIOGRAPH_TEST_CRASH_ROUNDS", "3"))
SHORT_CODE = b"4567"
PAUSE_S = 0.002  # of the carrier after a text: the load is steady, and no wait for anything
TAKEN_WITHIN_S = 30.0


def deliver_sm(sender: str, octets: bytes, esm_class: int = 0) -> bytes:
    return (
        b"\0\1\1"
        + sender.encode()
        + b"\0\0\0"
        + SHORT_CODE
        + b"\0"
        + bytes((esm_class, 0, 0, 0, 0, 0, 0, 0, 0, len(octets)))
        + octets
    )


def kill_while_writing(
    url: str,
    tmp_path: Path,
    smsc: RememberingSmsc,
    *,
    write: Callable[[], None],
    end: Callable[[], None],
    stored: Callable[[], int],
) -> list[int]:
    """Kills a server ROUNDS times, each time at a random moment after more was stored. `write`
    runs beside it until `end` is called, and one more server takes what is left. Returns how many
    PDUs were not answered at each kill.
    """
    chance = random.Random(ROUNDS)
    unanswered = []
    writing = threading.Thread(target=write)
    writing.start()
    try:
        for _ in range(ROUNDS):
            server = ServerProcess(url, tmp_path)
            server.wait_until_ready()
            _until_more(stored)
            time.sleep(chance.uniform(0.05, 0.5))  # the moment is the test
            server.process.kill()
            server.process.wait()
            smsc.count_kill()
            unanswered.append(len(smsc.unacknowledged))
    finally:
        end()
        writing.join()
    server = ServerProcess(url, tmp_path)
    try:
        server.wait_until_ready()
        wait_until(lambda: not smsc.unacknowledged, "all is acknowledged", TAKEN_WITHIN_S)
    finally:
        assert server.end() == 0
    return unanswered


def _until_more(stored: Callable[[], int]) -> None:
    before = stored()
    wait_until(lambda: stored() > before, "more is stored", TAKEN_WITHIN_S)
