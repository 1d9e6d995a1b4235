"""Serves the endpoints GET /campaigns and GET /campaigns/{id}."""

from heliograph.base.paging import page_body, read_page
from heliograph.campaigns.campaign import of_account, page
from heliograph.campaigns.campaign_record import as_record
from heliograph.campaigns.tables import STATUSES
from heliograph.database.database import Database
from heliograph.keys import acting_for, customer_asked_for
from heliograph.messages.groups import tally_of
from heliograph.requests import ApiResponse, Call, Endpoint


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints of campaigns."""

    def list_campaigns(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        wanted = read_page(call.query)
        status = call.query.choice("status", STATUSES)
        call.query.finish()
        with db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id)
            found = page(
                tx,
                limit=wanted.limit + 1,
                account_id=account_id,
                sandbox=call.principal.sandbox,
                status=status,
                before_id=wanted.before,
            )
        return ApiResponse(page_body(found, wanted, lambda campaign: campaign.id, as_record))

    def campaign(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        call.query.finish()
        with db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id)
            found = of_account(tx, account_id, call.path["id"], sandbox=call.principal.sandbox)
            record = as_record(found, tally_of(tx, found.group_id))
        return ApiResponse({"data": record})

    return [
        Endpoint("GET", "/campaigns", "campaigns.read", handle_in_thread=list_campaigns),
        Endpoint("GET", "/campaigns/{id}", "campaigns.read", handle_in_thread=campaign),
    ]
