"""What is installed is what was locked: every dependency is pinned, each file is known by its hash,
and no index host is named.
"""

import re
import tomllib

import pytest

from tests.support.sources import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock", "tools/uv.lock", "tools/build.lock")
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def _pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / lock).read_text("utf-8")))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_everything_with_hashes_and_names_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    for requirement in re.split(r"\n(?=\S)", text.rstrip()):
        assert PIN.match(requirement), requirement
        assert "--hash=sha256:" in requirement, requirement
    assert "://" not in text


def test_the_locks_hold_every_dependency_that_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    declared = {
        "requirements.lock": project["project"]["dependencies"],
        "requirements-dev.lock": project["project"]["dependencies"]
        + project["dependency-groups"]["dev"],
        "tools/uv.lock": project["dependency-groups"]["uv"],
        "tools/build.lock": project["dependency-groups"]["build"],
    }
    for lock, requirements in declared.items():
        names = {
            re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")
            for requirement in requirements
        }
        assert names - set(_pins(lock)) == set(), f"{lock} is behind pyproject.toml: make lock"


def test_the_tests_run_on_the_versions_that_the_service_runs_on() -> None:
    assert _pins("requirements.lock").items() <= _pins("requirements-dev.lock").items()
