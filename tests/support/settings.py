"""Makes settings as tests give them, and says how they are refused."""

from pathlib import Path

import pytest

from heliograph.base.data_dir import CONFIG_FILE
from heliograph.base.settings import SettingError, load

SECRET = "s" * 32
POSTGRESQL = "postgresql://amina:opensesame@127.0.0.1:5432/heliograph"


def refusal(data_dir: Path, **environment: str) -> str:
    """Returns why these settings are refused."""
    with pytest.raises(SettingError) as refused:
        load(data_dir, environment)
    return str(refused.value)


def write_config(directory: Path, text: str) -> Path:
    """Writes the file of settings in a directory."""
    directory.mkdir(exist_ok=True)
    path = directory / CONFIG_FILE
    path.write_text(text, "utf-8")
    return path
