"""Manages carriers, which are connections to mobile networks, the routes to them, and what a
segment costs where.
"""

from heliograph.carriers.link import (
    Link,
    LinkState,
    Outcome,
    Outgoing,
    Receipt,
    ReceiptState,
    Submission,
    SubmitAnswer,
)
from heliograph.carriers.manage import (
    SEALED,
    SIMULATOR_ID,
    Carrier,
    add_carrier,
    all_carriers,
    carrier_named,
    connection_settings,
    described_submissions,
    down_carriers,
    drain_carrier,
    remove_carrier,
    set_carrier,
    setting,
    trial_connection,
)
from heliograph.carriers.rates import Rate, Rates, load_rates, remove_rate, set_rate
from heliograph.carriers.routes import (
    Route,
    Routes,
    all_routes,
    load_routes,
    remove_route,
    set_route,
)
from heliograph.carriers.smpp import SmppSettings, user_message_reference
from heliograph.carriers.smpp.described import DescribedSubmission
from heliograph.carriers.smpp.statuses import meaning_of
from heliograph.carriers.state import (
    mend_states,
    outdated_states,
    record_state,
    remember_id_format,
    remember_read_as,
    unbound_links,
)
from heliograph.carriers.tables import GENERAL

__all__ = [
    "GENERAL",
    "SEALED",
    "SIMULATOR_ID",
    "Carrier",
    "DescribedSubmission",
    "Link",
    "LinkState",
    "Outcome",
    "Outgoing",
    "Rate",
    "Rates",
    "Receipt",
    "ReceiptState",
    "Route",
    "Routes",
    "SmppSettings",
    "Submission",
    "SubmitAnswer",
    "add_carrier",
    "all_carriers",
    "all_routes",
    "carrier_named",
    "connection_settings",
    "described_submissions",
    "down_carriers",
    "drain_carrier",
    "load_rates",
    "load_routes",
    "meaning_of",
    "mend_states",
    "outdated_states",
    "record_state",
    "remember_id_format",
    "remember_read_as",
    "remove_carrier",
    "remove_rate",
    "remove_route",
    "set_carrier",
    "set_rate",
    "set_route",
    "setting",
    "simulator",
    "smpp",
    "smsc",
    "trial_connection",
    "unbound_links",
    "user_message_reference",
]
