"""Makes mutants of a source file from its syntax tree. It is pure."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# the negation of a test of these alone is the mutant that COMPARISONS makes of it
NEGATED: Final = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
SIGNS: Final[dict[type[ast.operator], type[ast.operator]]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
EXTREMES: Final = {"min": "max", "max": "min"}
ANNOTATIONS: Final = ("annotation", "returns")


class Mutant(NamedTuple):
    """Holds a source file with one fault. `before` and `after` are the statement that was
    changed, laid out in one line.
    """

    path: str
    line: int
    before: str
    after: str
    source: str  # the whole file, with the fault


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Returns every mutant of a file, in the order of its lines."""
    tree = ast.parse(source)
    original = ast.unparse(tree).splitlines()
    found = []
    for site in _sites(tree):
        for replacement in _replacements(site):
            site.put(replacement)
            whole = ast.unparse(tree)
            site.put(site.node)
            # laid out so, a statement or what stands before its colon is one line
            lines = zip(original, whole.splitlines(), strict=True)
            [(before, after)] = [(old, new) for old, new in lines if old != new]
            found.append(Mutant(path, site.line, before.strip(), after.strip(), whole))
    return sorted(found, key=lambda mutant: (mutant.path, mutant.line))


def sample(mutants: Sequence[Mutant], at_most: int, seed: int) -> list[Mutant]:
    """Returns at most so many of the mutants, in their order. The choice depends on the seed and on
    the statements that are changed, not on where these stand. So two versions of a file have the
    same mutants where their code is the same.
    """
    seen: Counter[str] = Counter()
    lots = []
    for place, mutant in enumerate(mutants):
        change = f"{mutant.before}\n{mutant.after}"
        seen[change] += 1
        lots.append((sha256(f"{seed}\n{change}\n{seen[change]}".encode()).digest(), place))
    return [mutants[place] for place in sorted(place for _, place in sorted(lots)[:at_most])]


class _MutationSite(NamedTuple):
    """Holds a node, and where it stands in the node above it."""

    parent: ast.AST
    field: str
    position: int | None  # in the field, where that is a list
    node: ast.AST
    line: int

    def put(self, node: ast.AST) -> None:
        if self.position is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.position] = node


def _sites(parent: ast.AST, line: int = 1) -> Iterator[_MutationSite]:
    """Yields every node below this one, but for those of annotations, which decide nothing."""
    for field, value in ast.iter_fields(parent):
        if field in ANNOTATIONS:
            continue
        nodes = value if isinstance(value, list) else [value]
        for index, node in enumerate(nodes):
            if not isinstance(node, ast.AST):
                continue
            at = getattr(node, "lineno", line)
            yield _MutationSite(parent, field, index if isinstance(value, list) else None, node, at)
            yield from _sites(node, at)


def _replacements(site: _MutationSite) -> Iterator[ast.AST]:
    node = site.node
    if isinstance(node, ast.expr):
        if _is_test(site) and not _has_its_negation(node):
            yield ast.UnaryOp(ast.Not(), node)
        yield from _expressions(node)
    elif isinstance(node, ast.AugAssign) and type(node.op) in SIGNS:
        yield ast.AugAssign(node.target, SIGNS[type(node.op)](), node.value)
    elif isinstance(node, ast.Return) and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Continue | ast.Break):
        yield ast.Pass()


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                other = [*node.ops[:index], COMPARISONS[type(operator)](), *node.ops[index + 1 :]]
                yield ast.Compare(node.left, other, node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in SIGNS:
            yield ast.BinOp(node.left, SIGNS[type(node.op)](), node.right)
        case ast.Constant() if type(node.value) is int:  # not bool
            yield ast.Constant(node.value + 1)
        case ast.Call(ast.Name(name)) if name in EXTREMES:
            yield ast.Call(ast.Name(EXTREMES[name]), node.args, node.keywords)


def _is_test(site: _MutationSite) -> bool:
    """Returns whether this decides what an `if`, a `while` or a comprehension does."""
    if site.field == "test":
        return not isinstance(site.parent, ast.Assert)
    return site.field == "ifs"


def _has_its_negation(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], NEGATED)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
