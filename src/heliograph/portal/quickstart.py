"""Shows the quickstart: programs that send a first text in sandbox, read its status and check a
webhook, each complete, with the account's sender and a key that is made here.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import keys, senders
from heliograph.base.errors import FieldError
from heliograph.base.paging import PageWanted
from heliograph.messages import read
from heliograph.messages.accept import SANDBOX_SENDER
from heliograph.portal.api_keys import key_of_maker
from heliograph.portal.filled_form import choice_of
from heliograph.portal.form_idempotency import random_of, record_of, run_form_once
from heliograph.portal.languages import marked, translated
from heliograph.portal.message_pages.messages import row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.visit import Visit
from heliograph.requests import ApiResponse, CodeSample, code_samples
from heliograph.users import Right
from heliograph.webhooks.signature_checks import SIGNATURE_CHECKS

KEY_NAME: Final = "quickstart"
PATH: Final = "POST /portal/quickstart"  # of keys: those of programs have other paths
PURPOSE: Final = "quickstart key"
PERMISSIONS: Final = ("sms.send", "sms.read")
# what a reader replaces, where the page does not know it
KEY_TO_COME: Final = "sk_test_YOUR_KEY"
MESSAGE_TO_COME: Final = "MESSAGE_ID"
PHONE: Final = "233201234567"  # no phone rings: a handset of the sandbox shows the text
TEXT: Final = "Hello from Heliograph"
# how each program is run, by its language; `{}` is its name
RUN: Final = {
    "curl": marked("Paste it into a terminal."),
    "python": marked("Save it as {}.py, and run python3 {}.py"),
    "node": marked("Save it as {}.mjs, and run node {}.mjs"),
    "php": marked("Save it as {}.php, and run php {}.php"),
}


class Program(NamedTuple):
    """Holds a sample, and how to run it."""

    sample: CodeSample
    run: str


def show_programs(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the programs, which say where the key has to be written."""
    return _render(tx, request, visit, None, errors)


def make_key(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Makes a sandbox key that sends and reads, and shows the programs with it, this once. A form
    that is sent twice makes one key, and both answers show it: a browser shows only the last.
    """
    visit.require_fresh(request.now_ms)
    choice_of("do", request.sent.form.get("do", ""), ("make_key",))
    random = random_of(request, visit, PURPOSE)[: keys.RANDOM_OCTETS]

    def effect(tx: Connection) -> ApiResponse:
        made = keys.issue(
            tx,
            visit.account.id,
            name=KEY_NAME,
            sandbox=True,
            tier=keys.tiers_up_to(tx, visit.account.max_tier)[-1].name,
            permissions=PERMISSIONS,
            random=random,
            now_ms=request.now_ms,
        )
        key_id = keys.text_id(made.record)
        visit.audit(tx, request, "key.make", key_id, f"sandbox: {KEY_NAME}")
        return ApiResponse({"id": key_id})

    made = record_of(run_form_once(tx, request, visit, PATH, sandbox=True, effect=effect))
    return _render(tx, request, visit, key_of_maker(tx, made["id"], keys.make_key(True, random)))


def _render(
    tx: Connection,
    request: PageRequest,
    visit: Visit,
    key: str | None,
    errors: Sequence[FieldError] = (),
) -> Response:
    usable = senders.usable(tx, visit.account.id, sandbox=True)
    sender = usable[0].sender if usable else SANDBOX_SENDER
    newest = _newest_message(tx, visit)
    base, in_programs = f"{request.site}/api/v1", key or KEY_TO_COME
    body = {"sender": sender, "message": TEXT, "recipients": [PHONE]}
    status_path = f"/messages/{newest or MESSAGE_TO_COME}"
    return page(
        "quickstart.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        key=key,
        key_to_come=KEY_TO_COME,
        message_to_come=None if newest else MESSAGE_TO_COME,
        may_make_key=visit.may(Right.KEYS),
        may_add_webhook=visit.may(Right.WEBHOOKS),
        sends=_programs(
            "send", code_samples("POST", base, "/sms/send", body=body, key=in_programs)
        ),
        reads=_programs("status", code_samples("GET", base, status_path, key=in_programs)),
        checks=[Program(sample, "") for sample in SIGNATURE_CHECKS],
        phone=PHONE,
        sender=sender,
        typed={"recipients": PHONE, "message": TEXT},
        errors={},
        others=errors,
        counted=None,
    )


def _programs(name: str, found: Sequence[CodeSample]) -> list[Program]:
    return [
        Program(sample, translated(RUN[sample.language]).replace("{}", name)) for sample in found
    ]


def _newest_message(tx: Connection, visit: Visit) -> str | None:
    """Returns the id of the newest message of the sandbox, if there is one."""
    found = read.report(
        tx, visit.account.id, PageWanted(1, None), read.Filters(), sandbox=True
    ).messages
    return str(row(found[0])["id"]) if found else None
