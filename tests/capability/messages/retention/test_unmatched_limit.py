"""A carrier keeps so many of the receipts that match nothing."""

from pathlib import Path

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.messages.retention import drop_too_many
from heliograph.messages.retention.unmatched_limit import AT_ONCE
from heliograph.messages.tables import carrier_refs, unmatched_receipts
from tests.support.capability.commands import Run, typed
from tests.support.capability.sending import House
from tests.support.factories import awaited


@awaited
async def test_of_receipts_that_match_nothing_a_carrier_keeps_the_newest_so_many(
    house: House,
) -> None:
    flood, kept = AT_ONCE + 700, 1_000
    began_ms = clock.now_ms()
    with house.db.write() as tx:
        tx.execute(
            carrier_refs.insert(),
            [
                {
                    "carrier_id": carrier,
                    "ref": f"{number:06x}",
                    "receipt_state": "DELIVRD",
                    "created_at_ms": began_ms + number,
                }
                for number in range(flood)
                for carrier in (house.carrier_id, house.carrier_id + 1)
            ],
        )
        tx.execute(
            unmatched_receipts.insert(),
            [
                {
                    "id": f"{number:032x}",
                    "carrier_id": house.carrier_id,
                    "raw": b"?",
                    "received_at_ms": began_ms + number,
                }
                for number in range(300)
            ],
        )
        tx.execute(
            carrier_refs.insert().values(
                carrier_id=house.carrier_id,
                ref="taken",
                message_id="a" * 32,
                parts=1,
                created_at_ms=began_ms - 1,
            )
        )
    assert await drop_too_many(house.db, house.carrier_id, flood + 300) == (0, flood + 300)
    assert await drop_too_many(house.db, house.carrier_id, kept) == (flood + 300 - kept, kept)
    assert await drop_too_many(house.db, house.carrier_id, kept) == (0, kept)
    here = carrier_refs.c.carrier_id == house.carrier_id
    unmatched = carrier_refs.c.message_id.is_(None)
    refs, rows = house.count(carrier_refs, here & unmatched), house.count(unmatched_receipts)
    assert (
        refs + rows,
        house.count(carrier_refs, here & ~unmatched),
        house.count(carrier_refs, ~here),
    ) == (kept, 1, flood)
    assert refs > 0 < rows, "of both kinds"
    with house.db.read() as tx:
        oldest = tx.execute(
            sa.select(sa.func.min(carrier_refs.c.created_at_ms)).where(here, unmatched)
        ).scalar_one()
    assert oldest == began_ms + flood - refs, "the oldest went"


def test_how_many_receipts_are_kept_is_a_carriers_setting(run: Run, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    added = run(
        *typed("carrier add gh --host 127.0.0.1 --port 9 --system-id s --json --password-file"),
        password,
    ).json
    assert added["unmatched_max"] == 200_000
    assert (
        run("carrier", "set", "gh", "--unmatched-max", "5000", "--json").json["unmatched_max"]
        == 5_000
    )
    refused = run("carrier", "set", "gh", "--unmatched-max", "10")
    assert (refused.status, "from 1000 to 100000000, not 10" in refused.err) == (2, True)
