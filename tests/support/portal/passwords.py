"""Sets passwords as users do in the portal, and signs in with them."""

from tests.support.portal.visitor import EMAIL, Visitor

GOOD = "purple kettle 41 sings"
BETTER = "green kettle 42 hums on"


def set_password(visitor: Visitor, password: str = GOOD) -> int:
    visitor.get("/portal/you")
    return visitor.post("/portal/you/password", {"password": password}).status_code


def sign_in(visitor: Visitor, password: str, **fields: str) -> int:
    visitor.get("/portal/sign-in")
    answer = visitor.post("/portal/sign-in", {"email": EMAIL, "password": password, **fields})
    visitor.page = answer
    return answer.status_code
