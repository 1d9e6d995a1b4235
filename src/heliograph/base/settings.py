"""Settings come from the environment, else from `heliograph.toml` in the data directory or the
working directory.

A wrong setting stops the start with its name, what was found and what is allowed.
"""

import ipaddress
import os
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from heliograph.base import data_dir as data_dirs
from heliograph.base.addresses import (
    MAIL_SERVERS,
    WEB_ORIGINS,
    ListenAddress,
    listen_address,
    mail_server,
    web_origin,
)
from heliograph.base.data_dir import CONFIG_FILE, Making
from heliograph.base.database_url import FORM, WrongUrl
from heliograph.base.database_url import parse as parse_database_url
from heliograph.base.secrets import Keys, SecretKeys
from heliograph.base.setting_error import SettingError as SettingError


@dataclass(frozen=True)
class Settings:
    """Holds the settings of a process. The environment variable of a field has the field's name in
    upper case, with `HELIOGRAPH_` before it unless it is one of the two below.
    """

    data_dir: Path
    database_url: str
    secret_key: str
    redis_url: str | None = None
    base_url: str | None = None  # the public address, for links that are shown
    console_url: str | None = None  # of the console, where it has an address of its own
    trusted_proxies: tuple[str, ...] = ()
    metrics_token: str | None = None
    log_format: str = "auto"  # auto, text or json
    log_level: str = "info"
    drain_s: float | None = None  # None: as the command thinks best
    # what one-time passwords come from without a default sender; senders/rules.py judges it
    otp_sender: str = "Heliograph"
    # what webhooks may reach beside the public internet; webhooks/http/address_guard.py judges them
    webhooks_allow_networks: tuple[str, ...] = ()
    webhooks_allow_loopback: bool = False
    webhooks_ca_file: str | None = None  # PEM
    # texts and numbers of messages, and what else tells of them; None: never
    erase_after_days: int | None = 90
    delete_after_days: int | None = None  # messages and sends
    # when PostgreSQL may say that a transaction is stored: on, remote_apply or local
    synchronous_commit: str = "on"
    metrics_address: ListenAddress | None = None  # None: /metrics is at the API's own
    cors_origins: tuple[str, ...] = ()  # of web pages whose scripts may call the API
    # known while the other replaces it; database/secret_key_canary.py says which is in use
    secret_key_old: str | None = None
    portal: bool = True  # whether the developer portal is served
    console: bool = True  # whether the operator's console is served
    portal_components: bool = False  # whether it shows what its pages are made of
    # base/addresses.py says what it may be; None: no mail is sent, and no page offers any
    smtp_url: str | None = None
    signup: bool = False  # whether strangers may make accounts, which are in sandbox only
    mail_from: str | None = None  # None: heliograph@ and the host of base_url

    @property
    def secret_keys(self) -> Keys:
        """Returns the keys that stored secrets may be under. The database says which of them is
        in use (database/secret_key_canary.py).
        """
        return (
            self.secret_key
            if self.secret_key_old is None
            else SecretKeys(self.secret_key, self.secret_key_old)
        )


DATABASE_URLS: Final = (
    f"{FORM} or sqlite:////ABSOLUTE/PATH; write several hosts with commas between them: "
    "HOST1:PORT1,HOST2:PORT2"
)
_UNPREFIXED: Final = {"database_url": "DATABASE_URL", "redis_url": "REDIS_URL"}
# What names the file of base/env_file.py; what the tests are told; and what Kubernetes and Docker
# set by themselves beside a service of the name heliograph.
_NOT_OURS: Final = re.compile(
    r"HELIOGRAPH_(ENV_FILE|TEST_.*|SERVICE_(HOST|PORT.*)|PORT(_[0-9]+_(TCP|UDP).*)?)"
)
DRAIN_S_MAX: Final = 15.0  # with the requests under way (8 s) a process is gone within 30 s
# `off` and `remote_write` may lose what was accepted
SYNCHRONOUS_COMMITS: Final = ("on", "remote_apply", "local")
LOG_FORMATS: Final = ("auto", "text", "json")
# a message is valid for two days at most, and its receipts have three more to come
ERASE_DAYS: Final = (7, 3_650)
# webhook events tell of messages for 30 days, from when they changed last
DELETE_DAYS: Final = (40, 3_650)
NETWORKS: Final = "addresses or networks such as 10.0.0.0/8"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def load(
    data_dir: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
    making: Making = "always",
) -> Settings:
    """Reads all settings. When it may make a database (`making`), it makes the data directory, and
    on SQLite the secret key, where they are missing. When it may not, and there is no database of
    SQLite, it raises NoDatabase.

    Raises SettingError for the first wrong one.
    """
    _refuse_unknown(environment)
    directory = Path(
        data_dir or environment.get("HELIOGRAPH_DATA_DIR") or "heliograph-data"
    ).absolute()
    if making == "always":
        data_dirs.make(directory)
    given = _from_file(directory) | _from_environment(environment)
    database_url = _database_url(given.pop("database_url", None), directory)
    make = data_dirs.may_make(making, database_url, directory)
    secret, old = data_dirs.secret_keys(
        given.pop("secret_key", None),
        given.pop("secret_key_old", None),
        directory,
        database_url,
        make=make,
    )
    given.pop("data_dir", None)
    checked = {
        name: _CHECKS[name](value) for name, value in given.items() if value not in (None, "")
    }
    return Settings(
        data_dir=directory,
        database_url=database_url,
        secret_key=secret,
        secret_key_old=old,
        **checked,
    )


def _variable(field: str) -> str:
    return _UNPREFIXED.get(field, f"HELIOGRAPH_{field.upper()}")


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    """Refuses unknown settings. A mistyped name would be a setting that is silently not in force,
    such as a token that guards nothing.
    """
    known = [_variable(f.name) for f in fields(Settings)]
    for name in sorted(environment):
        if name.startswith("HELIOGRAPH_") and name not in known and not _NOT_OURS.fullmatch(name):
            raise SettingError(name, "no such setting", _nearest_first(name, known))


def _nearest_first(name: str, known: list[str]) -> str:
    import difflib  # only for a failure

    # what all begin with makes nothing near
    bare = {each.removeprefix("HELIOGRAPH_"): each for each in known}
    nearest = [
        bare[match]
        for match in difflib.get_close_matches(name.removeprefix("HELIOGRAPH_"), bare, 1)
    ]
    return ", ".join(
        [*(f"{match} (the nearest)" for match in nearest), *sorted(set(known) - set(nearest))]
    )


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        f.name: environment[_variable(f.name)]
        for f in fields(Settings)
        if environment.get(_variable(f.name))
    }


def _from_file(directory: Path) -> dict[str, Any]:
    for path in (directory / CONFIG_FILE, Path(CONFIG_FILE)):
        try:
            text = path.read_text("utf-8")
            import tomllib  # only where there is such a file

            found = tomllib.loads(text)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (ValueError, OSError) as error:  # ValueError: it is no TOML, or no UTF-8
            raise SettingError(str(path), str(error), "a TOML file") from error
        known = {f.name for f in fields(Settings)} - {"data_dir"}
        if unknown := sorted(set(found) - known):
            raise SettingError(
                f"{path}: {unknown[0]}",
                "no such setting",
                _nearest_first(unknown[0], sorted(known)),
            )
        return found
    return {}


def _database_url(found: Any, directory: Path) -> str:
    if not found:
        return f"sqlite:///{directory / 'heliograph.db'}"
    url = str(found)
    if url.startswith(("postgresql://", "postgres://")):
        return _postgresql("postgresql://" + url.split("://", 1)[1])
    if url.startswith("sqlite:////"):
        return url
    # the rest may hold a password
    found = repr(url.split("://", 1)[0] + "://…") if "://" in url else "a value that is not a URL"
    raise SettingError("DATABASE_URL", found, DATABASE_URLS)


def _postgresql(url: str) -> str:
    try:
        parse_database_url(url)
    except WrongUrl as error:
        raise SettingError(
            "DATABASE_URL", error.found, DATABASE_URLS if error.allowed == FORM else error.allowed
        ) from error
    return url


def _one_of(name: str, allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            raise SettingError(_variable(name), repr(value), ", ".join(allowed))
        return str(value)

    return check


def _url(name: str, schemes: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not str(value).startswith(tuple(f"{scheme}://" for scheme in schemes)):
            raise SettingError(
                _variable(name),
                repr(str(value).split("@")[-1]),
                " or ".join(f"{scheme}://…" for scheme in schemes),
            )
        return str(value).rstrip("/")

    return check


def _redis_url(value: Any) -> str:
    from redis.connection import ConnectionPool  # not needed by most commands, and heavy

    url = _url("redis_url", ("redis", "rediss", "unix"))(value)
    try:
        # made, not connected: it looks at every part of the address
        ConnectionPool.from_url(url).make_connection()
    except (ValueError, TypeError) as error:  # its text may hold a password
        raise SettingError(
            "REDIS_URL",
            "a value that is not a Redis URL",
            "redis://USER:PASSWORD@HOST:PORT/NUMBER",
        ) from error
    return url


def _list_of(
    name: str, judge: Callable[[str], object], allowed: str
) -> Callable[[Any], tuple[str, ...]]:
    def check(value: Any) -> tuple[str, ...]:
        parts = value if isinstance(value, list) else str(value).split(",")
        for part in parts:
            try:
                judge(str(part).strip())
            except ValueError as error:
                raise SettingError(
                    _variable(name), repr(part), f"{allowed}, separated by commas"
                ) from error
        return tuple(str(part).strip() for part in parts)

    return check


def _listen_address(value: Any) -> ListenAddress:
    try:
        return listen_address(str(value))
    except ValueError as error:
        raise SettingError(
            "HELIOGRAPH_METRICS_ADDRESS",
            repr(value),
            "HOST:PORT, such as 127.0.0.1:9100 or [::1]:9100",
        ) from error


def _switch(name: str) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if str(value).lower() not in ("1", "true", "0", "false"):
            raise SettingError(_variable(name), repr(value), "1 or 0")
        return str(value).lower() in ("1", "true")

    return check


def _on_or_off(name: str) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if value not in ("on", "off"):
            raise SettingError(_variable(name), repr(value), "on or off")
        return bool(value == "on")

    return check


def _open_or_closed(value: Any) -> bool:
    if value not in ("open", "closed"):
        raise SettingError(_variable("signup"), repr(value), "open or closed")
    return bool(value == "open")


def _authorities(name: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        path = Path(str(value)).absolute()
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
        except (OSError, ValueError) as error:  # ValueError: a NUL in it
            why = (
                error.strerror
                if isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
                else "it holds no certificates"
            )
            raise SettingError(
                _variable(name),
                f"{str(value)!r} ({why})",
                "a readable file with certificates in PEM",
            ) from error
        return str(path)

    return check


def _drain_s(value: Any) -> float:
    try:
        seconds = float(str(value))  # true is no number
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= DRAIN_S_MAX:
        raise SettingError("HELIOGRAPH_DRAIN_S", repr(value), f"0 to {DRAIN_S_MAX:.0f} seconds")
    return seconds


def _days(name: str, least: int, most: int) -> Callable[[Any], int | None]:
    def check(value: Any) -> int | None:
        if value == "never":
            return None
        days = int(str(value)) if re.fullmatch("[0-9]{1,4}", str(value), re.ASCII) else 0
        if not least <= days <= most:
            raise SettingError(_variable(name), repr(value), f"{least} to {most} days, or never")
        return days

    return check


def _smtp_url(value: Any) -> str:
    try:
        mail_server(str(value))
    except ValueError as error:
        # without what may be a password
        found = repr(str(value).rpartition("@")[2])
        raise SettingError("HELIOGRAPH_SMTP_URL", found, MAIL_SERVERS) from error
    return str(value)


def _mail_from(value: Any) -> str:
    if re.fullmatch(r"[^@\s<>]{1,64}@[^@\s<>]{1,190}", str(value)) is None:
        raise SettingError("HELIOGRAPH_MAIL_FROM", repr(value), "an email address")
    return str(value)


_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "redis_url": _redis_url,
    "synchronous_commit": _one_of("synchronous_commit", SYNCHRONOUS_COMMITS),
    "base_url": _url("base_url", ("http", "https")),
    "console_url": _url("console_url", ("http", "https")),
    "trusted_proxies": _list_of("trusted_proxies", ipaddress.ip_network, NETWORKS),
    "cors_origins": _list_of("cors_origins", web_origin, WEB_ORIGINS),
    "metrics_token": str,
    "metrics_address": _listen_address,
    "log_format": _one_of("log_format", LOG_FORMATS),
    "log_level": _one_of("log_level", LOG_LEVELS),
    "drain_s": _drain_s,
    "otp_sender": str,
    "webhooks_allow_networks": _list_of("webhooks_allow_networks", ipaddress.ip_network, NETWORKS),
    "webhooks_allow_loopback": _switch("webhooks_allow_loopback"),
    "webhooks_ca_file": _authorities("webhooks_ca_file"),
    "erase_after_days": _days("erase_after_days", *ERASE_DAYS),
    "delete_after_days": _days("delete_after_days", *DELETE_DAYS),
    "portal": _on_or_off("portal"),
    "console": _on_or_off("console"),
    "signup": _open_or_closed,
    "portal_components": _switch("portal_components"),
    "smtp_url": _smtp_url,
    "mail_from": _mail_from,
}
