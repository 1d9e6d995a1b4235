"""Writes a request of the description in four languages: curl, Python, Node and PHP. Each sample is
complete, and runs with the key in `API_KEY`.
"""

import json
import shlex
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

LANGUAGES: Final = {"curl": "curl", "python": "Python", "node": "Node", "php": "PHP"}


class Sample(NamedTuple):
    language: str
    name: str
    code: str


def samples(method: str, base: str, path: str, parameters: list[Json], body: Any) -> list[Sample]:
    """Returns the request of an example. `parameters` are as OpenAPI describes them. Those of
    the path are given, others are not. So no two samples share an Idempotency-Key: the second
    one would be answered as a repetition of the first, or refused.
    """
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    url = f"{base}{path}"
    codes = {
        "curl": _curl(method, url, body),
        "python": _python(method, url, body),
        "node": _node(method, url, body),
        "php": _php(method, url, body),
    }
    return [Sample(language, name, codes[language]) for language, name in LANGUAGES.items()]


def _curl(method: str, url: str, body: Any) -> str:
    lines = [
        f"curl {url}" if method == "GET" else f"curl -X {method} {url}",
        '-H "Authorization: Bearer $API_KEY"',
    ]
    if body is not None:
        lines += [
            '-H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(body, indent=2, ensure_ascii=False))}",
        ]
    return " \\\n  ".join(lines)


def _python(method: str, url: str, body: Any) -> str:
    lines = [
        "import os",
        "import requests  # pip install requests",
        "",
        f"response = requests.{method.lower()}(",
        f'    "{url}",',
        '    headers={"Authorization": f"Bearer {os.environ[\'API_KEY\']}"},',
    ]
    if body is not None:
        lines.append(f"    json={_literal(body, 4, _PYTHON)},")
    return "\n".join(
        [*lines, "    timeout=30,", ")", "print(response.status_code, response.json())"]
    )


def _node(method: str, url: str, body: Any) -> str:
    given = {"Authorization": "`Bearer ${process.env.API_KEY}`"}
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


def _php(method: str, url: str, body: Any) -> str:
    given = ["'Authorization: Bearer ' . getenv('API_KEY')"]
    if body is not None:
        given.append("'Content-Type: application/json'")
    lines = [
        "<?php",
        f"$request = curl_init('{url}');",
        "curl_setopt_array($request, [",
        "    CURLOPT_RETURNTRANSFER => true,",
        *([] if method == "GET" else [f"    CURLOPT_CUSTOMREQUEST => '{method}',"]),
        "    CURLOPT_HTTPHEADER => [",
        *(f"        {header}," for header in given),
        "    ],",
    ]
    if body is not None:
        lines.append(f"    CURLOPT_POSTFIELDS => json_encode({_literal(body, 4, _PHP)}),")
    return "\n".join([*lines, "]);", "echo curl_exec($request);"])


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
    """A value as that language writes it, an object over several lines."""
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
