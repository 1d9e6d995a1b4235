"""Sends the mail that pages have asked for: links that sign in, and invitations.

A link is made in the transaction that takes a mail out, and the mail is sent after it. What could
not be sent comes again, with another link.
"""

import asyncio
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Final, NamedTuple

from heliograph import accounts
from heliograph.base import clock
from heliograph.base.log import survive_faults
from heliograph.base.mail.deliver_mail import Deliver, base_url_of, deliver_by, sender_of
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.portal import languages
from heliograph.portal.languages import _, marked
from heliograph.users import mails, sign_ups
from heliograph.users.mails import DueMail
from heliograph.users.sign_ups import DueSignUp

SIGN_IN: Final = "/portal/sign-in/"
INVITATION: Final = "/portal/invitation/"
LINK_TEXT: Final = marked("""\
This link signs you in to Heliograph, once, within a day:

%(link)s

If you did not ask for it, do nothing.
""")
SIGN_UP: Final = "/portal/sign-up/"
SIGN_UP_TEXT: Final = marked("""\
This link makes your account on Heliograph, and signs you in, within a day:

%(link)s

If you did not ask for it, do nothing: then nothing is made.
""")
HAS_USER_TEXT: Final = marked("""\
You asked for an account on Heliograph, and you have a user there already. This link signs you in,
once, within a day:

%(link)s

If you did not ask for it, do nothing.
""")
INVITATION_TEXT: Final = marked("""\
You are invited to the account %(name)s on Heliograph. This link makes you a member, within a week:

%(link)s

If you do not know why, do nothing.
""")


class MailToSend(NamedTuple):
    """Holds a mail that is to be sent, and the name of the account that invites, if one does."""

    due: DueMail
    inviting: str | None


class Mailer:
    """Sends what waits in the database. Several processes may do so beside each other."""

    def __init__(self, db: Database, base_url: str, sender: str, deliver: Deliver) -> None:
        self._db = db
        self._base_url = base_url
        self._sender = sender
        self._deliver = deliver

    async def send_due(self) -> int:
        """Sends what is due now, one after the other, and returns how much of it was sent."""
        done = await self._send_sign_ups()
        while await asyncio.to_thread(self._judge_request):
            pass
        while (mail := await asyncio.to_thread(self._take_mail)) is not None:
            with survive_faults("mail_not_sent", level="warning", mail=mail.due.id):
                await self._deliver(self._message(mail))
                await asyncio.to_thread(self._record_sent, mail.due)
                done += 1
        return done

    async def _send_sign_ups(self) -> int:
        """Sends to those who have signed up."""
        done = 0
        while (due := await asyncio.to_thread(self._take_sign_up)) is not None:
            with survive_faults("mail_not_sent", level="warning", mail=due.id):
                if due.link is not None:
                    await self._deliver(self._sign_up_message(due, due.link))
                    done += 1
                await asyncio.to_thread(self._record_sign_up, due)
        return done

    def _take_sign_up(self) -> DueSignUp | None:
        now_ms = clock.now_ms()
        with self._db.read() as tx:
            if not sign_ups.any_due(tx, now_ms=now_ms):
                return None
        with self._db.write() as tx:
            return sign_ups.take_due(tx, now_ms=now_ms)

    def _record_sign_up(self, due: DueSignUp) -> None:
        with self._db.write() as tx:
            sign_ups.record_sent(tx, due)

    def _sign_up_message(self, due: DueSignUp, link: str) -> EmailMessage:
        languages.use_language(languages.known_language(due.language) or languages.USUAL)
        text, path = (HAS_USER_TEXT, SIGN_IN) if due.is_user else (SIGN_UP_TEXT, SIGN_UP)
        return self._compose(
            due.email, _("Your account on Heliograph"), _(text, link=self._base_url + path + link)
        )

    def _judge_request(self) -> bool:
        """Looks whether an address that a link was asked for is a user's. Returns whether there was
        one to look at.
        """
        with self._db.read() as tx:
            if not mails.any_link_request(tx):
                return False
        with self._db.write() as tx:
            return mails.judge_link_request(tx, now_ms=clock.now_ms())

    def _take_mail(self) -> MailToSend | None:
        now_ms = clock.now_ms()
        with self._db.read() as tx:
            if not mails.any_mail_due(tx, now_ms=now_ms):
                return None
        with self._db.write() as tx:
            due = mails.take_due(tx, now_ms=now_ms)
            if due is None:
                return None
            inviting = due.account_id and accounts.by_id(tx, due.account_id).name
            return MailToSend(due, inviting)

    def _record_sent(self, mail: DueMail) -> None:
        with self._db.write() as tx:
            mails.record_sent(tx, mail)

    def _message(self, mail: MailToSend) -> EmailMessage:
        languages.use_language(languages.known_language(mail.due.language) or languages.USUAL)
        if mail.inviting is None:
            link = self._base_url + SIGN_IN + mail.due.link
            return self._compose(
                mail.due.email, _("Your link to Heliograph"), _(LINK_TEXT, link=link)
            )
        link = self._base_url + INVITATION + mail.due.link
        subject = _("You are invited to %(name)s", name=mail.inviting)
        text = _(INVITATION_TEXT, name=mail.inviting, link=link)
        return self._compose(mail.due.email, subject, text)

    def _compose(self, to: str, subject: str, text: str) -> EmailMessage:
        message = EmailMessage()
        message["From"] = f"Heliograph <{self._sender}>"
        message["To"] = Address(addr_spec=to)
        message["Subject"] = subject
        message["Content-Language"] = languages.language()
        message.set_content(text)
        return message


def mailer_for(settings: Settings, db: Database) -> Mailer | None:
    """Returns what sends mail, or None where the settings name no mail server."""
    deliver = deliver_by(settings)
    if deliver is None:
        return None
    return Mailer(db, base_url_of(settings), sender_of(settings), deliver)
