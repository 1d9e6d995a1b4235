"""Serves the endpoints that a shop's plugin calls: GET /account/status and POST
/sitebuilder/connect, /sitebuilder/logs and /sitebuilder/events.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.accounts.states import ACTIVE, SUSPENDED
from heliograph.base import clock
from heliograph.base.short_texts import invalid_field
from heliograph.database.database import Database
from heliograph.keys import Principal
from heliograph.plugin.logs import store_event, store_logs
from heliograph.plugin.request import (
    read_link_site_request,
    read_logs_request,
    read_site_event_request,
)
from heliograph.plugin.site import SiteNotConnected, as_record, connect, locked_sites, only_site
from heliograph.requests import ApiResponse, Call, Endpoint, audit_call, replay_or_run
from heliograph.wallet import money, wallet_of

CONNECT_PATH: Final = "/sitebuilder/connect"
LOGS_PATH: Final = "/sitebuilder/logs"
EVENTS_PATH: Final = "/sitebuilder/events"


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints that a shop's plugin calls."""
    handlers = _PluginHandlers(db)
    return [
        Endpoint("GET", "/account/status", "wallet.read", handle_in_thread=handlers.show_status),
        Endpoint(
            "POST",
            CONNECT_PATH,
            "sms.send",
            handle_in_thread=handlers.link_site,
            other_paths=("/wordpress/connect",),
        ),
        Endpoint(
            "POST",
            LOGS_PATH,
            "sms.send",
            handle_in_thread=handlers.sync_logs,
            other_paths=("/wordpress/logs",),
        ),
        Endpoint(
            "POST",
            EVENTS_PATH,
            "sms.send",
            handle_in_thread=handlers.take_event,
            other_paths=("/wordpress/events",),
        ),
    ]


class _PluginHandlers:
    """Answers the calls of each endpoint."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def show_status(self, call: Call) -> ApiResponse:
        """Returns the account and its wallet, as a plugin shows them."""
        call.query.finish()
        who = call.principal
        with self._db.read() as tx:
            account = accounts.by_id(tx, who.account_id)
            wallet = wallet_of(tx, who.account_id)
        return ApiResponse(
            {
                "account": {
                    "id": accounts.text_id(account),
                    "name": account.name,
                    "status": SUSPENDED if who.suspended else ACTIVE,
                    "sms_credits": wallet.visible_figures.sms_credits,
                    "wallet_balance": money.to_number(
                        wallet.visible_figures.balance_minor, wallet.currency
                    ),
                    "wallet_currency": wallet.currency,
                    "api_key_prefix": who.key_prefix,
                    "low_balance": wallet.is_low,
                    "sandbox": who.sandbox,
                }
            }
        )

    def link_site(self, call: Call) -> ApiResponse:
        """Links a site to the account."""
        call.query.finish()
        request = read_link_site_request(call.json())
        who = call.principal

        def effect(tx: Connection) -> dict[str, Any]:
            url = request.site_url or _site_to_link(tx, who)
            site = connect(
                tx,
                who.account_id,
                url,
                request.about,
                sandbox=who.sandbox,
                now_ms=clock.now_ms(),
            )
            record = as_record(site)
            audit_call(tx, call, who.account_id, audit_log.AuditEntry("site.link", record["id"]))
            return {"site": record}

        return self._run_once(call, CONNECT_PATH, effect, request.warnings)

    def sync_logs(self, call: Call) -> ApiResponse:
        """Stores the logs that a site reports."""
        call.query.finish()
        request = read_logs_request(call.json())
        who = call.principal

        def effect(tx: Connection) -> dict[str, Any]:
            urls = {entry.site_url: entry.site_url or _only_site(tx, who) for entry in request.logs}
            sites = locked_sites(tx, who.account_id, set(urls.values()), sandbox=who.sandbox)
            by_name = {name: sites[url] for name, url in urls.items()}
            return {
                "data": {
                    "received": len(request.logs),
                    "ids": store_logs(tx, by_name, request.logs, now_ms=clock.now_ms()),
                }
            }

        return self._run_once(call, LOGS_PATH, effect, request.warnings)

    def take_event(self, call: Call) -> ApiResponse:
        """Stores an event that a site reports."""
        call.query.finish()
        request = read_site_event_request(call.json())
        who = call.principal

        def effect(tx: Connection) -> dict[str, Any]:
            (site,) = locked_sites(
                tx, who.account_id, {request.site_url or _only_site(tx, who)}, sandbox=who.sandbox
            ).values()
            return {
                "data": {
                    "id": store_event(
                        tx,
                        site,
                        request.event,
                        request.payload,
                        request.meta,
                        now_ms=clock.now_ms(),
                    )
                }
            }

        return self._run_once(call, EVENTS_PATH, effect, request.warnings)

    def _run_once(
        self,
        call: Call,
        path: str,
        effect: Callable[[Connection], dict[str, Any]],
        warnings: list[str],
    ) -> ApiResponse:
        more = {"warnings": warnings} if warnings else {}
        return self._db.transact(
            lambda tx: replay_or_run(
                tx, call, f"POST {path}", lambda tx: ApiResponse({**effect(tx), **more})
            )
        )


def _only_site(tx: Connection, who: Principal) -> str:
    return only_site(tx, who.account_id, sandbox=who.sandbox)


def _site_to_link(tx: Connection, who: Principal) -> str:
    try:
        return _only_site(tx, who)
    except SiteNotConnected as error:
        raise invalid_field("site_url", "is required, because no site is linked yet") from error
