"""What tests share, and how they ask servers."""

import ast

from tests.support.sources import ROOT, sources

TESTS = ROOT / "tests"
PROGRAMS = {
    "tests.fuzz.target": "what make fuzz runs, and the test of its corpus",
    "tests.quick": "make quick, and the test of what it chooses",
}
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


def test_tests_share_what_stands_in_support_and_nothing_else() -> None:
    """A test file that others import from cannot be changed, moved or deleted by itself."""
    sideways = [
        f"tests/{source.path}:{line} imports {module}: move that to tests/support"
        for source in sources(TESTS)
        for node in ast.walk(source.tree)
        for line, module in _imported(node)
        if module.startswith("tests.") and not module.startswith("tests.support")
        if module not in PROGRAMS
    ]
    assert not sideways, "\n".join(sideways)


def _imported(node: ast.AST) -> list[tuple[int, str]]:
    """The line and the name of each module that it imports."""
    if isinstance(node, ast.Import):
        return [(node.lineno, alias.name) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.lineno, node.module or "")]
    return []
