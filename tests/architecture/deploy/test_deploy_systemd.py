"""systemd's own programs find the units of deploy/systemd right and closed, and the units start
commands that there are.
"""

import os
import re
import shlex
import stat
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from heliograph.base import settings
from heliograph.cli import COMMANDS
from tests.support.deployed import DEPLOY, parses
from tests.support.services import ServiceMissing, systemd
from tests.support.sources import ROOT

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
EXPOSURE_MAX = 3.0
# after the @
ONE_OF = {
    "heliograph-api@.service": "8081",
    "heliograph-carrier@.service": "gh-main",
    "heliograph-worker@.service": "9111",
}
NAMES = [unit.name for unit in UNITS]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the root of a machine that the files were copied to as docs/operations.md says, with
    a program where the service's is.
    """
    if systemd.find_programs() is None:
        raise ServiceMissing(systemd.ADVICE)
    root = tmp_path_factory.mktemp("machine")
    for place in (
        "etc/systemd/system",
        "etc/sysusers.d",
        "etc/tmpfiles.d",
        "usr/lib/systemd/system",
        "opt/heliograph/bin",
        "var/lib",
    ):
        (root / place).mkdir(parents=True)
    # of those that every machine has
    for target in ("sysinit", "basic", "multi-user", "shutdown", "network-online", "time-sync"):
        (root / f"usr/lib/systemd/system/{target}.target").write_text(
            f"[Unit]\nDescription={target}\n"
        )
    for file in DEPLOY.glob("*/heliograph*"):
        folder = {
            "systemd": "etc/systemd/system",
            "sysusers.d": "etc/sysusers.d",
            "tmpfiles.d": "etc/tmpfiles.d",
        }.get(file.parent.name)
        if folder:
            (root / folder / file.name).write_bytes(file.read_bytes())
    program = root / "opt/heliograph/bin/heliograph"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return root


def _run(*command: object) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _lines(unit: Path) -> list[str]:
    return [
        line for line in unit.read_text("utf-8").splitlines() if line and not line.startswith("#")
    ]


def test_each_unit_exposes_less_than_three_of_ten(machine: Path) -> None:
    assert NAMES == [
        "heliograph-api@.service",
        "heliograph-carrier@.service",
        "heliograph-console.service",
        "heliograph-scheduler.service",
        "heliograph-worker@.service",
        "heliograph.service",
    ]
    _run(
        "systemd-analyze",
        "security",
        "--no-pager",
        "--offline=true",
        f"--threshold={int(EXPOSURE_MAX * 10)}",
        *UNITS,
    )


def test_systemd_finds_nothing_wrong_with_them(machine: Path) -> None:
    said = _run(
        "systemd-analyze",
        "verify",
        "--man=no",
        f"--root={machine}",
        *(name.replace("@", f"@{ONE_OF.get(name)}") for name in NAMES),
    )
    ours = [line for line in said.splitlines() if "heliograph" in line]
    assert not ours, ours


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_a_unit_starts_a_command_that_there_is(unit: Path) -> None:
    (started,) = (line.partition("=")[2] for line in _lines(unit) if line.startswith("ExecStart="))
    program, *words = shlex.split(started.replace("%i", ONE_OF.get(unit.name, "")))
    assert program == "/opt/heliograph/bin/heliograph"
    assert words[0] in COMMANDS
    parses(words)


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_all_units_are_closed_in_the_same_way_and_read_the_same_settings(unit: Path) -> None:
    different = ("Description=", "ExecStart=", "Environment=HELIOGRAPH_METRICS_ADDRESS=")
    assert [line for line in _lines(unit) if not line.startswith(different)] == [
        line for line in _lines(UNITS[-1]) if not line.startswith(different)
    ]
    assert "EnvironmentFile=-/etc/heliograph.env" in _lines(unit)


def test_the_handbook_tells_of_every_unit_and_the_settings_that_there_are() -> None:
    handbook = (ROOT / "docs" / "operations.md").read_text("utf-8")
    told = re.findall(r"^\| `(heliograph\S*\.service)` \|", handbook, re.MULTILINE)
    assert {re.sub("@[A-Z]+", "@", name) for name in told} == set(NAMES)
    install = (ROOT / "docs" / "install.md").read_text("utf-8")
    (written,) = re.findall(
        r"^cat > /etc/heliograph.env <<END\n(.*?)^END$", install, re.MULTILINE | re.DOTALL
    )
    known = {settings._variable(field.name) for field in fields(settings.Settings)}
    assert {line.partition("=")[0] for line in written.splitlines()} <= known
    (ours,) = {
        line
        for unit in UNITS
        for line in _lines(unit)
        if line.startswith("Environment=HELIOGRAPH_DATA_DIR=")
    }
    assert f"\n{ours.removeprefix('Environment=')}\n" in f"\n{written}"


def test_no_two_units_of_the_page_answer_at_one_address_and_prometheus_reads_them_all() -> None:
    """An address in the common settings would be that of every API process, for it goes
    before what a unit says.
    """
    install, handbook = (
        (ROOT / "docs" / page).read_text("utf-8") for page in ("install.md", "operations.md")
    )
    assert "HELIOGRAPH_METRICS_ADDRESS=" not in install
    (started,) = re.findall(r"^systemctl enable --now (heliograph-api@.*)$", install, re.MULTILINE)
    metrics = []
    for name, _, port in (unit.partition("@") for unit in started.split()):
        text = "\n".join(
            _lines(DEPLOY / "systemd" / f"{name}{'@' if port else ''}.service")
        ).replace("%i", port)
        metrics += re.findall(r"(?:METRICS_ADDRESS=127\.0\.0\.1:|--metrics-port )(\d+)", text)
    assert len(set(metrics)) == len(started.split())
    (targets,) = re.findall(r"- targets: \[(.*?)\]", handbook)
    assert re.findall(r":(\d+)", targets) == metrics


def test_the_user_and_its_files_are_closed_to_others(machine: Path) -> None:
    if os.geteuid() != 0:
        raise ServiceMissing("Only root can give files to the user that sysusers.d makes.")
    _run("systemd-sysusers", f"--root={machine}")
    _run("systemd-tmpfiles", "--create", f"--root={machine}")
    users = {
        line.split(":")[0]: line.split(":")
        for line in (machine / "etc/passwd").read_text().splitlines()
    }
    _, _, uid, gid, _, home, shell = users["heliograph"]
    assert (home, shell) == ("/var/lib/heliograph", "/usr/sbin/nologin")
    data, settings = (
        (machine / "var/lib/heliograph").stat(),
        (machine / "etc/heliograph.env").stat(),
    )
    assert (stat.S_IMODE(data.st_mode), data.st_uid, data.st_gid) == (0o700, int(uid), int(gid))
    assert (stat.S_IMODE(settings.st_mode), settings.st_uid, settings.st_gid) == (
        0o640,
        0,
        int(gid),
    )
