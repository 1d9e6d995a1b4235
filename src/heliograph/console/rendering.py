"""Pages of the console are made of its own templates and the portal's components."""

from typing import Any, Final

from starlette.responses import Response

from heliograph.console.navigation import NAVIGATION
from heliograph.console.operator_visit import NoSecondStep, OperatorVisit
from heliograph.portal import rendering
from heliograph.portal.page_request import PageRequest

OF_NO_FIELD: Final = ""  # the field of what is wrong with a form as a whole
DONE_ALREADY: Final = " "  # the field of a form that asks for what is so already: nothing is wrong


def page(
    template: str, request: PageRequest, visit: OperatorVisit, *, status: int = 200, **values: Any
) -> Response:
    """Returns the page that a template of the console makes of these values. Of `errors`, what
    stands at no field is said above the page, and what is so already is said there quietly.
    """
    errors = dict(values.pop("errors", {}))
    refusal = errors.pop(OF_NO_FIELD, None)
    done_already = errors.pop(DONE_ALREADY, None)
    return rendering.page(
        template,
        request,
        status=status,
        room=str(__package__),
        visit=visit,
        navigation=NAVIGATION,
        here=request.page.partition("?")[0],
        errors=errors,
        refusal=refusal,
        done_already=done_already,
        **values,
    )


def second_step_page(request: PageRequest, missing: NoSecondStep) -> Response:
    """Says that the console takes a second step, and leads to where it is set up or given."""
    return rendering.page(
        "second_step.html",
        request,
        status=missing.status,
        room=str(__package__),
        visit=missing,
        navigation=(),
        here="",
        why=str(missing),
    )
