"""Measures what users would otherwise run: Kannel's disk queue, from Debian's package, with a
configuration of its own.

bearerbox keeps its queue in the spool store, one file a message, never fsynced; its receipt table
is in memory.
"""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import load, traffic
from bench.control import ask
from bench.processes import NotMeasured, free_port, helper, started, wait_for_port
from bench.reading import Conditions, Reading, together

# Debian's are where an ordinary user's PATH does not lead
PROGRAMS = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
READY_WITHIN_S = 15.0
QUIET_S = 3.0  # no callback for so long: the queue is empty, or stuck
QUEUE_MAX = 1_000_000  # never refuse for a full queue: its disk is what is measured

_CONFIGURATION = """
group = core
admin-port = {admin_port}
admin-password = bench
admin-interface = 127.0.0.1
smsbox-port = {smsbox_port}
smsbox-interface = 127.0.0.1
log-file = "{folder}/bearerbox.log"
log-level = 2
store-type = spool
store-location = "{folder}/spool"
dlr-storage = internal
sms-outgoing-queue-limit = {queue_max}
sms-resend-freq = 1

group = smsc
smsc = smpp
smsc-id = bench
host = 127.0.0.1
port = {smsc_port}
transceiver-mode = true
smsc-username = bench
smsc-password = secret
system-type = ""
max-pending-submits = 100
msg-id-type = 0x00
source-addr-autodetect = true
dest-addr-ton = 1
dest-addr-npi = 1
reconnect-delay = 1

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = {smsbox_port}
sendsms-port = {http_port}
sendsms-interface = 127.0.0.1
log-file = "{folder}/smsbox.log"
log-level = 2

group = sendsms-user
username = bench
password = bench
default-smsc = bench

group = sms-service
keyword = default
text = "none"
"""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Says where a running Kannel takes HTTP requests."""

    http_port: int
    folder: Path


def installed() -> bool:
    """Returns whether Debian's `kannel` package, or another with the same programs, is here."""
    return all(shutil.which(program, path=PROGRAMS) for program in ("bearerbox", "smsbox"))


def version() -> str:
    """Returns the version, such as `1.4.5`."""
    said = subprocess.run(
        [_program("bearerbox"), "--version"], capture_output=True, text=True, check=False
    ).stdout
    return said.partition("version `")[2].partition("'")[0] or "unknown"


def _program(name: str) -> str:
    return shutil.which(name, path=PROGRAMS) or name


@contextlib.contextmanager
def running(conditions: Conditions, smsc_port: int) -> Iterator[Gateway]:
    """Starts bearerbox and smsbox with an empty spool. Both are gone on leaving, and the spool with
    them.
    """
    with tempfile.TemporaryDirectory(dir=conditions.folder, prefix="kannel-") as name:
        folder = Path(name)
        (folder / "spool").mkdir()
        ports = {name: free_port() for name in ("admin_port", "smsbox_port", "http_port")}
        configuration = folder / "kannel.conf"
        configuration.write_text(
            _CONFIGURATION.format(folder=folder, smsc_port=smsc_port, queue_max=QUEUE_MAX, **ports)
        )
        log = folder / "output.log"
        with started([_program("bearerbox"), "-v", "4", str(configuration)], log) as bearerbox:
            wait_for_port(bearerbox, ports["smsbox_port"], READY_WITHIN_S, log)
            with started([_program("smsbox"), "-v", "4", str(configuration)], log) as smsbox:
                wait_for_port(smsbox, ports["http_port"], READY_WITHIN_S, log)
                yield Gateway(ports["http_port"], folder)


def accept(conditions: Conditions) -> list[Reading]:
    """Measures one-recipient sends over 64 connections without receipts: with its SMSC away, so
    that all stay in the queue, and with it there.
    """
    readings = []
    with running(conditions, smsc_port=free_port()) as gateway:
        sends = traffic.kannel_sends(gateway.folder, gateway.http_port, callback_port=None)
        load.run(sends, conditions.connections, conditions.warm_up_s)
        seen = load.run(sends, conditions.connections, conditions.seconds)
        readings.append(
            Reading("kannel.accept_queue", seen.per_s, seen.errors, {"p99_ms": seen.p99_ms})
        )
    with (
        helper("bench.smsc", log=conditions.folder / "smsc.log") as smsc,
        running(conditions, smsc["port"]) as gateway,
    ):
        sends = traffic.kannel_sends(gateway.folder, gateway.http_port, callback_port=None)
        _wait_for_bind(smsc["control_port"])
        load.run(sends, conditions.connections, conditions.warm_up_s)
        seen = load.run(sends, conditions.connections, conditions.seconds)
        readings.append(
            Reading(
                "kannel.accept",
                seen.per_s,
                seen.errors,
                {"p99_ms": seen.p99_ms, "smsc": ask(smsc["control_port"])},
            )
        )
    return readings


def receipts(conditions: Conditions) -> list[Reading]:
    """Measures sends that ask for receipts, through a fast SMSC, until the last callback. The
    figure is callbacks a second, from the first submit_sm to the last of them.
    """
    log = conditions.folder / "smsc.log"
    options = ("--receipts", "--track")
    with (
        helper("bench.sink", log=log) as sink,
        helper("bench.smsc", *options, log=log) as smsc,
        running(conditions, smsc["port"]) as gateway,
    ):
        sends = traffic.kannel_sends(gateway.folder, gateway.http_port, callback_port=sink["port"])
        _wait_for_bind(smsc["control_port"])
        seen = load.run(sends, conditions.connections, conditions.seconds)
        counted, submitted = _wait_until_quiet(sink["control_port"], smsc["control_port"])
        per_s = counted["requests"] / (counted["last_at"] - submitted["first_submit_at"])
        missing = {"no callback": max(0, seen.answered - counted["requests"])}
        return [
            Reading(
                "kannel.receipts",
                per_s,
                together(seen.errors, missing),
                {"accepted_per_s": seen.per_s, "sink": counted, "smsc": submitted},
            )
        ]


def drain(conditions: Conditions) -> list[Reading]:
    """Measures a queue that is filled while the SMSC is away, and then let go. The figure is
    callbacks a second, from the first submit_sm to the last of them.
    """
    log, smsc_port = conditions.folder / "smsc.log", free_port()
    with helper("bench.sink", log=log) as sink, running(conditions, smsc_port) as gateway:
        sends = traffic.kannel_sends(gateway.folder, gateway.http_port, callback_port=sink["port"])
        seen = load.run(sends, conditions.connections, conditions.fill_s)
        with helper(
            "bench.smsc", "--receipts", "--track", "--port", str(smsc_port), log=log
        ) as smsc:
            _wait_for_bind(smsc["control_port"])
            counted, submitted = _wait_until_quiet(sink["control_port"], smsc["control_port"])
        per_s = counted["requests"] / (counted["last_at"] - submitted["first_submit_at"])
        missing = {"no callback": max(0, seen.answered - counted["requests"])}
        return [
            Reading(
                "kannel.drain",
                per_s,
                together(seen.errors, missing),
                {"queued": seen.answered, "sink": counted, "smsc": submitted},
            )
        ]


def _wait_for_bind(control_port: int) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not ask(control_port)["binds"]:
        if time.monotonic() > deadline:
            raise NotMeasured("Kannel did not bind to the SMSC")
        time.sleep(0.05)


def _wait_until_quiet(
    sink_port: int, smsc_port: int, within_s: float = 90.0
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Waits until neither callbacks nor receipts go on. Returns the counters of the sink and of the
    SMSC.
    """
    deadline = time.monotonic() + within_s
    before, quiet_since = (-1, -1), time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(0.25)
        counted, submitted = ask(sink_port), ask(smsc_port)
        now = (counted["requests"], submitted["submitted"])
        if now != before:
            before, quiet_since = now, time.monotonic()
        elif time.monotonic() - quiet_since > QUIET_S:
            return counted, submitted
    raise NotMeasured(f"Kannel was not done within {within_s:g} s: {before}")
