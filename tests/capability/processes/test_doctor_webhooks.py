"""Doctor tells of webhook endpoints that nothing delivers to, and of those that need somebody."""

from pathlib import Path

import pytest

from heliograph.base import clock
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.monitoring.work_checks import ENDPOINTS_SHOWN_MAX, FAILING_MS
from heliograph.processes.checks.doctor import CheckResult, examine
from heliograph.webhooks.endpoints import DISABLED_TOLD_MS, WebhookEndpoint, text_id
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.capability.webhooks import NOWHERE, endpoint
from tests.support.factories import SECRET_KEY, open_account


def said(database_url: str, directory: Path) -> dict[str, CheckResult]:
    return {
        finding.check: finding
        for finding in examine(Settings(directory, database_url, SECRET_KEY))
        if finding.check.startswith("webhook")
    }


def became(db: Database, of: WebhookEndpoint, **columns: object) -> None:
    with db.write() as tx:
        tx.execute(
            webhook_endpoints.update().where(webhook_endpoints.c.id == of.id).values(columns)
        )


@pytest.mark.parametrize(
    ("kind", "verdict", "found"),
    [
        ("scheduler", "ok", "2 enabled endpoints"),
        ("worker", "ok", "2 enabled endpoints"),
        ("serve", "ok", "2 enabled endpoints"),
        ("carrier", "warning", "2 enabled endpoints, and no process that delivers to them"),
        ("listen", "warning", "2 enabled endpoints, and no process that delivers to them"),
    ],
)
def test_endpoints_need_a_process_that_delivers(
    kind: str, verdict: str, found: str, database_url: str, tmp_path: Path
) -> None:
    db = Database(database_url)
    amina_id = open_account(db)
    assert said(database_url, tmp_path) == {}
    for _ in range(2):
        endpoint(db, amina_id)
    became(db, endpoint(db, amina_id)[0], disabled_at_ms=1, disabled_reason="operator")
    with db.write() as tx:
        tx.execute(workers.insert().values(kind=kind, started_at_ms=clock.now_ms()))
    [finding] = said(database_url, tmp_path).values()
    assert (finding.check, finding.verdict, finding.found, finding.remedy is None) == (
        "webhooks",
        verdict,
        found,
        verdict == "ok",
    )
    db.close()


def test_endpoints_that_need_somebody_are_named(database_url: str, tmp_path: Path) -> None:
    db, now_ms = Database(database_url), clock.now_ms()
    amina_id = open_account(db)
    fails, just_failed, gone, gone_long_ago, failed, by_command, _ = (
        endpoint(db, amina_id)[0] for _ in range(7)
    )
    became(db, fails, failing_since_ms=now_ms - FAILING_MS)
    became(db, just_failed, failing_since_ms=now_ms - FAILING_MS + 60_000)
    became(db, gone, disabled_at_ms=now_ms, disabled_reason="gone")
    long_ago_ms = now_ms - DISABLED_TOLD_MS - 1
    became(db, gone_long_ago, disabled_at_ms=long_ago_ms, disabled_reason="gone")
    became(db, failed, disabled_at_ms=now_ms - 1, disabled_reason="failing")
    became(db, by_command, disabled_at_ms=now_ms, disabled_reason="operator")
    told = said(database_url, tmp_path)
    assert list(told) == [
        "webhooks",
        *(f"webhook {text_id(one.id)}" for one in (fails, gone, failed)),
    ]
    assert told["webhooks"].found.startswith("3 enabled endpoints")
    expected = (
        (fails, "nothing but failures since", "attempts"),
        (gone, "answered 410 Gone", "enable"),
        (failed, "for 5 days", "enable"),
    )
    for one, why, remedy in expected:
        finding = told[f"webhook {text_id(one.id)}"]
        assert (finding.verdict, NOWHERE in finding.found, why in finding.found) == (
            "warning",
            True,
            True,
        )
        assert f"heliograph webhook {remedy} {text_id(one.id)}" in (finding.remedy or "")
    for one in [endpoint(db, amina_id)[0] for _ in range(ENDPOINTS_SHOWN_MAX)]:
        became(db, one, failing_since_ms=1)
    assert len(said(database_url, tmp_path)) == 1 + ENDPOINTS_SHOWN_MAX
    db.close()
