"""`amina_foods` is an account that commands made. `beside` does what a server does beside the
commands. `doubtful` holds messages in doubt.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.capability.commands import Run, typed
from tests.support.capability.doubtful import Beside, doubtful_messages
from tests.support.capability.every_command import Shell, shell_in
from tests.support.capability.sending import House


@pytest.fixture
def amina_foods(run: Run) -> str:
    """Returns the id of an account with 1,000 credits and 50 GHS, as commands take it."""
    made = run(
        *typed(
            "account create 'Amina Foods' --country gh --currency ghs --credits 1000 "
            "--balance 50 --json"
        )
    )
    return str(made.json["id"])


@pytest.fixture
def beside(house: House) -> Iterator[Beside]:
    yield Beside(house)
    house.assert_sound()
    house.db.close()


@pytest.fixture
def doubtful(beside: Beside) -> list[str]:
    """Returns the ids of three messages in doubt (bulk, of three segments, OTP) and one that is
    sent, in the order of acceptance.
    """
    return beside.do(doubtful_messages)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_in(tmp_path, monkeypatch)
