"""The routes of the portal that are of an account, with things of an account to ask for."""

from typing import NamedTuple

from starlette.routing import Route

from heliograph.portal.portal import Portal


class There(NamedTuple):
    """What the account has: the parameters of paths that lead to it."""

    account: str
    message: str
    key: str
    endpoint: str
    campaign: str
    contact: str
    sender: str
    customer: str
    site: str
    phone: str = "233201234567"


class Asked(NamedTuple):
    """A page of the account, or a form of it."""

    method: str
    path: str


def asked(portal: Portal, there: There, **other: str) -> list[Asked]:
    return [asked_of(route, there, **other) for route in of_accounts(portal)]


def asked_of(route: Route, there: There, **other: str) -> Asked:
    path = route.path
    for name, value in (there._asdict() | other).items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, f"{route.path} has a parameter that this test does not know"
    return Asked("GET" if "GET" in (route.methods or ()) else "POST", path)


def of_accounts(portal: Portal) -> list[Route]:
    return [route for route in portal.routes if "{account}" in route.path]
