"""Writes what recipients get: a mail, or the body of a webhook."""

from email.headerregistry import Address
from email.message import EmailMessage
from typing import Any, Final

from heliograph.alerts.check_rules import OVER, TEST
from heliograph.alerts.notifications import DueNotification
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.json import encode
from heliograph.base.short_texts import duration_in_words

ALERT_PREFIX: Final = "alt"
NOTIFICATION_PREFIX: Final = "atl"
ALERTS_PAGE: Final = "/console/alerts"
TEST_TITLE: Final = "This is a test"
TEST_FOUND: Final = "Alerts of Heliograph reach you here. Nothing is wrong."


def mail_of(notification: DueNotification, sender: str, console_url: str) -> EmailMessage:
    """Returns the mail, whose link leads to the console at this address. Its Message-ID is the same
    at each try, so that a mail program shows one that came twice once.
    """
    message = EmailMessage()
    message["From"] = f"Heliograph <{sender}>"
    message["To"] = Address(addr_spec=notification.address)
    message["Subject"] = _subject(notification)
    host = sender.partition("@")[2]
    message["Message-ID"] = f"<{ids.text_of_raw(NOTIFICATION_PREFIX, notification.id)}@{host}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no program answers it
    message.set_content(
        "\n".join([*_lines(notification), "", f"{console_url}{ALERTS_PAGE}"]) + "\n"
    )
    return message


def body_of(notification: DueNotification, now_ms: int) -> bytes:
    """Returns the body of the webhook."""
    return encode(
        {
            "id": event_id_of(notification),
            "event": event_of(notification),
            "timestamp": rfc3339(now_ms),
            "data": _data(notification),
        }
    )


def event_id_of(notification: DueNotification) -> str:
    """Returns the id of the event, which is the same at each try."""
    return ids.text_of_raw(NOTIFICATION_PREFIX, notification.id)


def event_of(notification: DueNotification) -> str:
    """Returns the kind of the event, such as `alert.opened`."""
    return f"alert.{notification.event}"


def _subject(notification: DueNotification) -> str:
    title = TEST_TITLE if notification.alert is None else notification.alert.title
    return f"[Heliograph] {'Over: ' if notification.event == OVER else ''}{title}"


def _lines(notification: DueNotification) -> list[str]:
    alert = notification.alert
    if alert is None:
        return [TEST_FOUND]
    if alert.over_at_ms is not None and notification.event == OVER:
        return [
            f"This is over since {rfc3339(alert.over_at_ms)}: {alert.title}.",
            "",
            f"It began at {rfc3339(alert.began_at_ms)} and lasted for"
            f" {duration_in_words(alert.over_at_ms - alert.began_at_ms)}.",
        ]
    return [
        f"{alert.title}.",
        "",
        alert.found,
        alert.remedy,
        "",
        f"It began at {rfc3339(alert.began_at_ms)}. One more mail says when it is over.",
    ]


def _data(notification: DueNotification) -> dict[str, Any]:
    alert = notification.alert
    if notification.event == TEST or alert is None:
        return {"title": TEST_TITLE, "found": TEST_FOUND}
    is_over = notification.event == OVER and alert.over_at_ms is not None
    return {
        "id": ids.text_of_raw(ALERT_PREFIX, alert.id),
        "rule": alert.kind,
        "subject": alert.subject,
        "title": alert.title,
        "found": alert.found,
        "remedy": alert.remedy,
        "began_at": rfc3339(alert.began_at_ms),
        "over_at": rfc3339(alert.over_at_ms) if is_over and alert.over_at_ms else None,
    }
