"""Takes the pictures of the documents again, from the browser tests: `python -m tools.pictures`.

The tests take a picture of each page (tests/support/portal/browsing.py) into build/portal, when
HELIOGRAPH_TEST_PICTURES=1. Those below go to docs/pictures, in the light theme and 1,440 pixels
wide.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from PIL import Image

ROOT: Final = Path(__file__).parents[1]
TAKEN: Final = ROOT / "build" / "portal"
KEPT: Final = ROOT / "docs" / "pictures"
COLOURS: Final = 256  # of a palette: pages have few
# the picture of a document, and the picture of a journey that it is
PICTURES: Final = {
    "overview": "overview",
    "sign-in": "signed-out",
    "messages": "messages",
    "members": "members",
    "send": "send",
    "handset": "handset",
    "campaign": "campaigns-completed",
    "contacts": "contacts",
    "senders": "senders",
    "money": "money",
    "keys": "keys",
    "webhook": "webhook",
}


def main() -> int:
    tests = [sys.executable, "-m", "pytest", "tests/browser", "-k", "test_portal and 1440"]
    wanted = {**os.environ, "HELIOGRAPH_TEST_PICTURES": "1"}
    status = subprocess.run(tests, cwd=ROOT, env=wanted, check=False).returncode
    if status:
        return status
    KEPT.mkdir(exist_ok=True)
    for name, journey in PICTURES.items():
        keep(TAKEN / f"{journey}-1440-light.png", KEPT / f"{name}.png")
    return 0


def keep(taken: Path, kept: Path) -> None:
    """Stores a picture in as few octets as it looks the same in."""
    with Image.open(taken) as picture:
        picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
            kept, optimize=True
        )


if __name__ == "__main__":
    sys.exit(main())
