"""GET and POST /connect/customers, GET /connect/customers/{id}, POST /connect/customers/{id}/credits, described."""

from typing import Final

from heliograph.accounts import NAME_MAX
from heliograph.accounts.tables import EMAIL_MAX, EXTERNAL_REF_MAX, LABEL_MAX
from heliograph.connect.request import REFERENCE_MAX
from heliograph.entry.openapi.parts import (
    CURSOR,
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    Json,
    Link,
    Operation,
    a_list,
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
    query,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.wallet import CREDITS_MAX

TAG: Final = "Connect"

_COUNTRY: Final = "^[A-Za-z]{2}$"

SCHEMAS: Final[dict[str, Json]] = {
    "Customer": record(
        "A customer of yours: a full account, with its own keys, wallet, sender IDs and messages.",
        id=identity("cus", "The customer's id; give it as `customer_id` to act for it."),
        external_ref=text("Your own key of it.", nullable=True),
        label=text("What you call it.", nullable=True),
        full_name=text("Its name."),
        phone=text("Its phone number, digits without plus.", pattern="^[0-9]{7,15}$"),
        country_code=text("Where it is, ISO 3166-1 alpha-2.", pattern="^[A-Z]{2}$"),
        email=text("Its email address.", nullable=True),
        wallet=record("Its money.", balance=money("What its wallet holds."), currency=text("Its currency, ISO 4217.", pattern="^[A-Z]{3}$")),
        sms_credits=integer("Its SMS credits.", minimum=0),
        status=one_of(("active", "suspended"), "A `suspended` one, or one whose partner is, can read and change nothing."),
        sandbox=flag("Whether it was provisioned with a sandbox key: then it lives in sandbox only, and its figures are no money."),
        created_at=moment("When it was provisioned."),
    ),
    "CustomerForm": form(
        "A customer to provision.", required=("full_name", "phone"),
        full_name=text("Its name, in one line. Must not begin with `acc_` or `cus_`.", minLength=1, maxLength=NAME_MAX),
        phone=text("Its phone number, in international digits or as it is dialled in its country.", minLength=1, maxLength=64),
        country_code=text("Where it is, ISO 3166-1 alpha-2, in any case. Required, unless `countryCode` is given.", pattern=_COUNTRY),
        countryCode=text("Another name of `country_code`.", pattern=_COUNTRY),
        email=text("Its email address.", nullable=True, format="email", maxLength=EMAIL_MAX),
        external_ref=text("Your own key of it, in one line: the same one never makes a second customer.", nullable=True, minLength=1,
                          maxLength=EXTERNAL_REF_MAX),
        label=text("What you call it, in one line.", nullable=True, minLength=1, maxLength=LABEL_MAX),
        initial_sms_credits=integer("Moves so many SMS credits from your wallet to it.", nullable=True, minimum=0, maximum=CREDITS_MAX),
        initial_wallet_balance={"type": ["number", "null"], "minimum": 0, "description": "Moves so much money from your wallet to it. At most the "
                                                                                        "currency's own decimals, and 15 digits."},
        currency=text("Of its wallet, ISO 4217, for good; yours if it is not given. Money to begin with takes yours.", nullable=True,
                      pattern="^[A-Za-z]{3}$")),
    "CreditsMoved": record(
        "A move of credits between you and a customer.",
        transaction_id=identity("txn", "The ledger's entry, which both of you see; null in sandbox.", nullable=True),
        customer_id=identity("cus", "The customer."),
        credits=integer("What it gained; below zero: what was taken back."),
        sms_credits=integer("What it has now.", minimum=0),
        credits_remaining=integer("What you have now.", minimum=0),
        reference=text("The reference that was given.", nullable=True),
        sandbox=flag("Whether it was in sandbox, where nobody pays."),
        created_at=moment("When it was moved."),
    ),
    "CreditsForm": form(
        "Credits to move.", required=("credits",),
        credits={"type": "integer", "minimum": -CREDITS_MAX, "maximum": CREDITS_MAX, "not": {"const": 0},
                 "description": "Moves so many SMS credits from your wallet to the customer's; below zero: back."},
        reference=text("Stands with the transaction, in one line.", nullable=True, minLength=1, maxLength=REFERENCE_MAX)),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("cus"), "external_ref": "shop-1042", "label": "Shops, Accra", "full_name": "Bilal Stores", "phone": EXAMPLE_PHONE,
    "country_code": "GH", "email": "hello@bilal.example", "wallet": {"balance": 0, "currency": "GHS"}, "sms_credits": 100, "status": "active",
    "sandbox": False, "created_at": EXAMPLE_AT}  # fmt: skip
_CREATED: Final = flag("False: this `external_ref` had made it before, and it is answered as it stands, unchanged.")
_ID: Final = path_id("The customer's id.", example_id("cus"))
_PROVISIONED: Final[Json] = {
    "type": "object", "required": ["data", "created"], "properties": {"data": ref("Customer"), "created": _CREATED}}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/connect/customers"): Operation(
        TAG, "List customers", "Your customers of this mode, newest first; with `external_ref` the one that has it.",
        a_list(ref("Customer")), {"data": [_EXAMPLE], "next_cursor": None}, parameters=(
            limit(), CURSOR,
            query("external_ref", "Only the customer with this key of yours.", {"type": "string", "maxLength": EXTERNAL_REF_MAX}))),
    ("POST", "/connect/customers"): Operation(
        TAG, "Provision a customer",
        "Makes a customer: a full account of its own. What it begins with moves from your wallet in the same transaction; when you hold less, "
        "nothing is made. The same `external_ref` is answered with the customer that it made first, unchanged, also when equal requests race. With a "
        "sandbox key the customer lives in sandbox only, and what it begins with costs you nothing.",
        with_warnings(_PROVISIONED), {"data": _EXAMPLE, "created": True}, body=ref("CustomerForm"),
        body_example={"full_name": "Bilal Stores", "phone": EXAMPLE_PHONE, "country_code": "GH", "email": "hello@bilal.example",
                      "external_ref": "shop-1042", "label": "Shops, Accra", "initial_sms_credits": 100},
        reasons=("nested_customer", "currency_mismatch", "insufficient_credits", "insufficient_balance", "daily_cap_reached"),
        links=(Link("customer", ("GET", "/connect/customers/{id}"), "id", "/data/id"),
               Link("moveCredits", ("POST", "/connect/customers/{id}/credits"), "id", "/data/id"),
               Link("itsBalance", ("GET", "/balance"), "customer_id", "/data/id"),
               Link("itsTransactions", ("GET", "/wallet/transactions"), "customer_id", "/data/id"),
               Link("itsSenderIds", ("GET", "/sender-ids"), "customer_id", "/data/id"))),
    ("GET", "/connect/customers/{id}"): Operation(
        TAG, "One customer",
        "A customer of yours with its figures of now. In place of its id its `external_ref` may stand, percent-encoded: a slash is `%2F`.",
        one_record(ref("Customer")), {"data": _EXAMPLE}, parameters=(_ID,)),
    ("POST", "/connect/customers/{id}/credits"): Operation(
        TAG, "Move credits",
        "Moves SMS credits from your wallet to a customer's, or back when `credits` is below zero; never does either fall below zero. Both see it as "
        "one transaction: `transfer_out` to the one is `transfer_in` to the other.",
        with_warnings(one_record(ref("CreditsMoved"))),
        {"data": {"transaction_id": example_id("txn"), "customer_id": example_id("cus"), "credits": 500, "sms_credits": 600, "credits_remaining": 400,
                  "reference": "invoice-17", "sandbox": False, "created_at": EXAMPLE_AT}},
        parameters=(_ID,), body=ref("CreditsForm"), body_example={"credits": 500, "reference": "invoice-17"},
        reasons=("insufficient_credits", "daily_cap_reached")),
}
