"""Reads what is asked about an opt-out, by a client or by a command."""

from typing import Any, NamedTuple

from heliograph.base.forms import Form
from heliograph.base.unknown_fields import COUNTRY, OPT_OUT_SCOPE, PAYER
from heliograph.keys import CUSTOMER_ID_MAX
from heliograph.opt_outs.suppression import WHOLE_ACCOUNT, OptOutScope, scope_of_sender
from heliograph.opt_outs.tables import SUPPRESSED_SENDER_MAX
from heliograph.text import Phone, read_country, read_phone


class OptOutRequest(NamedTuple):
    """Holds a body of POST /opt-outs that is right in form."""

    phone: Phone
    scope: OptOutScope
    customer_id: str | None
    warnings: list[str]


def read_opt_out_request(body: dict[str, Any], home_country: str) -> OptOutRequest:
    """Reads a body of POST /opt-outs. `home_country` is the country in which a phone with a leading
    0 is read when no country is given. Raises InvalidRequest for all bad fields together.
    """
    form = Form(body, costly=(COUNTRY, PAYER, OPT_OUT_SCOPE))
    country_code = form.value("country_code", "countryCode", read=read_country)
    phone = form.value(
        "phone", read=lambda value: read_phone(value, country_code, home_country), required=True
    )
    sender = form.text("sender", most=SUPPRESSED_SENDER_MAX)
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    form.finish()
    assert phone is not None
    scope = scope_of_sender(sender) if sender else WHOLE_ACCOUNT
    return OptOutRequest(phone, scope, customer_id, form.warnings())
