"""Some processes do not end when they are told to, and have to be killed."""

import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from heliograph.processes import prefork as siblings
from heliograph.processes.prefork import Siblings

COUNT = 4
STOPPED_WITHIN_S = 30.0


def stands_still(signals: Connection) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def tell_when_stopped() -> None:
    until_s = time.monotonic() + STOPPED_WITHIN_S
    while time.monotonic() < until_s:
        states = [
            Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2][0]
            for child in multiprocessing.active_children()
        ]
        if states == ["T"] * COUNT:
            break
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)


def test_each_process_that_has_to_be_killed_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(siblings, "GONE_WITHIN_S", 0.5)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    several = Siblings(COUNT, stands_still, ())
    threading.Thread(target=tell_when_stopped).start()
    try:
        with capture_logs() as logs:
            assert several.run() == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    killed = [line["process"] for line in logs if line["event"] == "api_process_killed"]
    assert (len(killed), len(set(killed))) == (COUNT, COUNT)
