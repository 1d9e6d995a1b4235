"""Describes GET and POST /connect/customers, GET /connect/customers/{id}, and POST
/connect/customers/{id}/credits.
"""

from typing import Final

from heliograph.accounts import account_fields
from heliograph.accounts.tables import EXTERNAL_REF_MAX, LABEL_MAX
from heliograph.api.openapi.parts import (
    COUNTRY_PATTERN,
    CURSOR,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    Json,
    Operation,
    ResponseLink,
    a_list,
    also,
    example_id,
    flag,
    form,
    identity,
    integer,
    limit,
    moment,
    money,
    one_of,
    one_record,
    path_id,
    query_text,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.base.short_texts import EMAIL_MAX
from heliograph.wallet import CREDITS_MAX, ledger

TAG: Final = "Connect"


SCHEMAS: Final[dict[str, Json]] = {
    "Customer": record(
        "A customer of yours. It is a full account with its own keys, wallet, sender IDs and"
        " messages.",
        id=identity("cus", "The customer's id. Give it as `customer_id` to act for the customer."),
        external_ref=text("Your own key for the customer.", nullable=True),
        label=text("Your label for the customer.", nullable=True),
        full_name=text("The customer's name."),
        phone=text("The customer's phone number, digits without plus.", pattern="^[0-9]{7,15}$"),
        country_code=text("The customer's country, ISO 3166-1 alpha-2.", pattern="^[A-Z]{2}$"),
        email=text("The customer's email address.", nullable=True),
        wallet=record(
            "The customer's money.",
            balance=money("The wallet's balance."),
            currency=text("Its currency, ISO 4217.", pattern="^[A-Z]{3}$"),
        ),
        sms_credits=integer("Its SMS credits.", minimum=0),
        status=one_of(
            ("active", "suspended"),
            "A `suspended` customer can read, but change nothing. The same holds for a customer"
            " whose partner is suspended.",
        ),
        sandbox=flag(
            "True for a customer that was provisioned with a sandbox key. It exists in sandbox"
            " only, and its figures are not real money."
        ),
        created_at=moment("When the customer was provisioned."),
    ),
    "CustomerForm": form(
        "A customer to provision.",
        required=("full_name", "phone", "country_code"),
        full_name=text(
            "The customer's name, in one line. It must not begin with `acc_` or `cus_`.",
            minLength=1,
            maxLength=account_fields.NAME_MAX,
        ),
        phone=text(
            "The customer's phone number, in international digits or as dialled in its country.",
            minLength=1,
            maxLength=64,
        ),
        country_code=also(
            text(
                "The customer's country, ISO 3166-1 alpha-2, in any case.", pattern=COUNTRY_PATTERN
            ),
            "countryCode",
        ),
        email=text(
            "The customer's email address.", nullable=True, format="email", maxLength=EMAIL_MAX
        ),
        external_ref=text(
            "Your own key for the customer, in one line. The same key never makes a second"
            " customer.",
            nullable=True,
            minLength=1,
            maxLength=EXTERNAL_REF_MAX,
        ),
        label=text(
            "Your label for the customer, in one line.",
            nullable=True,
            minLength=1,
            maxLength=LABEL_MAX,
        ),
        initial_sms_credits=integer(
            "How many SMS credits to move from your wallet to the customer's.",
            nullable=True,
            minimum=0,
            maximum=CREDITS_MAX,
        ),
        initial_wallet_balance={
            "type": ["number", "null"],
            "minimum": 0,
            "description": (
                "How much money to move from your wallet to the "
                "customer's. At most the "
                "currency's own decimals, and 15 digits."
            ),
        },
        currency=text(
            "The wallet's currency, ISO 4217. It can never be changed. The default is your own,"
            " which `initial_wallet_balance` requires.",
            nullable=True,
            pattern="^[A-Za-z]{3}$",
        ),
    ),
    "CreditsMoved": record(
        "A move of credits between you and a customer.",
        transaction_id=identity(
            "txn", "The ledger entry, which both of you see. Null in sandbox.", nullable=True
        ),
        customer_id=identity("cus", "The customer."),
        credits=integer(
            "How many credits the customer gained. Negative if credits were taken back."
        ),
        sms_credits=integer("How many credits the customer has now.", minimum=0),
        credits_remaining=integer("How many credits you have now.", minimum=0),
        reference=text("The reference that was given.", nullable=True),
        sandbox=flag("True in sandbox, where nobody pays."),
        created_at=moment("When the credits were moved."),
    ),
    "CreditsForm": form(
        "Credits to move.",
        required=("credits",),
        credits={
            "type": "integer",
            "minimum": -CREDITS_MAX,
            "maximum": CREDITS_MAX,
            "not": {"type": "integer", "const": 0},
            "description": (
                "How many SMS credits to move from your wallet to the customer's. A negative number"
                " takes credits back."
            ),
        },
        reference=text(
            "Your reference, in one line. The transaction shows it.",
            nullable=True,
            minLength=1,
            maxLength=ledger.REFERENCE_MAX,
        ),
    ),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("cus"),
    "external_ref": "shop-1042",
    "label": "Shops, Accra",
    "full_name": "Bilal Stores",
    "phone": EXAMPLE_PHONE,
    "country_code": "GH",
    "email": "hello@bilal.example",
    "wallet": {"balance": 0, "currency": "GHS"},
    "sms_credits": 100,
    "status": "active",
    "sandbox": False,
    "created_at": EXAMPLE_AT,
}
_CREATED: Final = flag(
    "False if this `external_ref` had made the customer before. The answer then shows that"
    " customer, unchanged."
)
_ID: Final = path_id(
    "The customer's id, or its `external_ref` (percent-encoded).", example_id("cus")
)
_PROVISIONED: Final[Json] = {
    "type": "object",
    "required": ["data", "created"],
    "properties": {"data": ref("Customer"), "created": _CREATED},
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/connect/customers"): Operation(
        TAG,
        "List customers",
        "Lists your customers of this mode, newest first. With `external_ref` it lists the one that"
        " has that key.",
        a_list(ref("Customer")),
        {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(
            limit(),
            CURSOR,
            query_text("external_ref", "Only the customer with this key.", EXTERNAL_REF_MAX),
        ),
    ),
    ("POST", "/connect/customers"): Operation(
        TAG,
        "Provision a customer",
        "Makes a customer, which is a full account of its own. Its first credits and money move"
        " from your wallet in the same transaction. If your wallet holds too little, nothing is"
        " made. The same `external_ref` always leads to the same customer, even if you send several"
        " such requests at once. With a sandbox key the customer exists in sandbox only, and costs"
        " you nothing.",
        with_warnings(_PROVISIONED),
        {"data": _EXAMPLE, "created": True},
        body=ref("CustomerForm"),
        body_example={
            "full_name": "Bilal Stores",
            "phone": EXAMPLE_PHONE,
            "country_code": "GH",
            "email": "hello@bilal.example",
            "external_ref": "shop-1042",
            "label": "Shops, Accra",
            "initial_sms_credits": 100,
        },
        reasons=(
            "nested_customer",
            "currency_mismatch",
            "insufficient_credits",
            "insufficient_balance",
            "daily_cap_reached",
        ),
        links=(
            ResponseLink("customer", ("GET", "/connect/customers/{id}"), "id", "/data/id"),
            ResponseLink(
                "moveCredits", ("POST", "/connect/customers/{id}/credits"), "id", "/data/id"
            ),
            ResponseLink("itsBalance", ("GET", "/balance"), "customer_id", "/data/id"),
            ResponseLink(
                "itsTransactions", ("GET", "/wallet/transactions"), "customer_id", "/data/id"
            ),
            ResponseLink("itsSenderIds", ("GET", "/sender-ids"), "customer_id", "/data/id"),
        ),
    ),
    ("GET", "/connect/customers/{id}"): Operation(
        TAG,
        "One customer",
        "Shows one customer with its present balance and credits. Its `external_ref` can stand in"
        " place of its id, percent-encoded: a slash is `%2F`.",
        one_record(ref("Customer")),
        {"data": _EXAMPLE},
        parameters=(_ID,),
    ),
    ("POST", "/connect/customers/{id}/credits"): Operation(
        TAG,
        "Move credits",
        "Moves SMS credits from your wallet to a customer's, or back if `credits` is negative."
        " Neither wallet can fall below zero. Both accounts see one transaction: `transfer_out` on"
        " one side, `transfer_in` on the other.",
        with_warnings(one_record(ref("CreditsMoved"))),
        {
            "data": {
                "transaction_id": example_id("txn"),
                "customer_id": example_id("cus"),
                "credits": 500,
                "sms_credits": 600,
                "credits_remaining": 400,
                "reference": "invoice-17",
                "sandbox": False,
                "created_at": EXAMPLE_AT,
            }
        },
        parameters=(_ID,),
        body=ref("CreditsForm"),
        body_example={"credits": 500, "reference": "invoice-17"},
        reasons=("insufficient_credits", "daily_cap_reached"),
    ),
}
