"""Says what a person can do about a message that failed, in plain words, by its error code
(docs/api.md, "Messages").
"""

from typing import Final

from heliograph.portal.languages import marked

ADVICE: Final = {
    "carrier_rejected": marked(
        "The mobile network did not take this message. Often it does not know the number, or does"
        " not allow this sender ID there. Check both before you send again."
    ),
    "undeliverable": marked(
        "The mobile network took this message and could not deliver it. Often the number is not in"
        " use any more. Check it with its owner."
    ),
    "expired": marked(
        "The phone could not be reached before the message's time was over. Often it was switched"
        " off. Send again later, or with a longer validity."
    ),
    "rejected": marked(
        "The mobile network refused to deliver this message. Often that is because of its text or"
        " its sender ID. Ask the operator of this service what the network allows."
    ),
    "unknown": marked(
        "Nobody can say whether this message arrived: the mobile network never told. Before you"
        " send it again, think of the person who may get it twice."
    ),
    "canceled": marked("This message was canceled before it was sent. Nothing has to be done."),
    "blocked": marked(
        "The owner of this number wants no texts from you. Send none again unless he or she asks"
        " for them."
    ),
    "no_route": marked(
        "No mobile network is connected for this number any more. Ask the operator of this service."
    ),
}
