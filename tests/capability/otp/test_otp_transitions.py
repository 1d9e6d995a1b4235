"""The database changes the state of a one-time password as its table of transitions says, and
ignores whatever else it is told.
"""

from itertools import product

import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.otp.states import LOCKED, OTP, PENDING, VERIFIED
from heliograph.otp.tables import otps
from heliograph.otp.verify_sql import STORE, JudgedOtp
from tests.support.factories import awaited

BY, BY_ANOTHER = "1" * 32, "2" * 32
# of each state: failures, locked_until_ms, verified_at_ms, verified_by
STORED = {
    PENDING: (1, None, None, None),
    LOCKED: (5, 700, None, None),
    VERIFIED: (0, None, 700, BY),
}
WRITTEN = {
    PENDING: (2, None, None, None),
    LOCKED: (5, 800, None, None),
    VERIFIED: (0, None, 800, BY_ANOTHER),
}


@awaited
async def test_a_code_comes_to_the_states_that_its_table_allows_and_to_no_other(
    db: Database,
) -> None:
    pairs = list(product(OTP.states, OTP.states))
    first = ids.new_number()
    otp_ids = [ids.raw_of_number(first + place) for place in range(len(pairs))]
    columns = ("failures", "locked_until_ms", "verified_at_ms", "verified_by")
    with db.write() as tx:
        for otp_id, (was, _) in zip(otp_ids, pairs, strict=True):
            tx.execute(
                otps.insert().values(
                    id=otp_id,
                    account_id=BY,
                    sandbox=False,
                    phone=233201234567,
                    code_hmac=b"",
                    created_at_ms=clock.now_ms(),
                    **dict(zip(columns, STORED[was], strict=True)),
                )
            )
    async with db.hot() as hot:
        await STORE.rows(
            hot,
            [
                JudgedOtp(otp_id, *WRITTEN[to])
                for otp_id, (_, to) in zip(otp_ids, pairs, strict=True)
            ],
        )
    with db.read() as tx:
        query = sa.select(*[otps.c[name] for name in columns]).order_by(otps.c.id)
        stored = [tuple(row) for row in tx.execute(query)]
    await db.close_hot()
    assert stored == [WRITTEN[to] if OTP.allows(was, to) else STORED[was] for was, to in pairs]
