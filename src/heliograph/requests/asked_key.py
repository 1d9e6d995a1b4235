"""An Idempotency-Key that a request brings, as the statements of the hot paths ask for it."""

from heliograph.database.statements import BigInt, Bool, Id, Row, Text


class AskedKey(Row, frozen=True):
    """A use of the key before `since_ms` does not count any more."""

    account_id: Id
    sandbox: Bool
    path: Text
    key: Text
    since_ms: BigInt
