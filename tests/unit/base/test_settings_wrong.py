"""A wrong setting stops the start with its name, what was found and what is allowed."""

from pathlib import Path

import pytest

from heliograph.base.settings import load
from tests.support.settings import refusal, write_config

pytestmark = pytest.mark.usefixtures("data_dir")


@pytest.mark.parametrize(
    ("name", "value", "found", "allowed"),
    [
        *(
            (
                "HELIOGRAPH_METRICS_ADDRESS",
                wrong,
                repr(wrong),
                "HOST:PORT, such as 127.0.0.1:9100 or [::1]:9100",
            )
            for wrong in (
                "9100",
                "127.0.0.1",
                "::1:9100",
                "127.0.0.1:0",
                "127.0.0.1:65536",
                "127.0.0.1:-1",
                "[::1]",
                "http://127.0.0.1:9100",
            )
        ),
        (
            "DATABASE_URL",
            "mysql://amina:opensesame@db/x",
            "'mysql://…'",
            "postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:////ABSOLUTE/PATH",
        ),
        (
            "DATABASE_URL",
            "host=db password=opensesame",
            "a value that is not a URL",
            "postgresql://USER:PASSWORD@HOST:PORT/NAME",
        ),
        ("DATABASE_URL", "sqlite:///relative.db", "'sqlite://…'", "sqlite:////ABSOLUTE/PATH"),
        (
            "DATABASE_URL",
            "postgresql://",
            "no database name",
            "postgresql://USER:PASSWORD@HOST:PORT/NAME",
        ),
        (
            "DATABASE_URL",
            "postgresql://amina:opensesame@db:abc/x",
            "a value that is not a PostgreSQL URL",
            "postgresql://USER:PASSWORD@HOST:PORT/NAME",
        ),
        (
            "DATABASE_URL",
            "postgresql://amina:opensesame@[::1/x",
            "a value that is not a PostgreSQL URL",
            "postgresql://USER:PASSWORD@HOST:PORT/NAME",
        ),
        (
            "DATABASE_URL",
            "postgresql://amina:opensesame@db/x?foo=bar",
            "the option foo",
            "the options host, password, port, sslcert",
        ),
        (
            "REDIS_URL",
            "redis://:opensesame@cache:abc",
            "a value that is not a Redis URL",
            "redis://USER:PASSWORD@HOST:PORT/NUMBER",
        ),
        (
            "REDIS_URL",
            "redis://[::1",
            "a value that is not a Redis URL",
            "redis://USER:PASSWORD@HOST:PORT/NUMBER",
        ),
        (
            "REDIS_URL",
            "redis://cache?foo=bar",
            "a value that is not a Redis URL",
            "redis://USER:PASSWORD@HOST:PORT/NUMBER",
        ),
        (
            "REDIS_URL",
            "redis://cache:99999",
            "a value that is not a Redis URL",
            "redis://USER:PASSWORD@HOST:PORT/NUMBER",
        ),
        (
            "REDIS_URL",
            "http://:opensesame@cache:6379",
            "'cache:6379'",
            "redis://… or rediss://… or unix://…",
        ),
        ("HELIOGRAPH_SECRET_KEY", "opensesame", "10 characters", "at least 32"),
        ("HELIOGRAPH_BASE_URL", "sms.example.org", "'sms.example.org'", "http://… or https://…"),
        (
            "HELIOGRAPH_TRUSTED_PROXIES",
            "10.0.0.0/8,proxy",
            "'proxy'",
            "addresses or networks such as 10.0.0.0/8",
        ),
        (
            "HELIOGRAPH_TRUSTED_PROXIES",
            "10.0.0.1/8",
            "'10.0.0.1/8'",
            "addresses or networks such as 10.0.0.0/8",
        ),
        *(
            (
                "HELIOGRAPH_CORS_ORIGINS",
                f"https://app.example.org,{wrong}",
                repr(wrong),
                "origins as browsers send them, such as https://app.example.org",
            )
            for wrong in (
                "*",
                "null",
                "",
                "app.example.org",
                "https://App.example.org",
                "https://app.example.org/",
                "https://app.example.org:443",
                "http://app.example.org:80",
                "https://app.example.org:65536",
                "https://*.example.org",
                "https://amina:x@app.example.org",
                "ftp://app.example.org",
                "https://app.example.org/shop",
                "https://[::1",
                "https://[1:2]",
                "https://-.org",
                "https://a..org",
                "https://б.org",
                "https://a.org https://b.org",
                "https://a.org\r\nX: y",
                "https://a.org?x",
                "https://",
            )
        ),
        ("HELIOGRAPH_LOG_FORMAT", "xml", "'xml'", "auto, text, json"),
        ("HELIOGRAPH_LOG_LEVEL", "INFO", "'INFO'", "debug, info, warning, error"),
        ("HELIOGRAPH_DRAIN_S", "5s", "'5s'", "0 to 15 seconds"),
        ("HELIOGRAPH_DRAIN_S", "16", "'16'", "0 to 15 seconds"),
        ("HELIOGRAPH_DRAIN_S", "-1", "'-1'", "0 to 15 seconds"),
        ("HELIOGRAPH_DRAIN_S", "nan", "'nan'", "0 to 15 seconds"),
        (
            "HELIOGRAPH_WEBHOOKS_ALLOW_NETWORKS",
            "10.20.0.0/16,all",
            "'all'",
            "addresses or networks such as 10.0.0.0/8",
        ),
        ("HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK", "yes", "'yes'", "1 or 0"),
        ("HELIOGRAPH_ERASE_AFTER_DAYS", "6", "'6'", "7 to 3650 days, or never"),
        ("HELIOGRAPH_ERASE_AFTER_DAYS", "90d", "'90d'", "7 to 3650 days, or never"),
        ("HELIOGRAPH_DELETE_AFTER_DAYS", "3651", "'3651'", "40 to 3650 days, or never"),
        (
            "HELIOGRAPH_WEBHOOKS_CA_FILE",
            "/missing.pem",
            "'/missing.pem' (No such file or directory)",
            "a readable file with certificates in PEM",
        ),
        (
            "HELIOGRAPH_WEBHOOKS_CA_FILE",
            "/dev/null",
            "'/dev/null' (it holds no certificates)",
            "a readable file with certificates in PEM",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_found_and_what_is_allowed(
    data_dir: Path, name: str, value: str, found: str, allowed: str
) -> None:
    message = refusal(data_dir, **{name: value})
    assert message.startswith(f"{name}: found {found}; allowed: ")
    assert allowed in message
    assert "opensesame" not in message


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("log_level = 3", "HELIOGRAPH_LOG_LEVEL"),
        ("drain_s = true", "HELIOGRAPH_DRAIN_S"),
        ('log_format = ["json"]', "HELIOGRAPH_LOG_FORMAT"),
        ("trusted_proxies = 5", "HELIOGRAPH_TRUSTED_PROXIES"),
        ("trusted_proxies = [5]", "HELIOGRAPH_TRUSTED_PROXIES"),
        ("cors_origins = true", "HELIOGRAPH_CORS_ORIGINS"),
        ("base_url = true", "HELIOGRAPH_BASE_URL"),
        ("redis_url = {}", "REDIS_URL"),
        ("database_url = 5", "DATABASE_URL"),
        ("secret_key = 5", "HELIOGRAPH_SECRET_KEY"),
        ("webhooks_allow_loopback = 2", "HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK"),
        ("webhooks_ca_file = true", "HELIOGRAPH_WEBHOOKS_CA_FILE"),
        ("erase_after_days = true", "HELIOGRAPH_ERASE_AFTER_DAYS"),
        ("delete_after_days = 41.5", "HELIOGRAPH_DELETE_AFTER_DAYS"),
    ],
)
def test_a_value_of_the_wrong_kind_in_the_file_is_named_too(
    data_dir: Path, line: str, name: str
) -> None:
    write_config(data_dir, line)
    assert refusal(data_dir).startswith(f"{name}: found ")


@pytest.mark.parametrize(
    "text",
    [
        "log_level",
        'log_level = "info',
        "[log]\nlevel = 1",
        'loglevel = "info"',
        'data_dir = "/elsewhere"',
    ],
)
def test_a_file_that_cannot_be_read_or_sets_what_there_is_not_is_named_with_its_path(
    data_dir: Path, text: str
) -> None:
    path = write_config(data_dir, text)
    assert refusal(data_dir).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("HELIOGRAPH_METRIC_TOKEN", "HELIOGRAPH_METRICS_TOKEN"),
        ("HELIOGRAPH_LOGLEVEL", "HELIOGRAPH_LOG_LEVEL"),
        ("HELIOGRAPH_TRUSTED_PROXY", "HELIOGRAPH_TRUSTED_PROXIES"),
        ("HELIOGRAPH_DATABASE_URL", "DATABASE_URL"),
    ],
)
def test_a_variable_that_is_no_setting_is_named_with_the_nearest_that_is(
    data_dir: Path, name: str, nearest: str
) -> None:
    message = refusal(data_dir, **{name: "opensesame"})
    assert message.startswith(f"{name}: found no such setting; allowed: {nearest} (the nearest), ")
    assert "opensesame" not in message
    assert "\n" not in message


def test_a_key_of_the_file_that_is_no_setting_is_named_with_the_nearest_that_is(
    data_dir: Path,
) -> None:
    path = write_config(data_dir, 'metric_token = "opensesame"')
    assert refusal(data_dir).startswith(
        f"{path}: metric_token: found no such setting; allowed: metrics_token (the nearest),"
        " base_url, "
    )


def test_what_kubernetes_sets_beside_a_service_of_our_name_is_passed_over(data_dir: Path) -> None:
    load(
        data_dir,
        {
            "HELIOGRAPH_SERVICE_HOST": "10.0.0.1",
            "HELIOGRAPH_SERVICE_PORT_HTTP": "8080",
            "HELIOGRAPH_PORT": "tcp://10.0.0.1:8080",
            "HELIOGRAPH_PORT_8080_TCP_ADDR": "10.0.0.1",
            "OTHER_METRIC_TOKEN": "x",
        },
    )


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file" / "data").startswith(
        f"HELIOGRAPH_DATA_DIR: found {tmp_path}/file/data (Not a directory)"
    )


def test_a_data_directory_that_cannot_be_written_is_named() -> None:
    assert refusal(Path("/proc")).startswith("HELIOGRAPH_DATA_DIR: found /proc (")
