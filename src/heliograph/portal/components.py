"""Shows the parts that pages are made of, side by side and in each of their states. It is for those
who work on the pages: `heliograph demo` has it, and HELIOGRAPH_PORTAL_COMPONENTS.
"""

from typing import Final

from starlette.responses import Response

from heliograph.base.clock import DAY_MS
from heliograph.messages.reports.rollup_reports import MessageFigures, ReportPart
from heliograph.portal.page_request import PageRequest
from heliograph.portal.plots import DAY, plot_of
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


PLOTTED: Final = (  # of each day
    MessageFigures(),
    MessageFigures(delivered=120, failed=4),
    MessageFigures(delivered=310),
    MessageFigures(delivered=90, failed=60),
    MessageFigures(sent=25, delivered=400, failed=12),
)
# the lines of a conversation: a text, a binary one, one that nobody is shown, and an erased one
LINES: Final = (
    {"text": "When do you open?", "octets": None, "message": None},
    {"text": None, "octets": 12, "message": None},
    {"text": None, "octets": None, "message": {"type": "otp"}},
    {"text": None, "octets": None, "message": None},
)


def show_components(request: PageRequest) -> Response:
    """Shows the components to everybody: there is nothing of an account in them."""
    return page(
        "components_shown.html",
        request,
        is_live=True,
        statuses=STATUSES,
        typed={"filled": "233201234567", "wrong": "12", "checked": "yes"},
        errors=WRONG,
        lines=LINES,
        plot=plot_of("plot", "A plot", DAY, _plotted(request.now_ms)),
        moments=[request.now_ms - age_ms for age_ms in (0, 180_000, 3 * DAY_MS, 30 * DAY_MS)],
    )


def _plotted(now_ms: int) -> list[ReportPart]:
    begun_ms = now_ms - len(PLOTTED) * DAY_MS
    return [
        ReportPart(begun_ms + (place + 1) * DAY_MS, counts, ())
        for place, counts in enumerate(PLOTTED)
    ]
