"""Lists the files whose tests are measured, and the tests that stand for each of them.

These tests run in seconds, on SQLite. Other tests may kill a mutant that survives here.
"""

from typing import Final, NamedTuple


class Row(NamedTuple):
    """Source files stand here with their tests, as paths from the project's root."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]  # the quickest first: the first failure ends a run


ROWS: Final = {
    "judge": Row(
        (
            "src/heliograph/messages/accept/judge.py",
            "src/heliograph/messages/accept/pricing.py",
        ),
        (
            "tests/unit/messages/test_judge.py",
            "tests/unit/messages/test_pricing.py",
            "tests/property/test_judge_property.py",
            "tests/capability/messages/accept/test_accept.py",
        ),
    ),
    "settle": Row(
        ("src/heliograph/messages/carrier/settle.py",),
        (
            "tests/unit/messages/test_settle.py",
            "tests/property/test_settle_property.py",
            "tests/capability/messages/carrier/test_turn.py",
        ),
    ),
    "match": Row(
        ("src/heliograph/messages/carrier/match.py",),
        (
            "tests/capability/messages/carrier/test_receipts.py",
            "tests/capability/messages/carrier/test_receipts_ids.py",
            "tests/capability/messages/carrier/test_receipts_formats.py",
        ),
    ),
    "ledger": Row(
        ("src/heliograph/wallet/ledger.py", "src/heliograph/wallet/transfer.py"),
        (
            "tests/capability/wallet/test_ledger.py",
            "tests/capability/wallet/test_wallet.py",
            "tests/capability/connect/test_connect.py",
        ),
    ),
    "limits": Row(
        ("src/heliograph/otp/limits.py",),
        ("tests/unit/otp/test_otp.py", "tests/capability/otp/test_otp_limits.py"),
    ),
    "segments": Row(
        ("src/heliograph/text/segments.py",),
        (
            "tests/unit/text/test_text_segments.py",
            "tests/unit/text/test_text_segments_corpus.py",
            "tests/property/test_text_segments_properties.py",
        ),
    ),
    "phone": Row(
        ("src/heliograph/text/phone.py",),
        ("tests/unit/text/test_text_phone.py", "tests/property/test_text_phone_properties.py"),
    ),
    "sign": Row(
        ("src/heliograph/webhooks/sign.py",),
        ("tests/unit/webhooks/test_webhooks_sign.py",),
    ),
    "authenticate": Row(
        ("src/heliograph/keys/authenticate.py",),
        (
            "tests/unit/keys/test_malformed_keys.py",
            "tests/capability/keys/test_keys.py",
            "tests/api/every_endpoint/test_guards.py",
            "tests/api/every_endpoint/test_guards_of_paths.py",
            "tests/api/every_endpoint/test_guards_of_bodies.py",
        ),
    ),
    "template": Row(
        ("src/heliograph/campaigns/template.py",),
        (
            "tests/property/test_campaign_texts.py",
            "tests/capability/campaigns/test_campaigns_run.py",
        ),
    ),
}
