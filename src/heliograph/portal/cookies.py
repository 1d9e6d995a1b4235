"""The cookies of the portal are each set and taken back in the same way."""

from starlette.responses import Response


def set_cookie(response: Response, cookie: str, value: str, *, kept_s: int | None = None) -> None:
    """Sets a cookie, which no script reads and no plain HTTP carries. It comes along when a link of
    another site is followed (lax), so that a bookmark or a mail leads where it should. `kept_s`
    says for how long it is kept; without it, the cookie is kept until the browser ends.
    """
    response.set_cookie(cookie, value, kept_s, path="/", secure=True, httponly=True, samesite="lax")


def drop_cookie(response: Response, cookie: str) -> None:
    """Takes a cookie back."""
    response.delete_cookie(cookie, path="/", secure=True, httponly=True, samesite="lax")


def sets_cookie(response: Response, cookie: str) -> bool:
    """Returns whether a response sets this cookie already."""
    return any(value.startswith(f"{cookie}=") for value in response.headers.getlist("set-cookie"))
