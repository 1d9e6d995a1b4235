"""Settings come from the environment and from files, and a secret key is made on SQLite."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heliograph.base.addresses import ListenAddress
from heliograph.base.data_dir import SECRET_FILE
from heliograph.base.settings import Settings, load
from tests.support.certificates import Authority
from tests.support.settings import POSTGRESQL, SECRET, refusal, write_config

pytestmark = pytest.mark.usefixtures("data_dir")


def test_with_nothing_set_it_runs_on_sqlite_in_its_data_directory(data_dir: Path) -> None:
    settings = load(data_dir, {})
    assert settings == Settings(
        data_dir, f"sqlite:///{data_dir}/heliograph.db", settings.secret_key
    )
    assert data_dir.is_dir()


def test_the_data_directory_is_named_on_the_command_line_or_in_the_environment_or_is_beside(
    tmp_path: Path,
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    assert (
        load(tmp_path / "given", {"HELIOGRAPH_DATA_DIR": elsewhere}).data_dir == tmp_path / "given"
    )
    assert load(None, {"HELIOGRAPH_DATA_DIR": elsewhere}).data_dir == Path(elsewhere)
    assert load(None, {}).data_dir == Path.cwd() / "heliograph-data"


def test_every_setting_can_stand_in_the_environment(data_dir: Path, tmp_path: Path) -> None:
    authorities = str(Authority(tmp_path).file)
    assert load(
        data_dir,
        {
            "DATABASE_URL": POSTGRESQL,
            "REDIS_URL": "redis://127.0.0.1:6379/0",
            "HELIOGRAPH_SECRET_KEY": SECRET,
            "HELIOGRAPH_BASE_URL": "https://sms.example.org/",
            "HELIOGRAPH_TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1",
            "HELIOGRAPH_METRICS_TOKEN": "m",
            "HELIOGRAPH_LOG_FORMAT": "json",
            "HELIOGRAPH_LOG_LEVEL": "debug",
            "HELIOGRAPH_DRAIN_S": "7.5",
            "UNRELATED": "x",
            "HELIOGRAPH_OTP_SENDER": "CODES",
            "HELIOGRAPH_WEBHOOKS_ALLOW_NETWORKS": "10.20.0.0/16,fd00:1::/32",
            "HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK": "1",
            "HELIOGRAPH_WEBHOOKS_CA_FILE": authorities,
            "HELIOGRAPH_METRICS_ADDRESS": "[::1]:9100",
            "HELIOGRAPH_CORS_ORIGINS": (
                "https://app.example.org,"
                " http://localhost:5173,http://[::1]:8000,http://127.0.0.1,https://xn--e1afmkfd.example"
            ),
        },
    ) == Settings(
        data_dir=data_dir,
        database_url=POSTGRESQL,
        secret_key=SECRET,
        redis_url="redis://127.0.0.1:6379/0",
        base_url="https://sms.example.org",
        trusted_proxies=("10.0.0.0/8", "192.0.2.1"),
        metrics_token="m",
        log_format="json",
        log_level="debug",
        drain_s=7.5,
        otp_sender="CODES",
        webhooks_allow_networks=("10.20.0.0/16", "fd00:1::/32"),
        webhooks_allow_loopback=True,
        webhooks_ca_file=authorities,
        metrics_address=ListenAddress("::1", 9100),
        cors_origins=(
            "https://app.example.org",
            "http://localhost:5173",
            "http://[::1]:8000",
            "http://127.0.0.1",
            "https://xn--e1afmkfd.example",
        ),
    )


def test_a_file_is_read_and_the_environment_is_stronger(data_dir: Path) -> None:
    write_config(
        data_dir, 'log_level = "error"\nlog_format = "json"\ntrusted_proxies = ["10.0.0.0/8"]\n'
    )
    settings = load(data_dir, {"HELIOGRAPH_LOG_LEVEL": "debug", "HELIOGRAPH_LOG_FORMAT": ""})
    assert (settings.log_level, settings.log_format, settings.trusted_proxies) == (
        "debug",
        "json",
        ("10.0.0.0/8",),
    )


def test_the_file_of_the_data_directory_is_read_before_the_working_directorys(
    data_dir: Path,
) -> None:
    write_config(Path.cwd(), 'log_level = "error"')
    assert load(data_dir, {}).log_level == "error"
    write_config(data_dir, 'log_level = "warning"')
    assert load(data_dir, {}).log_level == "warning"


def test_on_sqlite_the_secret_key_is_made_once_and_is_nobody_elses_to_read(data_dir: Path) -> None:
    first = load(data_dir, {}).secret_key
    assert len(first) >= 40
    assert load(data_dir, {}).secret_key == first
    assert stat.S_IMODE((data_dir / SECRET_FILE).stat().st_mode) == 0o600
    assert os.listdir(data_dir) == [SECRET_FILE]
    assert load(data_dir, {"HELIOGRAPH_SECRET_KEY": SECRET}).secret_key == SECRET


def test_processes_that_start_at_once_share_one_secret_key(data_dir: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: load(data_dir, {}).secret_key, range(64)))
    assert len(keys) == 1
    assert os.listdir(data_dir) == [SECRET_FILE]


def test_on_postgresql_the_secret_key_is_required_and_none_is_made(data_dir: Path) -> None:
    message = refusal(data_dir, DATABASE_URL=POSTGRESQL)
    assert message.startswith(
        "HELIOGRAPH_SECRET_KEY: found nothing; allowed: at least 32 random characters, the same for"
        " every process"
    )
    assert "opensesame" not in message
    assert os.listdir(data_dir) == []


@pytest.mark.parametrize("octets", [b"", b"short\n", b"\xff" * 40])
def test_a_secret_key_file_that_was_damaged_is_not_taken_for_a_key(
    data_dir: Path, octets: bytes
) -> None:
    data_dir.mkdir()
    (data_dir / SECRET_FILE).write_bytes(octets)
    assert refusal(data_dir).startswith("HELIOGRAPH_SECRET_KEY: found ")


@pytest.mark.parametrize("url", ["postgres://amina@db/x", "postgresql://amina@db/x"])
def test_both_spellings_of_postgresql_mean_the_same(data_dir: Path, url: str) -> None:
    assert (
        load(data_dir, {"DATABASE_URL": url, "HELIOGRAPH_SECRET_KEY": SECRET}).database_url
        == "postgresql://amina@db/x"
    )


def test_days_are_counted_or_never(data_dir: Path) -> None:
    assert load(data_dir, {}).erase_after_days == 90
    told = load(
        data_dir, {"HELIOGRAPH_ERASE_AFTER_DAYS": "never", "HELIOGRAPH_DELETE_AFTER_DAYS": "40"}
    )
    assert (told.erase_after_days, told.delete_after_days) == (None, 40)
