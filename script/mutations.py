"""The places of a module that can be changed, by its syntax: each mutation replaces one piece of text."""

import ast
from dataclasses import dataclass

KINDS = ("comparison", "logic", "constant", "statement", "return", "element")

_OPERATORS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
_WORDS = 3  # a text with so many words is for people
_TYPES = frozenset({"Annotated", "Callable", "Collection", "Literal", "Mapping", "Sequence"})
_MESSAGES = frozenset({"print", "tell", "_tell", "warn", "Option", "Argument"})


@dataclass(frozen=True)
class Mutation:
    """A piece of a module's text, as offsets in UTF-8, and its replacement."""

    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, text: str) -> str:
        """Return the module with this change."""
        data = text.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()


def mutations(text: str) -> list[Mutation]:
    """Return all mutations of a module, in the order of its text.

    Left out are docstrings, types, f-strings, and messages: the arguments of errors and of `tell`, and texts of several
    words.
    """
    finder = _Finder(text)
    finder.visit(ast.parse(text))
    return sorted(finder.mutations, key=lambda mutation: (mutation.start, mutation.end, mutation.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, text: str) -> None:
        self.mutations: list[Mutation] = []
        self._data = text.encode()
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))

    # Places

    def _at(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._at(node)
        return self._data[start:end].decode()

    def _put(self, kind: str, node: ast.expr | ast.stmt, after: str) -> None:
        start, end = self._at(node)
        self.mutations.append(Mutation(kind, node.lineno, start, end, self._text(node), after))

    # Left out

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit the body and the defaults; types are left out."""
        self._body(node.body)
        for default in (*node.args.defaults, *(given for given in node.args.kw_defaults if given)):
            self.visit(default)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit only the body."""
        self._body(node.body)

    def visit_Module(self, node: ast.Module) -> None:
        """Visit everything except imports."""
        self._body(node.body)

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_docstring and not isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value; the type is left out."""
        if node.value:
            self.visit(node.value)

    def visit_Import(self, node: ast.Import) -> None:
        """Leave imports out."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Leave imports out."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave f-strings out: most are messages."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Leave out expressions of types."""
        if getattr(node.value, "id", "") not in _TYPES:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Visit a call unless it makes a message."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _MESSAGES or name.endswith("Error") or name == "cast":
            return
        self.generic_visit(node)

    # Changes

    def visit_Compare(self, node: ast.Compare) -> None:
        """Negate a comparison."""
        if len(node.ops) == 1:
            start, end = self._at(node.left)[1], self._at(node.comparators[0])[0]
            between = self._data[start:end].decode()  # including the parentheses of the operands
            changed = between.replace(*_OPERATORS[type(node.ops[0])], 1)
            self.mutations.append(Mutation("comparison", node.lineno, start, end, between, changed))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Replace `and` by `or` and vice versa, and leave out each operand."""
        texts = [self._operand(value) for value in node.values]
        own, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._put("logic", node, f"({f' {other} '.join(texts)})")
        for number in range(len(texts)):
            left = texts[:number] + texts[number + 1 :]
            self._put("logic", node, f"({f' {own} '.join(left)})")
        self.generic_visit(node)

    def _operand(self, node: ast.expr) -> str:
        return f"({self._text(node)})" if isinstance(node, (ast.BoolOp, ast.NamedExpr, ast.IfExp)) else self._text(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave out a `not`."""
        if isinstance(node.op, ast.Not):
            self._put("logic", node, f"bool({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Let every item pass a filter."""
        for condition in node.ifs:
            self._put("logic", condition, f"({self._text(condition)}, True)[1]")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number, a truth value or a text."""
        match node.value:
            case bool():
                self._put("constant", node, str(not node.value))
            case int() | float():
                self._put("constant", node, repr(node.value + 1))
            case str() if node.value and len(node.value.split()) < _WORDS:
                self._put("constant", node, '""')

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out a call or a `yield`, unless it is a message for people."""
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in _MESSAGES:
                return
        self._put("statement", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Leave out an assignment to an attribute or a key."""
        if any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets):
            self._put("statement", node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Leave out the assignment."""
        self._put("statement", node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Continue instead of raising."""
        self._put("statement", node, "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """Continue with the rest of the loop body."""
        self._put("statement", node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        """Return None, or the negated value."""
        if node.value is None:
            self._put("statement", node, "pass")
            return
        if not _is_none(node.value):
            self._put("return", node, "return None")
        if isinstance(node.value, (ast.Compare, ast.BoolOp, ast.UnaryOp)) or _is_truth(node.value):
            self._put("return", node, f"return not ({self._text(node.value)})")
        elif empty := _empty(node.value):
            self._put("return", node, f"return {empty}")
        self.generic_visit(node)

    def visit_List(self, node: ast.List) -> None:
        """Leave out each element."""
        self._elements(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        """Leave out each element."""
        self._elements(node)

    def visit_Set(self, node: ast.Set) -> None:
        """Leave out each element."""
        self._elements(node)

    def _elements(self, node: ast.List | ast.Tuple | ast.Set) -> None:
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return
        brackets = {ast.List: "[]", ast.Tuple: "()", ast.Set: "{}"}[type(node)]
        for number in range(len(node.elts) if len(node.elts) > 1 else 0):
            left = [self._text(element) for element in (*node.elts[:number], *node.elts[number + 1 :])]
            comma = "," if isinstance(node, ast.Tuple) and len(left) == 1 else ""
            self._put("element", node, f"{brackets[0]}{', '.join(left)}{comma}{brackets[1]}")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Leave out each key."""
        items = [
            f"{self._text(key)}: {self._text(value)}" if key else f"**({self._text(value)})"
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        for number in range(len(items)):
            self._put("element", node, f"{{{', '.join(items[:number] + items[number + 1 :])}}}")
        self.generic_visit(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _empty(node: ast.expr) -> str:
    """Return the empty value of a non-empty display or comprehension; "" for other expressions."""
    match node:
        case ast.List(elts=[_, *_]) | ast.ListComp():
            return "[]"
        case ast.Dict(keys=[_, *_]) | ast.DictComp():
            return "{}"
        case ast.Tuple(elts=[_, *_]):
            return "()"
        case ast.Set() | ast.SetComp():
            return "set()"
    return ""
