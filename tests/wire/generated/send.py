"""Sends a text with a client that openapi-python-client made, and prints the results."""

import json
import os
from uuid import uuid4

from heliograph_api import AuthenticatedClient
from heliograph_api.api.messages import get_messages_id, post_sms_send
from heliograph_api.models.credits_error_response import CreditsErrorResponse
from heliograph_api.models.error_response import ErrorResponse
from heliograph_api.models.get_messages_id_response_200 import GetMessagesIdResponse200
from heliograph_api.models.post_sms_send_response_200 import PostSmsSendResponse200
from heliograph_api.models.send_form import SendForm

client = AuthenticatedClient(base_url=os.environ["API_URL"], token=os.environ["API_KEY"])


def send(
    sender: str, recipient: str
) -> PostSmsSendResponse200 | ErrorResponse | CreditsErrorResponse | None:
    form = SendForm(sender=sender, message="Your order 1042 is on its way.", recipients=[recipient])
    return post_sms_send.sync(client=client, body=form, idempotency_key=str(uuid4()))


sent = send("SANDBOX", "233201234567")
assert isinstance(sent, PostSmsSendResponse200)
message_id = sent.data.message_ids[0]
assert message_id is not None
found = get_messages_id.sync(message_id, client=client)
assert isinstance(found, GetMessagesIdResponse200)
refused, short = send("NOBODY", "233201234567"), send("SANDBOX", "233201234004")
assert isinstance(refused, ErrorResponse)
assert isinstance(short, CreditsErrorResponse)
print(
    json.dumps(
        {
            "id": message_id,
            "status": found.data.timeline[0].status.value,
            "refused": refused.error.reason.value,
            "needed": short.error.required,
        }
    )
)
