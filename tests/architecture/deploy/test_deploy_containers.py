"""deploy/Containerfile and deploy/compose.yaml speak only of what there is. They are looked at as
far as that can be done where no container engine runs.
"""

import json
import re
import shlex
from dataclasses import fields
from typing import Any

import pytest
import yaml

from heliograph.base import settings
from tests.support.deployed import DEPLOY, parses
from tests.support.sources import PROJECT, ROOT

CONTAINERFILE = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", "")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("heliograph:")]
OF_A_SERVICE = {
    "image",
    "build",
    "command",
    "environment",
    "volumes",
    "ports",
    "restart",
    "depends_on",
    "healthcheck",
    "read_only",
    "tmpfs",
    "cap_drop",
    "security_opt",
    "stop_grace_period",
    "ulimits",
    "shm_size",
}


def _instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.+)$", CONTAINERFILE, re.MULTILINE)


def test_the_image_is_made_of_files_that_there_are_and_of_locked_ones_only() -> None:
    copied = [
        word
        for line in _instructions("COPY")
        if "--from" not in line
        for word in shlex.split(line)[:-1]
    ]
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    assert set(copied) == set(sent)
    assert all((ROOT / path).exists() for path in copied)
    installs = re.findall(r"pip (?:install|wheel) [^&\n]*", "\n".join(_instructions("RUN")))
    assert len(installs) == 4
    assert all(
        "--require-hashes" in line or "--no-index" in line or "--no-build-isolation" in line
        for line in installs
    )
    assert all(re.search(r":\S*\w", image) for image in _instructions("FROM"))


def test_the_image_runs_the_service_as_a_user_of_its_own() -> None:
    (user,), (entry,), (command,) = (
        _instructions("USER"),
        _instructions("ENTRYPOINT"),
        _instructions("CMD"),
    )
    assert f"useradd --system --uid 10001 --gid {user} " in CONTAINERFILE
    assert CONTAINERFILE.rindex("USER ") > CONTAINERFILE.rindex("RUN ")
    assert json.loads(entry) == ["heliograph"]
    parses(json.loads(command))


def test_the_compose_file_names_what_there_is() -> None:
    assert set(COMPOSE) - {"x-heliograph"} == {"name", "services", "volumes"}
    assert list(SERVICES) == ["postgres", "redis", "migrate", "api", "worker"]
    assert OURS == ["migrate", "api", "worker"]
    for name, service in SERVICES.items():
        assert set(service) <= OF_A_SERVICE, name
        for other, condition in service.get("depends_on", {}).items():
            waits_for = condition["condition"]
            assert (
                waits_for == "service_completed_successfully" or "healthcheck" in SERVICES[other]
            ), f"{name} waits for {other}"
        assert {volume.split(":")[0] for volume in service.get("volumes", [])} <= set(
            COMPOSE["volumes"]
        ), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


@pytest.mark.parametrize("name", OURS)
def test_a_service_starts_a_command_that_there_is_with_settings_that_there_are(name: str) -> None:
    service = SERVICES[name]
    parses(service["command"])
    known = {settings._variable(field.name) for field in fields(settings.Settings)}
    assert set(service["environment"]) <= known
    assert service["image"] == f"heliograph:{PROJECT['version']}"
    build = service["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]


def test_the_handbook_makes_every_secret_that_the_compose_file_asks_for() -> None:
    asked = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text("utf-8")))
    made = set(
        re.findall(
            r"^echo \"(\w+)=", (ROOT / "docs" / "operations.md").read_text("utf-8"), re.MULTILINE
        )
    )
    assert (
        asked == made == {"POSTGRES_PASSWORD", "HELIOGRAPH_SECRET_KEY", "HELIOGRAPH_METRICS_TOKEN"}
    )
