"""`heliograph smsc` is run as its users run it: it starts and ends, tells what it counted, and
leaves a log.
"""

import asyncio
import re
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from heliograph.carriers.smpp import pdu
from heliograph.text import split_segments
from tests.support import warm
from tests.support.machine_speed import slowness
from tests.support.sources import ROOT
from tests.support.wire.raw_client import RawClient, submission
from tests.support.wire.recorder import bound, outgoing, submit_all
from tests.support.wire.smsc_process import WITHIN_S, SmscProcess, running

TEXT = "Your code is secret, and this text is long. " * 8
# 20,000 a second on one core of the machine of reference (tests/support/machine_speed.py)
CPU_US_OF_A_MESSAGE_MAX = 50.0


@asynccontextmanager
async def connected(smsc: SmscProcess) -> AsyncIterator[RawClient]:
    client = RawClient(*await asyncio.open_connection("127.0.0.1", smsc.port))
    try:
        assert await client.bind() == 0
        yield client
    finally:
        client.close()
        await client.until_closed()


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_in_order_and_says_what_it_counted(
    by: signal.Signals, tmp_path: Path
) -> None:
    with running(tmp_path, "--receipt-delay-ms", "0") as smsc:
        async with connected(smsc) as client:
            await client.submit()
            await client.submit("233201234001")
            await client.receipt()
            await client.submit("233201234003")
            ended = asyncio.create_task(asyncio.to_thread(smsc.stop, by))
            asked = await client.next(pdu.UNBIND)
            client.say(pdu.encode_pdu(pdu.UNBIND_RESP, 0, asked.sequence))
            assert await ended == 0
        first, last = smsc.said
        assert (first["host"], first["port"]) == ("127.0.0.1", smsc.port)
        wanted = {
            "bind": 1,
            "submit_sm": 3,
            "submit_sm_resp": 2,
            "submit_sm_resp 0x0b": 1,
            "receipt": 1,
            "acknowledged": 1,
            "lost": 1,
        }
        assert last["counts"].items() >= wanted.items()
        assert last["receipts_owed"] == 1
        [stopped] = smsc.events("stopped")
        assert stopped["counts"] == last["counts"]
        assert smsc.events("lost")[0]["why"] == "unbound"


async def test_a_client_that_does_not_answer_unbind_keeps_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as smsc:
        async with connected(smsc):
            assert await asyncio.to_thread(smsc.stop) == 0


async def test_its_log_joins_with_the_messages_of_a_client(tmp_path: Path) -> None:
    """Every event of a submission is there, its text is a hash, its number is in full, and nobody
    else may read the file.
    """
    with running(tmp_path) as smsc:
        async with bound(smsc.settings()) as (link, inbox):
            submissions = link.prepare(outgoing(TEXT, segments=3))
            await submit_all(link, inbox, submissions)
            await inbox.until_received(3)
        told = {line["message_id"]: line for line in smsc.until(3, "submit_sm")}
        for part, (answer, text) in enumerate(
            zip(inbox.answers, split_segments(TEXT, "GSM-7"), strict=True), 1
        ):
            line = told[answer.ref or ""]
            assert (
                line["sender"],
                line["recipient"],
                line["long"],
                line["part"],
                line["parts"],
            ) == ("AMINA", "233201234567", "udh", part, 3)
            assert line["text_sha256"] == sha256(text.encode()).hexdigest()
            reference = pdu.decode_sm(submissions[part - 1].data).tlvs[pdu.USER_MESSAGE_REFERENCE]
            assert line["user_message_reference"] == int.from_bytes(reference, "big")
        for kind in ("answer", "receipt", "acknowledged"):
            assert {line["message_id"] for line in smsc.until(3, kind)} == set(told)
        assert [line["event"] for line in smsc.events()][:3] == ["listening", "connected", "bind"]
        times = [line["at_ms"] for line in smsc.events()]
        assert times == sorted(times)
        written = smsc.log.read_text()
        assert "secret" not in written
        assert stat.S_IMODE(smsc.log.stat().st_mode) == 0o600


async def test_what_a_client_heard_before_a_kill_is_in_the_log(tmp_path: Path) -> None:
    with running(tmp_path) as smsc:
        async with connected(smsc) as client:
            _, message_id = await client.submit()
            # before the answer was, not soon after
            assert [line["message_id"] for line in smsc.events("answer")] == [message_id]
            for _ in range(20_000):
                client.request(pdu.SUBMIT_SM, submission(registered_delivery=0))
            heard = {
                pdu.decode_string((await client.next(pdu.SUBMIT_SM_RESP)).body) for _ in range(500)
            }
            smsc.process.kill()
            await client.until_closed()
            heard |= {
                pdu.decode_string(frame.body)
                for frame in client.heard
                if frame.command == pdu.SUBMIT_SM_RESP
            }
        assert heard <= {line["message_id"] for line in smsc.events("submit_sm")}


def test_a_log_that_cannot_be_written_ends_it_with_one_line(tmp_path: Path) -> None:
    full, missing = (
        warm.run(["smsc", "--port", "0", "--log", log], timeout=WITHIN_S)
        for log in ("/dev/full", str(tmp_path / "no" / "log"))
    )
    assert (full.returncode, full.stderr) == (
        1,
        "heliograph: /dev/full cannot be written any more: No space left on device.\n",
    )
    assert (missing.returncode, missing.stderr) == (
        1,
        f"heliograph: {tmp_path}/no/log cannot be written: No such file or directory.\n",
    )


def test_two_do_not_write_into_one_log(tmp_path: Path) -> None:
    with running(tmp_path) as smsc:
        before = smsc.log.read_bytes()
        second = warm.run(["smsc", "--port", "0", "--log", smsc.log], timeout=WITHIN_S)
        assert (second.returncode, second.stdout) == (1, "")
        assert (
            second.stderr
            == f"heliograph: {smsc.log} is being written by another process. Name another file with"
            " --log.\n"
        )
        assert smsc.log.read_bytes() == before
        with running(tmp_path, log="other.jsonl"), running(tmp_path, log=""):
            smsc.process.kill()
            smsc.process.wait(WITHIN_S)
            # a killed one keeps nobody from going on with its log
            with running(tmp_path) as successor:
                assert len(successor.events("listening")) == 2


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (
            ("--chaos", "throttle=0.5", "--chaos", "drop=0.1,throttle=0.2"),
            2,
            "Invalid value for --chaos: 'throttle' is named twice",
        ),
        (
            ("--chaos", "throttle=2"),
            2,
            "Invalid value for --chaos: 'throttle=2' is not KIND=PROBABILITY",
        ),
        (
            ("--script", "{script}"),
            2,
            "Invalid value for --script: line 2: 'nonsense' is not 'after N submits",
        ),
        (
            ("--script", "missing"),
            2,
            "Invalid value for --script: missing cannot be read: No such file",
        ),
        (("--window", "0"), 2, "Invalid value for '--window'"),
        (("--port", "{port}"), 1, "heliograph: Cannot listen on 127.0.0.1 port {port}: "),
    ],
)
def test_what_it_cannot_do_it_says_at_once(
    options: tuple[str, ...], status: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "script").write_text("# one\nnonsense\n")
    with running(tmp_path, log="") as other:
        names = {"script": str(tmp_path / "script"), "port": str(other.port)}
        words = ["smsc", *(option.format(**names) for option in options)]
        done = warm.run(words, timeout=WITHIN_S, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "")
    assert said.format(**names) in done.stderr


def test_people_read_an_address_and_counts(tmp_path: Path) -> None:
    process = warm.start(
        ["smsc", "--port", "0", "--seed", "42", "--stats", "0.1"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    process.terminate()
    process.communicate(timeout=WITHIN_S)
    assert re.fullmatch(r"SMPP 3\.4 on 127\.0\.0\.1 port \d+, .*--seed 42.*\n", lines[0])
    assert lines[1:] == ["nothing came; sessions 0, receipts owed 0\n"] * 2
    assert not list(tmp_path.iterdir())  # no data directory


def test_it_takes_20_000_a_second_with_receipts_on_one_core(tmp_path: Path) -> None:
    """The processor time that it needs is what counts, on a machine that is as slow as this one is
    now.
    """
    slow_before = slowness()
    with running(tmp_path, log="") as smsc:
        process = psutil.Process(smsc.process.pid)
        before = sum(process.cpu_times()[:2])
        load = [
            sys.executable,
            "-m",
            "bench.smpp_load",
            "--port",
            str(smsc.port),
            "--window",
            "200",
            "--seconds",
            "2",
            "--receipts",
        ]
        subprocess.run(load, cwd=ROOT, check=True, capture_output=True, timeout=60)
        cpu_s = sum(process.cpu_times()[:2]) - before
        assert smsc.stop() == 0
        acknowledged = smsc.said[-1]["counts"]["acknowledged"]
        assert acknowledged > 1_000
        slow = (slow_before + slowness()) / 2
        assert 1e6 * cpu_s / acknowledged < CPU_US_OF_A_MESSAGE_MAX * slow
