"""The wire of a slow carrier has a fair order: who sends one message is next, whatever others have
waiting, also after the server was killed.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.database.database import Database
from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import RememberingSmsc, remembering_smsc
from tests.support.crash.sends import send
from tests.support.factories import issue_key, open_account, open_carrier, phones
from tests.support.polling import wait_until

PER_SECOND = 20
ON_THE_WIRE_WITHIN_S = 20.0
CHIDIS, AMINAS_OTHERS = 900_000, 500_000  # where their numbers begin


def place_of(smsc: RememberingSmsc, recipient: str) -> int:
    """Waits until the carrier has got a message to this recipient. Returns as which one it came."""

    def arrived() -> list[str]:
        return [submit.recipient for submit in list(smsc.submits)]

    wait_until(lambda: recipient in arrived(), f"{recipient} is on the wire", ON_THE_WIRE_WITHIN_S)
    return arrived().index(recipient)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_at_a_slow_carrier_one_message_does_not_wait_behind_a_million(
    kind: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database(kind)
    db = Database(url)
    with remembering_smsc() as smsc:
        open_carrier(db, port=smsc.port, tps=PER_SECOND)
        amina_key, chidi_key = (
            issue_key(db, open_account(db, name, credits=20_000)) for name in ("amina", "chidi")
        )
        server = ServerProcess(url, tmp_path)
        server.wait_until_ready()
        send(server, amina_key, phones(10_000))
        for k in range(2):
            place_of(smsc, phones(1, first=10 + 40 * k)[0])
            before = len(smsc.submits)
            send(server, chidi_key, phones(1, first=CHIDIS + k))
            assert place_of(smsc, phones(1, first=CHIDIS + k)[0]) - before <= PER_SECOND
        server.process.kill()
        server.process.wait()
        server = ServerProcess(url, tmp_path)
        try:
            server.wait_until_ready()
            send(server, amina_key, phones(100, first=AMINAS_OTHERS))  # behind what she has waiting
            before = len(smsc.submits)
            send(server, chidi_key, phones(1, first=CHIDIS + 9))
            assert place_of(smsc, phones(1, first=CHIDIS + 9)[0]) - before <= PER_SECOND
            place_of(smsc, phones(1, first=150)[0])
            assert phones(1, first=AMINAS_OTHERS)[0] not in {
                submit.recipient for submit in smsc.submits
            }
        finally:
            assert server.end() == 0
            db.close()
