"""GET /api/v1/openapi.json and GET /docs need no key."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from heliograph.api.docs import docs_page
from tests.support.api.databases import ON_SQLITE
from tests.support.api.service import Service

pytestmark = ON_SQLITE


class Page(HTMLParser):
    """A page has elements with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_the_description_is_read_without_a_key(api: Service) -> None:
    reply = api.get(None, "/openapi.json")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert (reply.body["openapi"], reply.body["info"]["version"], reply.body["servers"]) == (
        "3.1.0",
        "1.0.0",
        [{"url": "/api/v1"}],
    )
    assert reply.body == api.contract.document


def test_the_page_shows_every_endpoint_and_needs_nothing_but_itself(api: Service) -> None:
    response = api.run(api.client.get("/docs"))
    assert (response.status_code, response.headers["content-type"]) == (
        200,
        "text/html; charset=utf-8",
    )
    page = Page(response.text)
    for endpoint in api.contract.endpoints:
        operation = api.contract.document["paths"][endpoint.path][endpoint.method.lower()]
        assert ("article", {"id": operation["operationId"]}) in page.elements
        assert operation["summary"] in response.text
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "form", "object"}
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {
        name
        for _, attributes in page.elements
        for name in attributes
        if name.startswith("on") or name in ("style", "src")
    }
    assert {attributes["href"] for tag, attributes in page.elements if tag == "a"} >= {
        "/api/v1/openapi.json"
    }


def test_every_link_of_the_page_leads_to_a_place_on_it(api: Service) -> None:
    page = Page(api.run(api.client.get("/docs")).text)
    places = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(places)) == len(places)
    links = {str(attributes["href"]) for tag, attributes in page.elements if tag == "a"} - {
        "/api/v1/openapi.json"
    }
    assert {link.removeprefix("#") for link in links} <= set(places)


def test_the_pages_policy_allows_its_own_style_and_script_and_nothing_else(api: Service) -> None:
    response = api.run(api.client.get("/docs"))
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        part = re.search(rf"<{kind}>(.*?)</{kind}>", response.text, re.DOTALL)
        assert part is not None
        digest = base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode()
        assert re.findall(rf"{kind}-src (.*?);", policy) == [f"'sha256-{digest}'"]
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"


def test_nothing_in_a_description_becomes_markup(api: Service) -> None:
    document = (
        json.dumps(api.contract.document)
        .replace("Bulk SMS", "<b>Bulk</b>")
        .replace("Sends one text", "`<i>` Sends <script>x</script>")
    )
    text = docs_page(document.encode()).decode()
    assert "&lt;b&gt;Bulk" in text
    assert "<code>&lt;i&gt;</code> Sends &lt;script&gt;" in text
    tags = [tag for tag, _ in Page(text).elements]
    assert (tags.count("script"), "b" in tags, "i" in tags) == (1, False, False)


def test_the_first_command_on_the_page_works_as_it_stands(api: Service) -> None:
    curl = re.search(
        r"curl http://127.0.0.1:8080/api/v1(\S+) -H &#34;Authorization: Bearer \$API_KEY&#34;",
        api.run(api.client.get("/docs")).text,
    )
    assert curl is not None
    assert api.get(api.amina, curl[1]).status == 200
