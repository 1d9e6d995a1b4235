"""Others install the package as these tests do: a wheel and an sdist are built once, and the wheel
is installed into an environment of its own, without the network.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.services import ServiceMissing
from tests.support.sources import PACKAGE, PROJECT, ROOT

PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)( ;)?", re.MULTILINE)

# what pages load, files embed, and others wrote, which a build gets by assets/package-lock.json
BUILT = {
    f"heliograph/portal/static/built/{name}"
    for name in ("htmx.js", "htmx-license.txt", "icons.svg", "icons-license.txt")
} | {
    f"heliograph/wallet/fonts/{name}"
    for name in ("DejaVuSansCondensed.ttf", "DejaVuSansCondensed-Bold.ttf", "license.txt")
}


class Built(NamedTuple):
    wheel: Path
    sdist: Path


def _uv() -> Path:
    """Returns the uv of this checkout, or of the one whose environment the tests run in."""
    found = next(
        (
            uv
            for checkout in (ROOT, Path(sys.prefix).parent)
            if (uv := checkout / ".tools" / "bin" / "uv").is_file()
        ),
        None,
    )
    if found is None:
        raise ServiceMissing("uv is needed, to build the package: make install")
    return found


def _run(*command: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    directory = tmp_path_factory.mktemp("dist")
    _run(
        ROOT / "tools" / "install.sh",
        "build",
        directory,
        cwd=ROOT,
        **(os.environ | {"UV": str(_uv())}),
    )
    (wheel,), (sdist,) = directory.glob("*.whl"), directory.glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a fresh environment with the wheel and, linked from the one that the tests run in,
    exactly the distributions of requirements.lock.
    """
    venv = tmp_path_factory.mktemp("fresh") / "venv"
    _run(
        _uv(),
        "venv",
        "--quiet",
        "--offline",
        "--python",
        sys.executable,
        venv,
        cwd=ROOT,
        **os.environ,
    )
    (site,) = venv.glob("lib/python*/site-packages")
    for name, version, conditional in PINNED.findall(
        (ROOT / "requirements.lock").read_text("utf-8")
    ):
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            # for another Python or platform
            assert conditional, f"{name} is not installed: make install"
            continue
        assert found.version == version, name
        for top in {
            file.parts[0]
            for file in found.files or []
            if file.parts[0] not in ("..", "__pycache__")
        }:
            link = site / top
            if not link.exists():  # namespaces are shared
                link.symlink_to(Path(str(found.locate_file(top))))
    _run(
        _uv(),
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--python",
        venv / "bin" / "python",
        built.wheel,
        cwd=ROOT,
        **os.environ,
    )
    return venv


def test_the_wheel_holds_every_file_of_the_package_and_no_other(built: Built) -> None:
    there = {
        f"heliograph/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    with zipfile.ZipFile(built.wheel) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == there
    assert {"heliograph/api/docs/page.html", "heliograph/migrations/env.py"} < packed
    assert packed > BUILT


def test_the_files_of_others_are_in_the_sdist_and_in_no_commit(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        packed = {name.partition("/src/")[2] for name in sdist.getnames()}
    assert packed > BUILT
    committed = _run("git", "ls-files", "src", cwd=ROOT, **os.environ)
    assert not any(name in committed for name in BUILT)


def test_the_sdist_holds_what_an_installation_needs(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        packed = {name.partition("/")[2] for name in sdist.getnames()}
    deployed = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "deploy").rglob("*") if path.is_file()
    }
    assert {
        *deployed,
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "requirements.lock",
        "docs/operations.md",
        "tools/install.sh",
    } <= packed


def test_what_the_wheel_says_of_itself(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        said = wheel.read(name).decode()
    assert f"\nVersion: {PROJECT['version']}\n" in said
    assert re.findall(r"^Project-URL: (\w+), ", said, re.MULTILINE) == list(PROJECT["urls"])
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["version"]


def test_the_installed_wheel_says_its_version_and_delivers_a_text(
    installed: Path, tmp_path: Path
) -> None:
    program = installed / "bin" / "heliograph"
    assert (
        _run(program, "--version", cwd=tmp_path, PATH=os.defpath)
        == f"heliograph {PROJECT['version']}\n"
    )
    said = _run(
        program, "demo", "--once", "--port", "0", cwd=tmp_path, PATH=os.defpath, LANG="C.UTF-8"
    )
    assert re.search(r"^ +delivered +\d", said, re.MULTILINE), said
