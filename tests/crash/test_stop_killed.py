"""`kill -9` hits a server while handsets send STOP: each STOP that the carrier was told of holds,
is confirmed once, and is paid for once.
"""

import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph import wallet
from heliograph.audit.charges import verify_charges
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.inbound import add_number
from heliograph.messages.tables import messages, sends
from heliograph.opt_outs.tables import suppressions
from tests.support.crash.handsets import PAUSE_S, SHORT_CODE, deliver_sm, kill_while_writing
from tests.support.crash.remembering_smsc import RememberingSmsc, remembering_smsc
from tests.support.factories import open_account, open_carrier

CREDITS = 1_000_000
WORDS = ("STOP", "stop.", "Unsubscribe", "PARAR")


class Stopping:
    """Writes STOP from one phone after the other, until it is told to end."""

    def __init__(self, smsc: RememberingSmsc) -> None:
        self._smsc = smsc
        self._end = threading.Event()
        self.phones: list[int] = []

    def write(self) -> None:
        for number in count():
            if self._end.wait(PAUSE_S):
                return
            phone = 233_200_000_000 + number
            self.phones.append(phone)
            self._smsc.bring(deliver_sm(str(phone), WORDS[number % len(WORDS)].encode()))

    def end(self) -> None:
        self._end.set()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_killed_while_it_heeds_stop_heeds_and_confirms_each_once(
    kind: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database(kind)
    db = Database(url)
    with remembering_smsc() as smsc:
        amina_id = open_account(db, credits=CREDITS)
        open_carrier(db, port=smsc.port)
        with db.write() as tx:
            add_number(tx, SHORT_CODE.decode(), "carrier", amina_id, now_ms=clock.now_ms())
        stopping = Stopping(smsc)
        kill_while_writing(
            url,
            tmp_path,
            smsc,
            write=stopping.write,
            end=stopping.end,
            stored=lambda: len(_suppressed(db)),
        )
    replied = sa.select(messages.c.recipient).select_from(
        messages.join(sends, sends.c.id == messages.c.send_id)
    )
    with db.read() as tx:
        answered = Counter(tx.execute(replied).scalars())
        assert not [*wallet.verify(tx), *verify_charges(tx)]
    assert _suppressed(db) == set(stopping.phones)
    assert answered == Counter(stopping.phones)
    db.close()


def _suppressed(db: Database) -> set[int]:
    with db.read() as tx:
        return set(tx.execute(sa.select(suppressions.c.phone)).scalars())
