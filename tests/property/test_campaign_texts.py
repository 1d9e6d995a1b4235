"""What is written with doubled braces in a template is read as it was meant, and filling in puts
values where they belong, and nothing else.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.campaigns.template import (
    EMPTY_TEXT,
    PLACEHOLDERS_MAX,
    TOO_MANY_SEGMENTS,
    FilledText,
    Placeholder,
    counted,
    parse,
    read_template,
)
from heliograph.text import SEGMENTS_MAX, count_segments

SENDABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
LITERAL = st.text(SENDABLE | st.sampled_from("{}"), min_size=1)
NAME = st.text(
    st.characters(categories=["L", "N", "Zs"]) | st.sampled_from("_-."), min_size=1, max_size=64
).filter(lambda name: name == name.strip() and name.isprintable())
DEFAULT = st.text(SENDABLE.filter(lambda character: character not in "{}"))
PARTS = st.lists(LITERAL | st.builds(Placeholder, NAME, DEFAULT), max_size=20)


def source_of(part: str | Placeholder) -> str:
    if isinstance(part, Placeholder):
        return f"{{{part.name}|{part.default}}}" if part.default else f"{{{part.name}}}"
    return part.replace("{", "{{").replace("}", "}}")


@given(PARTS, st.dictionaries(NAME, st.text(SENDABLE)))
# what is filled in is not read again
@example(["{", Placeholder("name", ""), "}"], {"name": "{phone}"})
def test_a_template_is_filled_in_as_it_was_written(
    parts: list[str | Placeholder], values: dict[str, str]
) -> None:
    template = parse("".join(map(source_of, parts)))
    assert template.fill(values) == "".join(
        part if isinstance(part, str) else values.get(part.name) or part.default for part in parts
    )
    assert template.names == tuple(
        dict.fromkeys(part.name for part in parts if isinstance(part, Placeholder))
    )
    assert (template.plain is None) == bool(template.names)


@given(st.text(st.sampled_from("{}|ab "), max_size=30))
def test_any_text_is_a_template_or_is_refused_with_the_place_of_what_is_wrong(source: str) -> None:
    told = ""
    try:
        template = parse(source)
    except ValueError as error:
        told = str(error)
    if told:
        assert "at character" in told
    else:
        assert template.plain is None or source == template.plain.replace("{", "{{").replace(
            "}", "}}"
        )


@given(st.text(SENDABLE, max_size=1_700))
def test_a_text_is_counted_by_the_limits_of_every_send(text: str) -> None:
    found = counted(text)
    if not text:
        assert found == EMPTY_TEXT
    elif count_segments(text).segments > SEGMENTS_MAX:
        assert found == TOO_MANY_SEGMENTS
    else:
        assert found == FilledText(text, *count_segments(text))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", "1 to 4000 characters, not 0"),
        ("a" * 4_001, "1 to 4000 characters, not 4001"),
        ("a\0", "U\\+0000, at character 2"),
        ("a\n{b|\r}", "U\\+000D, at character 6"),
        ("\x9b", "U\\+009B, at character 1"),
        ("\ud800", "U\\+D800, at character 1"),
        ("é" * 1_531, "takes 11 segments before anything is filled in; allowed: 10"),
        ("{a}" * (PLACEHOLDERS_MAX + 1), "at most 50 placeholders"),
        ("Hi {name", r"has a { at character 4 that is not part of a placeholder .* write two: {{$"),
        (
            "Hi }{name}",
            r"has a } at character 4 that is not part of a placeholder .* write two: }}$",
        ),
        ("{}", "whose name must have 1 to 64 printable characters, not ''"),
        (7, "a string"),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused_when_it_is_written_down(
    source: object, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        read_template(source)
