"""Describes GET and POST /keywords, and DELETE /keywords/{id}."""

from typing import Final

from heliograph.api.openapi.parts import (
    CURSOR,
    CUSTOMER_ID,
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    Json,
    Operation,
    ResponseLink,
    a_list,
    always,
    example_id,
    flag,
    form,
    identity,
    limit,
    moment,
    one_of,
    one_record,
    path_id,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.inbound.keywords import NUMBER_MAX, KeywordAction, KeywordLanguage
from heliograph.inbound.tables import KEYWORD_MAX
from heliograph.text import SEGMENTS_MAX

TAG: Final = "Keywords"

_ACTION: Final = "What the keyword does. `none` only answers, or marks the text."
_REPLY: Final = f"What it is answered with, at most {SEGMENTS_MAX} segments."
_LANGUAGE: Final = "The language of the built-in answer (ISO 639-1)."

SCHEMAS: Final[dict[str, Json]] = {
    "InboundKeyword": record(
        "A word that does something when a handset sends it to a number of yours.",
        id=identity("kw", "The keyword's id."),
        number=text("The number that it is for. Null: all your numbers.", nullable=True),
        keyword=text("The word, as it was written."),
        action=one_of(KeywordAction, _ACTION),
        reply=text(f"{_REPLY} Null: the built-in answer of its action.", nullable=True),
        language=one_of(KeywordLanguage, _LANGUAGE, nullable=True),
        sandbox=flag("Whether it is one of the sandbox."),
        created_at=moment("When it was added."),
    ),
    "KeywordForm": form(
        "A keyword to be added or changed.",
        required=("keyword",),
        keyword=text(
            "The word, or up to four. Case, accents and what surrounds it do not count.",
            minLength=1,
            maxLength=KEYWORD_MAX,
        ),
        number=text(
            "The number that it is for, by its digits or its id. Without it: all your numbers.",
            nullable=True,
            maxLength=NUMBER_MAX,
        ),
        action=one_of(
            KeywordAction,
            f"{_ACTION} Without it: what a built-in word does anyhow, else `none`. A built-in word"
            " that opts out always does.",
            nullable=True,
        ),
        reply=text(f"{_REPLY} It costs as any text.", nullable=True, minLength=1),
        language=one_of(KeywordLanguage, _LANGUAGE, nullable=True),
        customer_id=CUSTOMER_ID_FIELD,
    ),
    "KeywordDeleted": record(
        "A keyword that is gone.",
        id=identity("kw", "The keyword's id."),
        deleted=always(True, "Always true."),
    ),
}

_EXAMPLE: Final[Json] = {
    "id": example_id("kw"),
    "number": None,
    "keyword": "OFFERS",
    "action": "none",
    "reply": "This week: rice at 10 % less. Reply STOP to get no more texts.",
    "language": None,
    "sandbox": False,
    "created_at": EXAMPLE_AT,
}
_SAVED: Final[Json] = {
    "type": "object",
    "required": ["data", "created"],
    "properties": {
        "data": ref("InboundKeyword"),
        "created": flag("False if the keyword existed and was changed."),
    },
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/keywords"): Operation(
        TAG,
        "List keywords",
        "Lists your own keywords of this mode, newest first. The built-in words, such as STOP, are"
        " not among them.",
        a_list(ref("InboundKeyword")),
        {"data": [_EXAMPLE], "next_cursor": None},
        parameters=(limit(), CURSOR, CUSTOMER_ID),
        reasons=("no_such_record",),
    ),
    ("POST", "/keywords"): Operation(
        TAG,
        "Add or change a keyword",
        "Adds a keyword, or changes what the one with this word and number does.",
        with_warnings(_SAVED),
        {"data": _EXAMPLE, "created": True},
        body=ref("KeywordForm"),
        body_example={"keyword": _EXAMPLE["keyword"], "reply": _EXAMPLE["reply"]},
        reasons=("no_such_record",),
        links=(ResponseLink("remove", ("DELETE", "/keywords/{id}"), "id", "/data/id"),),
    ),
    ("DELETE", "/keywords/{id}"): Operation(
        TAG,
        "Remove a keyword",
        "Removes a keyword. A built-in word does again what it does by itself.",
        one_record(ref("KeywordDeleted")),
        {"data": {"id": example_id("kw"), "deleted": True}},
        parameters=(path_id("The keyword's id.", example_id("kw")), CUSTOMER_ID),
    ),
}
