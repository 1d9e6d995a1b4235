"""Writes a request in four languages: curl, Python, Node and PHP. Each sample is complete, and
needs nothing that the language does not come with.
"""

import json
import shlex
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

LANGUAGES: Final = {"curl": "curl", "python": "Python", "node": "Node", "php": "PHP"}


class CodeSample(NamedTuple):
    language: str
    name: str
    code: str


def code_samples(
    method: str,
    base: str,
    path: str,
    parameters: Sequence[Json] = (),
    body: Any = None,
    key: str | None = None,
) -> list[CodeSample]:
    """Returns the request of an example. `parameters` are as OpenAPI describes them. Those of
    the path are given, others are not. So no two samples share an Idempotency-Key: the second
    one would be answered as a repetition of the first, or refused. `key` is the API key that is
    written into the sample; without one it is read from the environment variable API_KEY.
    """
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    url = f"{base}{path}"
    codes = {
        "curl": _curl(method, url, body, key),
        "python": _python(method, url, body, key),
        "node": _node(method, url, body, key),
        "php": _php(method, url, body, key),
    }
    return [CodeSample(language, name, codes[language]) for language, name in LANGUAGES.items()]


def _curl(method: str, url: str, body: Any, key: str | None) -> str:
    lines = [
        f"curl {shlex.quote(url)}" if method == "GET" else f"curl -X {method} {shlex.quote(url)}",
        f'-H "Authorization: Bearer {key or "$API_KEY"}"',
    ]
    if body is not None:
        lines += [
            '-H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(body, indent=2, ensure_ascii=False))}",
        ]
    return " \\\n  ".join(lines)


def _python(method: str, url: str, body: Any, key: str | None) -> str:
    bearer = f'"Bearer {key}"' if key else "f\"Bearer {os.environ['API_KEY']}\""
    headers = [f'"Authorization": {bearer}']
    if body is not None:
        headers.append('"Content-Type": "application/json"')
    lines = [
        "import json",
        *([] if key else ["import os"]),
        "import urllib.error",
        "import urllib.request",
        "",
        "request = urllib.request.Request(",
        f'    "{url}",',
        f'    method="{method}",',
        "    headers={",
        *(f"        {header}," for header in headers),
        "    },",
    ]
    if body is not None:
        lines.append(f"    data=json.dumps({_literal(body, 4, _PYTHON)}).encode(),")
    return "\n".join(
        [
            *lines,
            ")",
            "try:",
            "    response = urllib.request.urlopen(request, timeout=30)",
            "except urllib.error.HTTPError as refused:",
            "    response = refused",
            "",  # so that it can be pasted into Python's prompt, too
            "print(response.status, json.load(response))",
        ]
    )


def _node(method: str, url: str, body: Any, key: str | None) -> str:
    given = {"Authorization": f"'Bearer {key}'" if key else "`Bearer ${process.env.API_KEY}`"}
    if body is not None:
        given["'Content-Type'"] = "'application/json'"
    lines = [
        f"const response = await fetch('{url}', {{",
        *([] if method == "GET" else [f"  method: '{method}',"]),
        "  headers: {",
        *(f"    {name}: {value}," for name, value in given.items()),
        "  },",
    ]
    if body is not None:
        lines.append(f"  body: JSON.stringify({_literal(body, 2, _NODE)}),")
    return "\n".join([*lines, "});", "console.log(response.status, await response.json());"])


def _php(method: str, url: str, body: Any, key: str | None) -> str:
    given = [
        f"'Authorization: Bearer {key}'" if key else "'Authorization: Bearer ' . getenv('API_KEY')"
    ]
    if body is not None:
        given.append("'Content-Type: application/json'")
    lines = [
        "<?php",
        f"echo file_get_contents('{url}', false, stream_context_create(['http' => [",
        f"    'method' => '{method}',",
        "    'timeout' => 30,",
        "    'ignore_errors' => true,  // the answer says what is wrong",
        "    'header' => [",
        *(f"        {header}," for header in given),
        "    ],",
    ]
    if body is not None:
        lines.append(f"    'content' => json_encode({_literal(body, 4, _PHP)}),")
    return "\n".join([*lines, "]])), PHP_EOL;"])


class _Spelling(NamedTuple):
    """Says how a language writes values. `of` stands between a key and its value."""

    true: str
    false: str
    null: str
    object: str
    key: str
    of: str
    quote: str


_PYTHON: Final = _Spelling(
    true="True", false="False", null="None", object="{}", key='"{}"', of=": ", quote='"'
)
_NODE: Final = _Spelling(
    true="true", false="false", null="null", object="{}", key="{}", of=": ", quote="'"
)
_PHP: Final = _Spelling(
    true="true", false="false", null="null", object="[]", key="'{}'", of=" => ", quote="'"
)


def _literal(value: Any, indent: int, spelling: _Spelling) -> str:
    """Writes a value as that language does, an object over several lines."""
    if isinstance(value, bool) or value is None:
        return {True: spelling.true, False: spelling.false, None: spelling.null}[value]
    if isinstance(value, str):
        return (
            spelling.quote
            + value.replace("\\", "\\\\").replace(spelling.quote, f"\\{spelling.quote}")
            + spelling.quote
        )
    if isinstance(value, list):
        return f"[{', '.join(_literal(item, indent, spelling) for item in value)}]"
    if isinstance(value, dict):
        room = " " * (indent + (2 if spelling is _NODE else 4))
        fields = [
            f"{room}{spelling.key.format(name)}{spelling.of}"
            f"{_literal(item, len(room), spelling)},\n"
            for name, item in value.items()
        ]
        return f"{spelling.object[0]}\n{''.join(fields)}{' ' * indent}{spelling.object[1]}"
    return str(value)
