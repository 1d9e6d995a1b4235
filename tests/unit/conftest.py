"""`data_dir`: where settings are read from."""

from pathlib import Path

import pytest


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory that is yet to be made; the working directory is empty."""
    working = tmp_path / "working"
    working.mkdir()
    monkeypatch.chdir(working)
    return tmp_path / "data"
