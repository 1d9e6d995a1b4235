"""The programs in examples/ run, against a real server, and can be run again."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.api.server import Server, serving

EXAMPLES = Path(__file__).parents[3] / "examples"
WITHIN_S = 60


@pytest.fixture(scope="module")
def server(
    new_database: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Serves on SQLite, because an example is a client, which cannot tell what stores its
    messages.
    """
    with serving(new_database("sqlite"), tmp_path_factory.mktemp("serve")) as server:
        yield server


PHONE = "233201234567"
ASKED_FOR = re.compile(r"environ\W+(?:get\W+)?([A-Z_]+)")
# Variables of all examples: who tries one after the other has them in the shell that commands run
# in too.
EXPORTED = {
    name: "http://127.0.0.1:9"
    for path in EXAMPLES.iterdir()
    for name in ASKED_FOR.findall(path.read_text("utf-8"))
}


def ran(directory: Path, *command: str | Path, exits: int = 0, **env: str) -> list[str]:
    """Returns the lines that the command printed. Variables that other examples ask for are set
    too.
    """
    env = warm.on_path({**os.environ, **EXPORTED, **env})
    done = subprocess.run(
        command,
        cwd=directory,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == exits, done.stdout
    return done.stdout.splitlines()


def test_every_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == {
        "campaign.sh",
        "connect.py",
        "otp.py",
        "senders.sh",
        "shop.py",
        "wallet.sh",
    }


@pytest.mark.parametrize("mode", ["sandbox", "live"])
def test_a_partner_provisions_gives_and_acts(server: Server, tmp_path: Path, mode: str) -> None:
    key = server.cast.amina.key(sandbox=mode == "sandbox")
    first, again = (
        ran(tmp_path, sys.executable, EXAMPLES / "connect.py", API_URL=server.url, API_KEY=key)
        for _ in range(2)
    )
    assert (first[0].split()[0], again[0].split()[0], first[0].split()[1]) == (
        "made",
        "found",
        again[0].split()[1],
    )
    assert "its balance: {'balance': 0, 'currency': 'GHS'} and 130 credits" in first
    assert "its balance: {'balance': 0, 'currency': 'GHS'} and 130 credits" in again
    assert (
        "not taken back, insufficient_credits: The wallet holds 130 SMS credits; this takes"
        " 1000000." in again
    )
    assert sum("transfer_" in line for line in again) == (0 if mode == "sandbox" else 3)
    assert (
        again[-1].startswith("sent msg_")
        if mode == "sandbox"
        else again[-1] == "its sender ID BILAL is submitted"
    )


def test_an_operator_sells_credits(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        lines = ran(
            tmp_path,
            "sh",
            EXAMPLES / "wallet.sh",
            DATABASE_URL=server.cast.amina.db.url,
            HELIOGRAPH_SECRET_KEY="s" * 32,
        )
        assert "heliograph: The wallet holds 7.625 KWD; this takes 12.500 KWD." in lines


@pytest.mark.parametrize("mode", ["sandbox", "live"])
def test_a_shop_links_itself_notifies_and_syncs(server: Server, tmp_path: Path, mode: str) -> None:
    key = server.cast.amina.key(sandbox=mode == "sandbox")
    sender = "SANDBOX" if mode == "sandbox" else "AMINA"
    first, again = (
        ran(
            tmp_path,
            sys.executable,
            EXAMPLES / "shop.py",
            API_URL=server.url,
            API_KEY=key,
            SENDER=sender,
        )
        for _ in range(2)
    )
    assert (first[0], first[-1]) == ("connected https://shop.example", "delivered to 233201234567")
    assert first[2:] == again[2:], "the same message, the same entry of the log"
    other = ran(
        tmp_path,
        sys.executable,
        EXAMPLES / "shop.py",
        API_URL=server.url,
        API_KEY=key,
        SENDER="SHOP",
        exits=1,
    )
    assert other[2:] == ["/sms/send: This Idempotency-Key was used with another body."]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_operator_decides_on_senders_of_a_fresh_service(
    new_database: Callable[[str], str], tmp_path: Path, kind: str
) -> None:
    url = new_database(kind)
    ran(tmp_path, "heliograph", "migrate", DATABASE_URL=url, HELIOGRAPH_SECRET_KEY="s" * 32)
    for _ in range(2):
        lines = ran(
            tmp_path,
            "sh",
            EXAMPLES / "senders.sh",
            DATABASE_URL=url,
            HELIOGRAPH_SECRET_KEY="s" * 32,
        )
        assert any(line.startswith("looks like") and "PAYDAY of acc_" in line for line in lines)
        assert any(
            line.split()[:1] == ["rejected"] and line.endswith("It passes for another")
            for line in lines
        )


def test_an_operator_launches_a_campaign_to_a_list(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        lines = ran(
            tmp_path,
            "sh",
            EXAMPLES / "campaign.sh",
            DATABASE_URL=server.cast.amina.db.url,
            HELIOGRAPH_SECRET_KEY="s" * 32,
        )
        assert (
            "heliograph: line 5 is left out: it says '0244', which is not a valid number" in lines
        )
        figures = [re.split("  +", line)[-2:] for line in lines]
        assert ["recipients", "2"] in figures
        assert ["status", "sending"] in figures


def otp(server: Server, key: str, typed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / "otp.py", PHONE],
        input=typed,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
        env={**os.environ, "API_KEY": key, "API_URL": server.url, "NO_PROXY": "*"},
    )


def test_a_one_time_password_is_sent_and_verified(server: Server) -> None:
    done = otp(server, server.cast.amina.key(sandbox=True), "1\n654321\n123456\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"A code is on its way to {PHONE}" in done.stdout
    assert done.stdout.count("This is not the code that was sent last.") == 2
    assert "Verified at " in done.stdout
    live = server.cast.amina.key()
    assert otp(server, live, "1\n" * 5).returncode == 1
    again = otp(server, live, "")
    assert (again.returncode, again.stdout.startswith("No code was sent: ")) == (1, True)
