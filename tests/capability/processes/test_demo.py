"""`heliograph demo` keeps to itself, whatever the environment says: its account and its route never
get into a real installation.
"""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import plain_http, warm

ROOT = Path(__file__).parents[3]


def _demo(directory: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    words = ["demo", "--once", "--port", "0", *options]
    return warm.run(words, timeout=60, cwd=directory, env={**os.environ, **environment})


def test_the_demo_stays_out_of_the_data_directory_of_the_environment(tmp_path: Path) -> None:
    done = _demo(tmp_path, HELIOGRAPH_DATA_DIR=str(tmp_path / "real"))
    assert done.returncode == 0, done.stderr
    assert "\n  delivered " in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["heliograph-demo"]


def test_an_address_of_ipv6_stands_in_brackets(tmp_path: Path) -> None:
    done = _demo(tmp_path, "--host", "::1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"\n  API +http://\[::1\]:\d+/api/v1 ", done.stdout)


def test_a_demo_that_ends_says_how_to_run_one_that_stays_instead_of_what_to_send(
    tmp_path: Path,
) -> None:
    done = _demo(tmp_path)
    assert (
        "run it so that it stays: make demo without ONCE=1, or heliograph demo without --once.\n"
        in done.stdout
    )
    assert "curl" not in done.stdout


def test_a_demo_whose_phone_has_opted_out_says_so(tmp_path: Path) -> None:
    assert _demo(tmp_path).returncode == 0
    place = ("--data-dir", str(tmp_path / "heliograph-demo"))
    out = ["opt-out", "add", "233201234567", "--account", "Demo Shop", *place]
    assert warm.run(out, timeout=60, cwd=tmp_path, env=dict(os.environ)).returncode == 0
    done = _demo(tmp_path)
    assert done.returncode == 1
    assert "The demo's own request was refused: None of the recipients" in done.stderr
    assert "'233201234567', has opted out of these texts." in done.stderr


@pytest.mark.parametrize(("once", "ends"), [("", False), ("0", False), ("1", True), ("yes", True)])
def test_make_demo_ends_when_it_is_told_once(once: str, ends: bool) -> None:
    told = subprocess.run(
        ["make", "-n", "demo", f"ONCE={once}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ("heliograph demo --once" in told.stdout) == ends


def test_a_second_demo_beside_the_first_is_refused_and_leaves_its_keys_alone_and_one_after_it_works(
    tmp_path: Path,
) -> None:
    with warm.start(
        ["demo", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        try:
            shown = "".join(
                itertools.takewhile(lambda line: line != "Ctrl-C stops the demo.\n", first.stdout)
            )
            found = re.search(r"API +(\S+).*live key +(\S+)", shown, re.DOTALL)
            assert found is not None, shown
            assert f"\n  curl {found[1]}/sms/send " in shown
            campaign = re.search(
                r"campaign +(cmp_\w+), 'Demo offers': sending, to 57 contacts, one a second", shown
            )
            assert campaign is not None, shown
            record = plain_http.get(
                f"{found[1]}/campaigns/{campaign[1]}",
                headers={"Authorization": f"Bearer {found[2]}"},
            ).json()["data"]
            assert (record["status"], record["recipients_total"]) == ("sending", 57)
            second = _demo(tmp_path)
            assert (second.returncode, second.stdout) == (1, "")
            assert second.stderr.startswith(
                f"heliograph: Another server (process {first.pid}) uses the data directory "
            )
            assert (
                plain_http.get(
                    f"{found[1]}/balance", headers={"Authorization": f"Bearer {found[2]}"}
                ).status_code
                == 200
            )
        finally:
            first.terminate()
        assert first.wait(30) == 0
    again = _demo(tmp_path)
    assert again.returncode == 0, again.stderr
    assert "\n  delivered " in again.stdout
    customers = [
        re.search(r"customer +(cus_\w+), Demo Corner", said) for said in (shown, again.stdout)
    ]
    assert None not in customers
    assert len({found[1] for found in customers if found is not None}) == 1, "it is made once"
    assert "site         https://demo-shop.example, linked" in again.stdout
    assert "\n  contacts     60, 3 of them opted out\n" in again.stdout
    assert (
        f"\n  campaign     {campaign[1]}, 'Demo offers': sending, to 57 contacts, one a second\n"
        in again.stdout
    ), "it goes on"


def test_the_demo_refuses_another_database(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path / 'real.db'}", "postgresql://heliograph@127.0.0.1:1/real"):
        done = _demo(tmp_path, DATABASE_URL=url, HELIOGRAPH_SECRET_KEY="k" * 40)
        assert (done.returncode, done.stderr) == (
            1,
            "heliograph: The demo uses its own database: unset DATABASE_URL.\n",
        )
    assert not (tmp_path / "real.db").exists()
