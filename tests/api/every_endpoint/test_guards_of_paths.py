"""Every endpoint refuses a path, a method or a query that it does not take, and names what it
takes.
"""

import pytest

from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.requests_of import bearer, examples, is_answered, sent
from tests.support.api.service import Service

pytestmark = ON_SQLITE

EXAMPLES = examples()


def test_an_unknown_query_parameter_is_refused_and_the_allowed_ones_named(
    api: Service, amina: Actor
) -> None:
    for example in EXAMPLES:
        operation = api.contract.document["paths"][example.endpoint.path][
            example.endpoint.method.lower()
        ]
        reply = api.request(
            example.endpoint.method, amina, example.path, params={"surprise": "1"}, **example.sends
        )
        assert (reply.status, reply.reason, reply.bad_fields) == (
            400,
            "invalid_query",
            ["surprise"],
        ), str(example)
        for parameter in operation["parameters"]:
            if parameter["in"] == "query":
                assert parameter["name"] in reply.error["message"], (
                    str(example),
                    parameter["name"],
                )


def test_an_empty_filter_is_no_filter(api: Service, amina: Actor) -> None:
    """An empty one acts for nobody, so it is no filter without the permission for customer_id
    either.
    """
    for example in EXAMPLES:
        operation = api.contract.document["paths"][example.endpoint.path][
            example.endpoint.method.lower()
        ]
        names = [
            parameter["name"]
            for parameter in operation["parameters"]
            if parameter["in"] == "query" and parameter["name"] != "limit"
        ]
        if names:
            assert is_answered(
                api,
                amina.key(example.endpoint.permission),
                example,
                params=dict.fromkeys(names, ""),
            ), str(example)


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=1",
        "limit=%ff",
        "limit=%",
        "x=" + "1" * 9_000,
        "&".join(f"a{k}=1" for k in range(101)),
        "=1",
        "a%00=1",
    ],
)
def test_a_query_string_that_is_none_is_refused(api: Service, amina: Actor, query: str) -> None:
    for example in EXAMPLES:
        reply = api.request(
            example.endpoint.method, amina, f"{example.path}?{query}", **example.sends
        )
        assert (reply.status, reply.code, reply.reason) == (
            400,
            "INVALID_REQUEST",
            "invalid_query",
        ), str(example)
        assert ("has more than 100 parameters" in reply.error["message"]) == (
            query.count("&") == 100
        )


def test_an_empty_limit_is_an_integer_that_is_missing(api: Service, amina: Actor) -> None:
    for example in EXAMPLES:
        operation = api.contract.document["paths"][example.endpoint.path][
            example.endpoint.method.lower()
        ]
        if any(parameter["name"] == "limit" for parameter in operation["parameters"]):
            reply = api.request(example.endpoint.method, amina, f"{example.path}?limit=")
            assert (reply.status, reply.reason, reply.bad_fields) == (
                400,
                "invalid_query",
                ["limit"],
            ), str(example)
            assert "must be an integer from 1 to 1" in reply.error["message"]


def test_a_method_that_a_path_does_not_answer_is_405_and_the_others_named(
    api: Service, amina: Actor
) -> None:
    answered: dict[str, set[str]] = {}
    for example in EXAMPLES:
        answered.setdefault(example.path, set()).add(example.endpoint.method)
    for path, asked in answered.items():
        methods = {*asked, "HEAD"} if "GET" in asked else asked
        for method in {
            "GET",
            "POST",
            "PUT",
            "DELETE",
            "PATCH",
            "HEAD",
            "OPTIONS",
            "TRACE",
            "BREW",
        } - methods:
            reply = api.run(api.requested(method, amina.key(), path)) if method != "HEAD" else None
            response = (
                reply.response
                if reply
                else api.run(api.client.head(f"/api/v1{path}", headers=[bearer(amina.key())]))
            )
            assert response.status_code == 405, (method, path)
            assert response.headers["allow"] == ", ".join(sorted(methods))
            assert (
                reply is None or f"answers {', '.join(sorted(methods))}. " in reply.error["message"]
            )
            assert reply is None or reply.error["message"].endswith(
                "All paths are described at /docs."
            )
            assert sent(api, EXAMPLES[0]._replace(path=path), []).status == 401


def test_an_unknown_path_is_not_found_and_without_a_key_not_even_that(
    api: Service, amina: Actor
) -> None:
    for path in (
        "/",
        "/nothing",
        "/sms",
        "/sms/send/",
        "/SMS/SEND",
        "/balance/x",
        "/sms%2fsend",
        "/messages%2Fa",
        "/%00",
        "/" + "x" * 5_000,
    ):
        reply = api.get(amina, path)
        assert (reply.status, reply.code, reply.reason) == (404, "NOT_FOUND", "no_such_path"), path
        assert "/docs" in reply.error["message"]
        assert api.get(None, path).status == 401, path
    assert api.get(amina, "/messages/a%2fb").reason == "no_such_record", (
        "an encoded slash is part of the id"
    )


def test_every_path_is_named_to_whoever_nearly_asked_for_it(api: Service, amina: Actor) -> None:
    for path in {example.endpoint.path for example in EXAMPLES}:
        for nearly in (f"{path}/", f"/api/v1{path}"):
            assert (
                f" /api/v1{path}? " in api.get(amina, nearly.replace("{id}", "x")).error["message"]
            ), nearly
