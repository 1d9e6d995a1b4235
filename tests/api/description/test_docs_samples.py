"""What /docs gives to copy works: its samples do in every language, and so do the checks of a
webhook's signature.
"""

import ast
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from heliograph import campaigns
from heliograph.requests import CodeSample
from heliograph.webhooks.sign import headers, new_secret
from heliograph.webhooks.signature_checks import SIGNATURE_CHECKS
from tests.support import plain_http
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.server import Server, serving
from tests.support.capability.campaigns import write_down

WITHIN_S = 60
RUN = {
    "curl": ["bash", "-c"],
    "python": [sys.executable, "-c"],
    "node": ["node", "--input-type=module", "-e"],
    "php": ["php", "-r"],
    "ruby": ["ruby", "-e"],
}
ASK = {  # with the case's body in hexadecimal digits, its signature and its secret
    "python": "\nimport sys\nprint(is_signed(bytes.fromhex(sys.argv[1]), *sys.argv[2:]))",
    "node": (
        "\nconst [body, ...more] = process.argv.slice(1);\nconsole.log(isSigned(Buffer.from(body,"
        " 'hex'), ...more));"
    ),
    "php": "\necho is_signed(hex2bin($argv[1]), $argv[2], $argv[3]) ? 'true' : 'false';",
    "ruby": "\nputs signed?([ARGV[0]].pack('H*'), ARGV[1], ARGV[2])",
}


@pytest.fixture(scope="module")
def server(
    new_database: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(new_database("sqlite"), tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture(scope="module")
def samples(server: Server) -> list[tuple[str, str]]:
    """Returns the language and the code of each sample on the page, for this server's address."""
    page = plain_http.get(f"{server.url}/docs").text.replace("http://127.0.0.1:8080", server.url)
    found = re.findall(r'<figure data-language="(\w+)">.*?<code>(.*?)</code>', page, re.DOTALL)
    return [(language, html.unescape(code)) for language, code in found]


def printed(language: str, code: str, *arguments: str, **env: str) -> str:
    """Returns what a program prints. `arguments` are those of the program, which in Node is a
    module here, and in PHP begins after its first line.
    """
    code = code.removeprefix("<?php\n").replace(
        "require('node:crypto')", "await import('node:crypto')"
    )
    command = [*RUN[language], code, *(["--"] if language == "node" else []), *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("language", ["curl", "python", "node", "php"])
def test_the_first_sample_sends(
    server: Server, samples: list[tuple[str, str]], language: str
) -> None:
    first = next(code for name, code in samples if name == language)
    assert "/sms/send" in first
    assert re.search(
        r"""success['"]?: ?true.*msg_[0-9a-z]{26}""",
        printed(language, first, API_KEY=server.cast.amina.key(sandbox=True)),
        re.DOTALL | re.IGNORECASE,
    )


def test_every_request_in_curl_succeeds(server: Server, samples: list[tuple[str, str]]) -> None:
    """Each is copied, and the id in its path is replaced by one that an answer before it gave, as
    the page asks. What deletes comes last.
    """
    amina = server.cast.amina
    key = amina.key(sandbox=True)
    campaign = write_down(amina.db, amina.account_id, sandbox=True, sender="SANDBOX")
    with amina.db.write() as tx:
        came = store_inbound(tx, amina.account_id, sandbox=True)
    given = {"cmp": campaigns.text_id(campaign), "inb": came}
    codes = sorted(
        (code for language, code in samples if language == "curl"),
        key=lambda code: "-X DELETE" in code,
    )
    assert len(codes) > 25
    for code in codes:
        first, *others = code.split("\n")
        for stand_in, prefix in re.findall(r"/(([a-z]+)_[0-9a-z]{26})\b", first):
            first = first.replace(stand_in, given[prefix])
        answer = json.loads(printed("curl", "\n".join([first, *others]), API_KEY=key))
        assert answer["success"] is True, (first, answer)
        told = json.dumps(answer)
        given |= {
            prefix: text
            for text, prefix in re.findall(r'"(?:id|message_id)": "(([a-z]+)_[0-9a-z]{26})"', told)
            if prefix != "cmp"
        }


@pytest.mark.parametrize("field", ["email", "purpose"])
def test_one_request_is_answered_in_every_language(
    server: Server, samples: list[tuple[str, str]], field: str
) -> None:
    """POST /contacts and POST /sender-ids are asked in one language after the other, and no request
    is taken for a repetition of another.
    """
    posts = [
        (language, code)
        for language, code in samples
        if re.search(rf"/api/v1/(contacts|sender-ids)\b(?!/).*\b{field}\b", code, re.DOTALL)
    ]
    assert [language for language, _ in posts] == ["curl", "python", "node", "php"]
    for language, code in posts:
        assert re.search(
            r"""success['"]?: ?true""",
            printed(language, code, API_KEY=server.cast.amina.key(sandbox=True)),
            re.IGNORECASE,
        ), language


def test_every_sample_in_python_can_be_read(samples: list[tuple[str, str]]) -> None:
    codes = [code for language, code in samples if language == "python"]
    assert len(codes) > 20
    for code in codes:
        ast.parse(code)


@pytest.mark.parametrize("check", SIGNATURE_CHECKS, ids=lambda check: check.name)
def test_a_signature_is_checked_as_the_page_says(
    samples: list[tuple[str, str]], check: CodeSample
) -> None:
    language, code = check.language, check.code
    assert (language, code) in samples
    secret, body = new_secret(), json.dumps({"name": "Kofi €"}, ensure_ascii=False).encode()
    signature = headers("evt_1", "message.sent", body, 1, secret)["X-Service-Signature"]
    cases = {
        (body, signature, secret): "true",
        (body + b" ", signature, secret): "false",
        (body, signature[:-1], secret): "false",
        (body, signature, new_secret()): "false",
    }
    for (sent, given, key), right in cases.items():
        assert (
            printed(language, code + ASK[language], sent.hex(), given, key).strip().lower() == right
        )
