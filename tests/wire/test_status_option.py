"""What the operator says of a command_status by `carrier set --status` holds for that carrier's
next answers, over the wire.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from heliograph import carriers
from heliograph.carriers import SubmitOutcome
from heliograph.cli import main
from heliograph.database.database import Database
from tests.support.factories import SECRET_KEY, open_carrier
from tests.support.wire.recorder import bound, prepared, submit_all
from tests.support.wire.smsc_peer import Smsc

PHONE = "233200000009"


class Operator:
    """An operator has a database with one carrier, and types commands on it."""

    def __init__(self, url: str, data_dir: Path, smsc: Smsc) -> None:
        self.db = Database(url)
        self._env = {
            "DATABASE_URL": url,
            "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
            "HELIOGRAPH_DATA_DIR": str(data_dir),
        }
        settings = smsc.settings()
        open_carrier(self.db, "mtn", port=settings.port, system_id=settings.system_id)

    def types(self, *arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["carrier", "set", "mtn", *arguments], env=self._env)
        return done.exit_code, done.stderr

    async def outcome(self, smsc: Smsc, status: int) -> SubmitOutcome:
        """Returns the outcome of one submission that the carrier answers with this status."""
        with self.db.read() as tx:
            settings = carriers.connection_settings(
                tx, carriers.carrier_named(tx, "mtn"), SECRET_KEY
            )
        await smsc.behave(statuses={PHONE: status})
        async with bound(settings) as (link, inbox):
            await submit_all(link, inbox, prepared(link, 1, recipient=PHONE))
        return inbox.outcomes()[0]


@pytest.fixture
def operator(sqlite_url: str, tmp_path: Path, smsc: Smsc) -> Operator:
    return Operator(sqlite_url, tmp_path, smsc)


async def test_a_status_means_what_the_operator_says_until_it_is_the_default_again(
    smsc: Smsc, operator: Operator
) -> None:
    assert await operator.outcome(smsc, 0x0B) is SubmitOutcome.REFUSED
    assert operator.types("--status", "0x0b=retry", "--status", "0x400=throttled") == (0, "")
    assert operator.types("--status", "0x45=refused") == (0, "")  # the others stay as they were set
    assert [await operator.outcome(smsc, status) for status in (0x0B, 0x400, 0x45)] == [
        SubmitOutcome.RETRY,
        SubmitOutcome.THROTTLED,
        SubmitOutcome.REFUSED,
    ]
    assert operator.types("--status", "0x0B=default") == (0, "")
    assert [await operator.outcome(smsc, status) for status in (0x0B, 0x400)] == [
        SubmitOutcome.REFUSED,
        SubmitOutcome.THROTTLED,
    ]
    operator.db.close()


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        ("0x45", 2, "is not a command_status and its meaning, such as 0x45=retry"),
        ("69=retry", 2, "is not a command_status and its meaning"),
        ("0x45=accepted", 2, "the meanings are throttled, retry, refused, and default"),
        ("0x123456789=retry", 2, "is not a command_status"),
        (
            "0x0=retry",
            2,
            (
                "--status cannot be 0x00 (allowed: 0x01..0xFFFFFFFF, but for what ends a session:"
                " 0x04, 0x05, 0x0D, 0x0E, 0x0F)"
            ),
        ),
        (
            "0x0E=refused",
            2,
            "--status cannot be 0x0E (allowed: 0x01..0xFFFFFFFF, but for what ends a session",
        ),
    ],
)
def test_what_cannot_be_said_of_a_status_is_refused(
    operator: Operator, said: str, status: int, told: str
) -> None:
    exit_code, error = operator.types("--status", said)
    assert exit_code == status
    assert told in error
    operator.db.close()
