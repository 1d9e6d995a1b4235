"""A mail that is handed to a server has what servers ask of each: a date and an id."""

from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from heliograph.base import clock
from heliograph.base.addresses import MailServer
from heliograph.base.mail.deliver_mail import to_server
from tests.support.factories import awaited
from tests.support.portal.mailbox import taking_mail

NOON_MS = 1_800_014_400_000  # 2027-01-15T12:00:00Z


def mail(message_id: str | None = None) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Heliograph <heliograph@sms.example.com>"
    message["To"] = "amina@example.com"
    message["Subject"] = "Sign in to Heliograph"
    if message_id is not None:
        message["Message-ID"] = message_id
    message.set_content("A link.")
    return message


@awaited
async def test_a_mail_has_its_date_and_an_id_of_its_own_and_keeps_one_that_it_has() -> None:
    clock.move(by_ms=NOON_MS - clock.now_ms())
    with taking_mail() as box:
        deliver = to_server(MailServer("127.0.0.1", box.port, None, None, is_tls_first=False))
        for message in (mail(), mail(), mail("<atl_1@sms.example.com>")):
            await deliver(message)
    dates = {parsedate_to_datetime(each["Date"]) for each in box.got}
    assert {date.replace(second=0) for date in dates} == {datetime(2027, 1, 15, 12, tzinfo=UTC)}
    first, second, third = (str(each["Message-ID"]) for each in box.got)
    assert first != second
    assert first.endswith("@sms.example.com>")
    assert third == "<atl_1@sms.example.com>"
