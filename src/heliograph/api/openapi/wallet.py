"""Describes GET /balance, /wallet/balance and /wallet/transactions."""

from typing import Final

from heliograph.api.openapi.parts import (
    CURSOR,
    CUSTOMER_ID,
    EXAMPLE_AT,
    SINCE,
    UNTIL,
    Json,
    Operation,
    a_list,
    example_id,
    flag,
    identity,
    integer,
    limit,
    moment,
    money,
    one_of,
    query,
    record,
    ref,
    text,
)
from heliograph.wallet import account_ledger
from heliograph.wallet.tables import ENTRY_TYPES

TAG: Final = "Wallet"

SCHEMAS: Final[dict[str, Json]] = {
    "Transaction": record(
        "One change of the wallet. A send is one entry, and so is one part of a campaign.",
        id=identity("txn", "The entry's id."),
        type=one_of(ENTRY_TYPES, "The kind of change."),
        amount=money("The change of the balance, signed."),
        currency=text("The wallet's currency, ISO 4217.", pattern="^[A-Z]{3}$"),
        credits=integer("The change of the SMS credits, signed."),
        balance_after=money("The balance after the change."),
        credits_after=integer("The SMS credits after the change.", minimum=0),
        description=text("A description for people."),
        reference=text(
            "The id of the send that was paid, or the reference that was given.", nullable=True
        ),
        created_at=moment("When the change was made."),
    ),
}

_BALANCE: Final[Json] = {
    "type": "object",
    "required": ["wallet", "sms_credits", "sandbox"],
    "properties": {
        "wallet": record(
            "The money in the wallet.",
            balance=money("The wallet's balance."),
            currency=text("The wallet's currency, ISO 4217.", pattern="^[A-Z]{3}$"),
        ),
        "sms_credits": integer("SMS credits left.", minimum=0),
        "sandbox": flag("True if a sandbox key asked. The figures are the real ones all the same."),
    },
}
_BALANCE_EXAMPLE: Final[Json] = {
    "wallet": {"balance": 50, "currency": "GHS"},
    "sms_credits": 998,
    "sandbox": False,
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/balance"): Operation(
        TAG,
        "Balance and credits",
        "Shows the wallet's balance and the SMS credits.",
        _BALANCE,
        _BALANCE_EXAMPLE,
        parameters=(CUSTOMER_ID,),
        reasons=("no_such_record",),
    ),
    ("GET", "/wallet/balance"): Operation(
        TAG,
        "Balance and credits, by another path",
        "The same as `GET /balance`.",
        _BALANCE,
        _BALANCE_EXAMPLE,
        parameters=(CUSTOMER_ID,),
        reasons=("no_such_record",),
    ),
    ("GET", "/wallet/transactions"): Operation(
        TAG,
        "Ledger",
        "Lists every change of the wallet with the figures after it, newest first. Entries are"
        " never changed: a correction is a new entry. With a sandbox key the list is empty, because"
        " sandbox charges nothing.",
        a_list(ref("Transaction")),
        {
            "data": [
                {
                    "id": example_id("txn"),
                    "type": "sms_charge",
                    "amount": 0,
                    "currency": "GHS",
                    "credits": -2,
                    "balance_after": 50,
                    "credits_after": 998,
                    "description": "SMS to 2 recipients",
                    "reference": example_id("snd"),
                    "created_at": EXAMPLE_AT,
                }
            ],
            "next_cursor": None,
        },
        parameters=(
            limit(account_ledger.TRANSACTIONS_LIMIT_MAX),
            CURSOR,
            SINCE,
            UNTIL,
            query(
                "type",
                "Only entries of this type.",
                {"type": "string", "enum": list(ENTRY_TYPES)},
                "sms_charge",
            ),
            CUSTOMER_ID,
        ),
        reasons=("no_such_record",),
    ),
}
