"""Says which rows `bench.console_filling` makes of what phones have said, as expressions of SQL."""

from typing import Final

from bench.console_rows import CARRIER_ID, ID_AT, NEXT, OF_ACCOUNT, SENDING_ACCOUNT, up_to

OPT_OUTS: Final = 1_000_000  # one phone has opted out of every account
RECEIVED_TEXTS: Final = 2_000_000  # each phone has sent four
KEYWORDS: Final = 1_000  # of the busiest account

# what phones have said
RECEIVED: Final = {
    "suppressions": (
        {
            "account_id": NEXT,
            "sandbox": "false",
            "phone": "CASE WHEN n < :accounts THEN 233200000001 ELSE 233200000000 + n END",
            "sender": "''",
            "id": ID_AT.format(ms=":now - n * 1000", place="n"),
            "source": "'keyword'",
        },
        up_to(OPT_OUTS),
    ),
    "inbound": (
        {
            "id": ID_AT.format(ms=":now - n * 1000", place="n"),
            "carrier_id": CARRIER_ID,
            "account_id": f"CASE WHEN n % 50 > 0 THEN {SENDING_ACCOUNT} END",
            "sandbox": "false",
            "sender": f"(233200000000 + n % {RECEIVED_TEXTS // 4})::text",
            "recipient": "(45000 + n % 1000)::text",
            "text": "'Is it open on Sunday?'",
            "encoding": "'GSM-7'",
            "parts": "1",
            "parts_received": "1",
            "received_at_ms": ":now - n * 1000",
            "keyword": "CASE WHEN n % 20 = 0 THEN 'stop' END",
        },
        up_to(RECEIVED_TEXTS),
    ),
    "keywords": (
        {
            "id": ID_AT.format(ms=":now - n * 1000", place="n"),
            "account_id": OF_ACCOUNT.format(n="1"),
            "sandbox": "false",
            "keyword": "'Word ' || n",
            "folded": "'word ' || n",
            "action": "'none'",
            "reply": "'This week: rice at 10 % less.'",
            "created_at_ms": ":now - n * 1000",
        },
        up_to(KEYWORDS),
    ),
}
