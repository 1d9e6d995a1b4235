"""The headers of a webhook are verified by npm `standardwebhooks`."""

import json
import subprocess
import time
from pathlib import Path

from heliograph.webhooks.sign import headers, new_secret
from tests.support.services import node

FOLDER = Path(__file__).parents[1] / "standardwebhooks"
BODIES = [b"{}", '{"message": "5 € ☎ \\u0001"}'.encode(), b'{"message": "' + b"a" * 20_000 + b'"}']
NODE_S_MAX = 30


def verified_by_node(cases: list[tuple[str, bytes, dict[str, str]]]) -> list[bool]:
    """Returns whether each (secret, body, headers) is verified."""
    node.ensure_modules(FOLDER)
    asked = "".join(
        json.dumps({"secret": secret, "body": body.decode(), "headers": sent}) + "\n"
        for secret, body, sent in cases
    )
    done = subprocess.run(
        ["node", str(FOLDER / "verify.js")],
        input=asked,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=NODE_S_MAX,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_node_verifies_with_the_secret_with_both_while_rotating_and_with_no_other() -> None:
    now_s, old, new, other = int(time.time()), new_secret(), new_secret(), new_secret()
    cases, expected = list[tuple[str, bytes, dict[str, str]]](), list[bool]()
    for body in BODIES:
        for former, good in ((None, (new,)), (old, (old, new))):
            sent = headers(
                "evt_01m7xjf7d0e0096sn80kyqrthc", "message.sent", body, now_s, new, former
            )
            cases += [(secret, body, sent) for secret in (old, new, other)]
            expected += [secret in good for secret in (old, new, other)]
            cases.append((new, body + b" ", sent))
            expected.append(False)
    assert verified_by_node(cases) == expected
