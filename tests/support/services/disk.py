"""Makes a small disk of the test's own, to fill: a file system in memory, which root may mount."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.services import ServiceMissing

ADVICE = (
    "a disk to fill is needed, for faults of disks: run the tests as root, where file systems may"
    " be mounted"
)
_AT_ONCE_OCTETS = 65_536


class SmallDisk:
    """Stands for a small disk; anybody may write at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Fills the disk: not one octet more can be written, until `make_room`."""
        with self._filler.open("ab", buffering=0) as file:
            size = _AT_ONCE_OCTETS
            while size:
                try:
                    if file.write(bytes(size)) < size:
                        size //= 2
                except OSError:
                    size //= 2

    def make_room(self) -> None:
        self._filler.unlink()


@contextmanager
def small_disk(octets: int) -> Iterator[SmallDisk]:
    """Raises ServiceMissing where none can be mounted."""
    path = Path(tempfile.mkdtemp(prefix="heliograph-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={octets},mode=1777", "tmpfs", path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    if mounted.returncode:
        path.rmdir()
        raise ServiceMissing(f"{ADVICE} ({mounted.stderr.strip()})")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)
        path.rmdir()
