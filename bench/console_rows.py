"""Says which rows `bench.console_filling` makes in each table, as expressions of SQL."""

from typing import Final

from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.carriers import GENERAL
from heliograph.wallet import ledger

CARRIERS: Final = 50
QUEUED: Final = 200_000
DAYS: Final = 30
OF_SEND: Final = 50  # messages
BUSY_SHARE: Final = 10  # one of so many sends is of the busiest account
RATES: Final = 5_000  # general ones
COSTS: Final = 5_000  # ten carriers charge for each of a tenth of the rates
SHEETS: Final = 200
SHEET_LINES: Final = 2_000
IN_DOUBT: Final = 10_000
UNMATCHED: Final = 100_000
REFS: Final = 1_000_000  # carriers' ids of the last three days
PLACES: Final = 5_000  # where one-time passwords are refused
ALERTS: Final = 20_000
DONE: Final = 200_000  # in the log of operators
PROOFS: Final = 500
HISTORY: Final = 10_000  # of the busiest account


# an id of this number, of this time (in ms) and with this place in it, as version 7 of RFC 9562 is
OF_ACCOUNT: Final = "('00000000-0000-7000-8000-' || lpad(to_hex({n}), 12, '0'))::uuid"
ID_AT: Final = (
    "(lpad(to_hex({ms}), 12, '0') || '7000' || '8' || lpad(to_hex({place}), 15, '0'))::uuid"
)
_SENT_MS: Final = "(:begun + n * :step)"
_NUMBER: Final = f"CASE WHEN n % {BUSY_SHARE} = 0 THEN 1 ELSE 1 + n % :accounts END"
SENDING_ACCOUNT: Final = OF_ACCOUNT.format(n=f"({_NUMBER})")
NEXT: Final = OF_ACCOUNT.format(n="(1 + n % :accounts)")
BUSY: Final = f"{0x7000_8000:020x}{1:012x}"  # the raw id of the busiest account

# `:carriers` are the ids of the carriers
CARRIER_ID: Final = f"(CAST(:carriers AS smallint[]))[1 + n % {CARRIERS}]"

MESSAGES: Final = f"""
    INSERT INTO messages (id, send_id, account_id, sandbox, recipient, country_code, carrier_id,
        status, segments, credits, error_code, sent_at_ms, delivered_at_ms, failed_at_ms)
    SELECT {ID_AT.format(ms=_SENT_MS, place="n * 100 + k")},
        {ID_AT.format(ms=_SENT_MS, place="n * 100")}, {SENDING_ACCOUNT}, false,
        233200000000 + (n * {OF_SEND} + k) % 9000000, (ARRAY['GH', 'NG', 'KE'])[1 + n % 3],
        {CARRIER_ID},
        CASE WHEN k % 25 = 0 THEN 'failed' WHEN k % 40 = 1 THEN 'sent' ELSE 'delivered' END,
        1, 1, CASE WHEN k % 25 = 0 THEN 'undeliverable' END, {_SENT_MS} + 1000,
        CASE WHEN k % 25 = 0 OR k % 40 = 1 THEN NULL ELSE {_SENT_MS} + 1000 + k * 100 END,
        CASE WHEN k % 25 = 0 THEN {_SENT_MS} + 5000 END
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n,
        generate_series(1, {OF_SEND}) AS k"""


def up_to(count: int | str, first: int = 0) -> str:
    """Returns the numbers from `first` up to, but not including, `count`, as the rows `n`."""
    return f"generate_series({first}::bigint, {count} - 1) AS n"


_FIGURES: Final = {
    "segments": str(OF_SEND),
    "credits": str(OF_SEND),
    "sent": "1",
    "delivered": str(OF_SEND - 3),
    "failed": "2",
    "undeliverable": "2",
    "within_5_s": str(OF_SEND - 3),
}
_ONE_SEND: Final = ID_AT.format(ms=_SENT_MS, place="n * 100")
# what messages leave behind: by table, the value of each column, and the rows these are made of
SENT: Final = {
    "sends": (
        {
            "id": _ONE_SEND,
            "account_id": SENDING_ACCOUNT,
            "sandbox": "false",
            "type": "CASE WHEN n % 10 = 0 THEN 'otp' ELSE 'sms' END",
            "sender": f"'SHOP' || ({_NUMBER})",
            "text": "'Your order is on its way'",
            "encoding": "'GSM-7'",
            "segments": "1",
            "message_count": str(OF_SEND),
            "expires_at_ms": f"{_SENT_MS} + {DAY_MS}",
            "credits_required": str(OF_SEND),
            "credits_used": str(OF_SEND),
            "credits_remaining": "1000000",
            "created_at_ms": _SENT_MS,
        },
        up_to(":sends"),
    ),
    "ledger_entries": (
        {
            "id": ID_AT.format(ms=_SENT_MS, place="n"),
            "account_id": SENDING_ACCOUNT,
            "counterpart_id": f"CAST('{ledger.SALES_ID}' AS uuid)",
            "type": "'sms_charge'",
            "currency": "'GHS'",
            "credits": f"-{OF_SEND}",
            "credits_after": "1000000",
            "description": f"'{OF_SEND} messages'",
            "reference": "'snd_' || n",
            "created_at_ms": _SENT_MS,
        },
        up_to(":sends"),
    ),
    "queue": (
        {
            "carrier_id": CARRIER_ID,
            "rank_us": "100000000000000 + n",
            "first_id": ID_AT.format(ms=":now", place="n"),
            "count": "1",
            "send_id": ID_AT.format(ms=":now", place="n"),
            "segments": "1",
            "prefix": "'233'",
            "attempt": "1",
            "expires_at_ms": f":now + {DAY_MS}",
        },
        up_to(QUEUED),
    ),
}
_LAST_SENDS: Final = "generate_series(:sends - {count}::bigint, :sends - 1) AS n"
# what waits for an operator, and what is abused
FOUND: Final = {
    "inflight": (
        {
            "message_id": ID_AT.format(ms=_SENT_MS, place="n * 100 + 2"),
            "part": "1",
            "parts": "1",
            "carrier_id": CARRIER_ID,
            "worker": "7",
            "attempt": "1",
            "state": "'in_doubt'",
            "prefix": "'233'",
            "expires_at_ms": f":now + {DAY_MS}",
            "since_ms": _SENT_MS,
        },
        f"(SELECT * FROM {_LAST_SENDS.format(count=IN_DOUBT)} WHERE n >= 0) AS sent",
    ),
    "unmatched_receipts": (
        {
            "id": ID_AT.format(ms=":now - n * 2500", place="n"),
            "carrier_id": CARRIER_ID,
            "ref": "'unknown-' || n",
            "receipt_state": "'DELIVRD'",
            "recipient": "233200000000 + n",
            "sender": "'SHOP'",
            "raw": "convert_to('id:' || n || ' stat:DELIVRD', 'UTF8')",
            "received_at_ms": ":now - n * 2500",
        },
        up_to(UNMATCHED),
    ),
    "carrier_refs": (
        {
            "carrier_id": CARRIER_ID,
            "ref": "'ref-' || n",
            "message_id": ID_AT.format(ms=_SENT_MS, place="n * 100 + 2"),
            "parts": "1",
            "recipient": "233200000000 + n",
            "receipt_state": "CASE WHEN n % 3 > 0 THEN 'DELIVRD' END",
            "created_at_ms": ":now - n * 250",
        },
        up_to(REFS),
    ),
    "otp_ranges": (
        {
            "account_id": NEXT,
            "digits": "(23320000 + n)::text",
            "sent_at_ms": "array_to_string(array_fill(:now - n, ARRAY[50]), ',')",
            "blocked_at_ms": ":now - n * 100",
            "changed_at_ms": ":now - n * 100",
        },
        up_to(PLACES),
    ),
    "otp_tallies": (
        {
            "account_id": NEXT,
            "country_code": "'GH'",
            "hour": f":now / {HOUR_MS}",
            "sent": "array_to_string(array_fill(9, ARRAY[24]), ',')",
            "verified": "array_to_string(array_fill(0, ARRAY[24]), ',')",
            "best": "array_to_string(array_fill(0, ARRAY[8]), ',')",
            "capped_at_ms": ":now - n * 100",
            "changed_at_ms": ":now - n * 100",
        },
        up_to(PLACES),
    ),
}
_QUARTER: Final = "(:now - :now % 900000 - CAST(q AS bigint) * 900000)"
# what jobs count
COUNTED: Final = {
    "rollups": (
        {
            **{name: f"sum({figure})" for name, figure in _FIGURES.items()},
            "account_id": "account_id",
            "sandbox": "false",
            "quarter_ms": "quarter_ms",
            "country_code": "country",
            "sender": "'SHOP'",
            "type": "'sms'",
        },
        f"(SELECT {SENDING_ACCOUNT} AS account_id, {_SENT_MS} - {_SENT_MS} % 900000 AS quarter_ms,"
        f" (ARRAY['GH', 'NG', 'KE'])[1 + n % 3] AS country FROM {up_to(':sends')}) AS sent"
        " GROUP BY account_id, quarter_ms, country",
    ),
    "ledger_hours": (
        {
            "account_id": "coalesce(account_id, CAST('" + "0" * 32 + "' AS uuid))",
            "at_ms": "at_ms",
            "type": "'sms_charge'",
            "currency": "'GHS'",
            "entries": "count(*)",
            "credits": f"-{OF_SEND} * count(*)",
        },
        f"(SELECT {SENDING_ACCOUNT} AS account_id, {_SENT_MS} - {_SENT_MS} % {HOUR_MS} AS at_ms"
        f" FROM {up_to(':sends')}) AS sent WHERE at_ms < :now - {2 * HOUR_MS}"
        " GROUP BY GROUPING SETS ((account_id, at_ms), (at_ms))",
    ),
    "carrier_rollups": (
        {
            "carrier_id": CARRIER_ID,
            "quarter_ms": _QUARTER,
            "country_code": "country",
            "handed_over": "100 + n",
            "delivered": "95 + n",
            "undelivered": "2",
            "within_5_s": "95 + n",
        },
        f"{up_to(CARRIERS)}, generate_series(0, {35 * 96 - 1}) AS q,"
        " unnest(ARRAY['GH', 'NG', 'KE']) AS country",
    ),
    "carrier_errors": (
        {
            "carrier_id": CARRIER_ID,
            "at_ms": ":now - :now % 60000 - minute * 60000",
            "command_status": "status",
            "answers": "3",
        },
        f"{up_to(CARRIERS)}, generate_series(0, 1439) AS minute, unnest(ARRAY[8, 88]) AS status",
    ),
    "service_samples": (
        {
            "step_ms": "step",
            "carrier_id": "CASE WHEN n = 0 THEN 0 ELSE (CAST(:carriers AS smallint[]))[n] END",
            "at_ms": ":now - :now % step - place * CAST(step AS bigint)",
            "covered_ms": "step",
            "accepted": "9 + n",
            "handed_over": "9 + n",
            "delivered": "8 + n",
            "waiting_bulk": "4000",
            "oldest_bulk_s": "60",
        },
        f"{up_to(CARRIERS + 1)}, (VALUES (10000, 360), (60000, 1440), (600000, 1152))"
        " AS kept (step, places), generate_series(0, places - 1) AS place",
    ),
}
# what is charged, and what carriers charge
PRICED: Final = {
    "rates": (
        {
            "account_id": f"CASE WHEN n < {RATES} THEN CAST('{GENERAL}' AS uuid) ELSE {NEXT} END",
            "destination": f"(20000 + n % {RATES})::text",
            "credits": "1 + n % 3",
        },
        up_to(2 * RATES),
    ),
    "carrier_costs": (
        {
            "carrier_id": f"(CAST(:carriers AS smallint[]))[1 + (n * 10 + part) % {CARRIERS}]",
            "prefix": "(20000 + n)::text",
            "currency": "'GHS'",
            "amount_micro": "20000 + n",
        },
        f"{up_to(COSTS // 10)}, generate_series(0, 9) AS part",
    ),
    "prices": ({"currency": "'GHS'", "amount_minor": "500", "credits": "100"}, up_to(1)),
    "rate_sheets": (
        {
            "id": ID_AT.format(ms=f":now - n * {HOUR_MS}", place="n"),
            "status": "(ARRAY['planned', 'uploaded', 'applied', 'withdrawn'])"
            "[1 + CASE WHEN n < 4 THEN n ELSE 2 + n % 2 END]",
            "name": "'sheet ' || n || '.csv'",
            "is_whole": "false",
            "lines": "(SELECT '[' || string_agg('[\"" + GENERAL + '", "\' || (20000 + line)'
            " || '\", 2]', ',') || ']'"
            f" FROM generate_series(0, {SHEET_LINES - 1}) AS line)",
            "email": "'kofi@example.com'",
            "effective_at_ms": f"CASE WHEN n <> 1 THEN :now + {DAY_MS} - n * {HOUR_MS} END",
            "allows_loss": "false",
            "reason": "'as agreed'",
            "ended_at_ms": f"CASE WHEN n > 1 THEN :now - n * {HOUR_MS} END",
        },
        up_to(SHEETS),
    ),
}
_LOGGED_ID: Final = ID_AT.format(ms=":now - n * 10000", place="n")
# what has been done, and told
LOGGED: Final = {
    "alerts": (
        {
            "id": _LOGGED_ID,
            "kind": "'carrier_down'",
            "subject": "'carrier-' || n",
            "title": "'A carrier is down'",
            "found": "'carrier-' || n || ' has been down for a minute.'",
            "remedy": "'Look at the page of the carrier.'",
            "began_at_ms": ":now - n * 10000",
            "opened_at_ms": ":now - n * 10000",
            "over_at_ms": "CASE WHEN n > 50 THEN :now - n * 10000 + 5000 END",
        },
        up_to(ALERTS),
    ),
    "alert_recipients": (
        {
            "id": OF_ACCOUNT.format(n="n + 1"),
            "address": "'operator' || n || '@example.com'",
            "created_at_ms": ":now",
        },
        up_to(10),
    ),
    "alert_tellings": (
        {
            "id": ID_AT.format(ms=":now - n * 10000", place="n * 16 + part"),
            "alert_id": _LOGGED_ID,
            "recipient_id": OF_ACCOUNT.format(n="part + 1"),
            "address": "'operator' || part || '@example.com'",
            "event": "'opened'",
            "tries": "1",
            "told_at_ms": ":now - n * 10000",
        },
        f"{up_to(ALERTS)}, generate_series(0, 9) AS part",
    ),
    "watched_wallets": (
        {"account_id": NEXT, "credits_min": "5000000"},
        up_to(100),
    ),
    "operator_log": (
        {
            "id": _LOGGED_ID,
            "user_id": OF_ACCOUNT.format(n="1"),
            "email": "'kofi' || n % 5 || '@example.com'",
            "action": "'wallet.grant'",
            "account_id": NEXT,
            "after": "'100 credits'",
            "reason": "'as agreed'",
        },
        up_to(DONE),
    ),
    "audit_log": (
        {
            "id": _LOGGED_ID,
            "account_id": OF_ACCOUNT.format(n="1"),
            "author_kind": "'user'",
            "author_id": OF_ACCOUNT.format(n="1"),
            "author_name": "'owner1@example.com'",
            "action": "'key.create'",
        },
        up_to(HISTORY),
    ),
    "account_history": (
        {
            "id": _LOGGED_ID,
            "account_id": OF_ACCOUNT.format(n="1"),
            "status": "CASE WHEN n % 2 = 0 THEN 'active' ELSE 'suspended' END",
            "reason": "'as agreed'",
            "by": "'kofi@example.com'",
            "at_ms": ":now - n * 10000",
        },
        up_to(HISTORY),
    ),
    "ledger_proofs": (
        {
            "id": ID_AT.format(ms=f":now - n * {DAY_MS}", place="n"),
            "asked_by": "'kofi@example.com'",
            "asked_at_ms": f":now - n * {DAY_MS}",
            "begun_at_ms": f":now - n * {DAY_MS}",
            "ended_at_ms": f":now - n * {DAY_MS} + 60000",
            "step": "3",
            "rows_read": "200000",
            "is_proven": "true",
        },
        up_to(PROOFS),
    ),
}
EVERY_TABLE: Final = (SENT, FOUND, COUNTED, PRICED, LOGGED)
