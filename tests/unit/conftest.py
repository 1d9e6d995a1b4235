"""Settings are read from `data_dir`."""

from pathlib import Path

import pytest


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a data directory that is yet to be made. The working directory is empty."""
    working = tmp_path / "working"
    working.mkdir()
    monkeypatch.chdir(working)
    return tmp_path / "data"
