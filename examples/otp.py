"""Sends a one-time password and verifies what comes back. It needs Python 3.11 or newer, and
nothing else.

    API_KEY=sk_test_… python examples/otp.py 233201234567

With a sandbox key nothing is sent, and the code is 123456. API_URL is the service's address,
http://127.0.0.1:8080 unless it is set.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

BASE_URL = os.environ.get("API_URL", "http://127.0.0.1:8080") + "/api/v1"
TIMEOUT_S = 15


def post(path: str, body: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Returns status and body of the answer, whether it is a success or not."""
    headers = {
        "Authorization": f"Bearer {os.environ['API_KEY']}",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(BASE_URL + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def main(phone: str) -> int:
    status, sent = post("/otp/send", {"phone": phone})
    # 429: a code was sent a moment ago, or too often, or too many wrong ones were given
    if status != 200:
        print(f"No code was sent: {sent['message']}")
        return 1
    print(
        f"A code is on its way to {sent['data']['phone']}; it is valid until"
        f" {sent['data']['expires_at']}."
    )
    while True:
        status, answer = post("/otp/verify", {"phone": phone, "code": input("Code: ").strip()})
        if status == 200:  # only the right code is ever answered so
            print(f"Verified at {answer['data']['verified_at']}.")
            return 0
        print(answer["message"])
        if (
            answer["error"]["reason"] != "otp_incorrect"
            or answer["error"]["attempts_remaining"] == 0
        ):
            return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
