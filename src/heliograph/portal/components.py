"""Shows the parts that pages are made of, side by side and in each of their states. It is for those
who work on the pages: `heliograph demo` has it, and HELIOGRAPH_PORTAL_COMPONENTS.
"""

from typing import Final

from starlette.responses import Response

from heliograph.base.clock import DAY_MS
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page

PATH: Final = "/portal/components"
STATUSES: Final = (
    *("queued", "sent", "delivered", "failed"),
    *("pending", "approved", "rejected", "enabled", "disabled", "expired", "revoked"),
)
WHY: Final = "must be a phone number in international digits"
WRONG: Final = {
    "wrong": WHY,
    "wrong_choice": "must be live or sandbox",
    "wrong_password": "is not right",
}


def shown(asking: PageRequest) -> Response:
    """Shows them to everybody: there is nothing of an account in them."""
    return page(
        "components_shown.html",
        asking,
        statuses=STATUSES,
        typed={"filled": "233201234567", "wrong": "12", "checked": "yes"},
        errors=WRONG,
        moments=[asking.now_ms - age_ms for age_ms in (0, 180_000, 3 * DAY_MS, 30 * DAY_MS)],
    )
