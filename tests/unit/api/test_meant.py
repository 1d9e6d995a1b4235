"""Whoever asks for a path that is nearly one of ours is told that one."""

import time

import pytest

from heliograph.api.nearest_path import DESCRIBED, PathSuggestions

PAGES = ["/docs", "/healthz", "/api/v1/openapi.json"]
TABLE = PathSuggestions(
    {
        "/balance": ["GET", "HEAD"],
        "/sms/send": ["POST"],
        "/otp/send": ["POST"],
        "/otp/verify": ["POST"],
        "/messages/{id}": ["GET", "HEAD"],
        "/contacts": ["GET", "HEAD", "POST"],
        "/contacts/{id}": ["PUT", "DELETE"],
    }
)


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("POST", "/SMS/Send", "POST /api/v1/sms/send"),
        ("GET", "/api/v1/api/v1/sms/send/", "POST /api/v1/sms/send"),
        ("HEAD", "/balance/", "GET /api/v1/balance"),
        ("GET", "/messages/msg_1/", "GET /api/v1/messages/{id}"),
        ("POST", "/sms/sent", "POST /api/v1/sms/send"),
        ("POST", "/otp", "POST /api/v1/otp/send or POST /api/v1/otp/verify"),
        ("GET", "/otp", "POST /api/v1/otp/send or POST /api/v1/otp/verify"),
        ("POST", "/contacts/", "POST /api/v1/contacts"),
        ("GET", "/message/msg_1", "GET /api/v1/messages/{id}"),
    ],
)
def test_a_path_that_is_nearly_one_of_ours_is_named(method: str, path: str, named: str) -> None:
    assert (
        TABLE.not_found(method, path)
        == f"There is nothing at {'/api/v1' + path!r}. Did you mean {named}? {DESCRIBED}"
    )


@pytest.mark.parametrize("path", ["/", "/nothing", "/sms/send/" + "x" * 5_000])
def test_a_path_that_is_like_none_of_ours_names_none_and_is_cheap(path: str) -> None:
    before_s = time.process_time()
    for method in ("GET", "BREW"):
        named = TABLE.not_found(method, path)
        assert named.endswith(f". {DESCRIBED}")
        assert (
            TABLE.not_below_base(method, path, PAGES)
            == f"There is nothing here. The API is below /api/v1. {DESCRIBED}"
        )
    assert time.process_time() - before_s < 0.05
    assert len(named) < 300


@pytest.mark.parametrize("path", ["//sms//send", "/api/sms/send", "/v1/sms/send/"])
def test_elsewhere_a_path_of_the_api_is_named_with_its_place(path: str) -> None:
    assert "Did you mean POST /api/v1/sms/send? The API is below /api/v1." in TABLE.not_below_base(
        "POST", path, PAGES
    )


def test_a_method_that_a_path_above_or_below_answers_is_led_there() -> None:
    assert (
        TABLE.not_answered("DELETE", "/contacts", ["GET", "HEAD", "POST"])
        == "/api/v1/contacts answers GET, HEAD, POST. DELETE is answered at"
        f" /api/v1/contacts/{{id}}. {DESCRIBED}"
    )
    assert "POST is answered at /api/v1/contacts." in TABLE.not_answered(
        "POST", "/contacts/{id}", ["DELETE", "PUT"]
    )
    assert "is answered at" not in TABLE.not_answered("PATCH", "/contacts", ["GET", "HEAD", "POST"])
    assert (
        TABLE.not_answered("GET", "/sms/send", ["POST"])
        == f"/api/v1/sms/send answers POST. {DESCRIBED}"
    )
