"""What tests share, and how they ask servers."""

import ast

from tests.support.sources import ROOT, sources

TESTS = ROOT / "tests"
READS_AUTHORITIES = {"get", "post", "put", "delete", "request", "stream", "Client"}


def test_no_test_reads_certificate_authorities_to_ask_a_server_without_tls() -> None:
    """That costs each call 25 ms of a processor (tests/support/plain_http.py)."""
    calls = [
        f"tests/{source.path}:{node.lineno}: httpx.{node.attr}; call tests.support.plain_http"
        for source in sources(TESTS)
        if source.path != "support/plain_http.py"
        for called in ast.walk(source.tree)
        if isinstance(called, ast.Call) and isinstance(node := called.func, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "httpx"
        if node.attr in READS_AUTHORITIES
    ]
    assert not calls, "\n".join(calls)
