"""A function of a solution, and changes of its text that know what they change."""

import ast
from typing import Any, NamedTuple

OPERATORS, RIGHT = {}, {}                            # name -> a generator of (node, edits, what was done)


class Edit(NamedTuple):
    start: int                                       # letters of the whole text
    end: int
    text: str


def operator(name, among=OPERATORS):
    """A decorator: function(f) yields (node, edits, what was done)."""

    def add(function):
        among[name] = function
        return function

    return add


class Function:
    """node: the FunctionDef in `text`; given, made: {name of an argument or result: its value in the first check}"""

    edit = staticmethod(Edit)

    def __init__(self, lesson, text, node, module, given, made):
        self.lesson, self.text, self.node, self.module = lesson, text, node, module
        self.given, self.made = given, made
        self.name, self.body = node.name, without_docstring(node.body)
        self.starts = line_starts(text)
        self.nodes = [inner for statement in self.body for inner in walk(statement)]
        self.parent = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
        self.arguments = [argument.arg for argument in node.args.args]

    def all(self, *kinds):
        """The nodes of these kinds, in the order of the text."""
        return [node for node in self.nodes if isinstance(node, kinds)]

    def offset(self, line, column):
        """Python counts columns in bytes of UTF-8."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode())

    def span(self, node):
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node):
        while not hasattr(node, "lineno"):           # a comprehension's part has no place of its own
            node = self.parent[node]
        start, end = self.span(node)
        return self.text[start:end]

    def put(self, node, text):
        """An expression in the place of another."""
        return [Edit(*self.span(node), f"({text})")]

    def replace(self, node, text):
        """As it stands, without brackets."""
        return [Edit(*self.span(node), text)]

    def statements(self, node, text):
        """Statements, each on its line, in the place of another."""
        indent = " " * node.col_offset
        return [Edit(*self.span(node), f"\n{indent}".join(text.splitlines()))]

    def before(self, node, text):
        start = self.starts[node.lineno - 1]
        return [Edit(start, start, "".join(f"{' ' * node.col_offset}{line}\n" for line in text.splitlines()))]

    def at_start(self, text):
        return self.before(self.body[0], text)

    def above(self, text):
        """Before the function."""
        start = self.starts[self.node.lineno - 1]
        return [Edit(start, start, f"{text}\n\n\n")]

    def returns(self):
        """(the return statement, [its values])"""
        found = [node for node in self.all(ast.Return) if node.value is not None]
        return [(node, node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]) for node in found]

    def returned(self):
        """(name, node) of what is returned and is no cache, None or whole tuple of another function."""
        names = self.lesson.functions[self.name]
        for _, values in self.returns():
            if len(values) == len(names):
                yield from ((name, value) for name, value in zip(names, values, strict=True)
                            if not name.startswith("cache") and not is_none(value))  # fmt: skip


def walk(node):
    """The nodes in the order of the text; what stands in an f-string has no place of its own."""
    yield node
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from walk(child)


def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def without_docstring(body):
    return body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body


def line_starts(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def edited(text, edits):
    """The text with all of the edits; they do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class Mutant(NamedTuple):
    name: str                                        # ex05.attention_forward.axes.2.1
    lesson: Any
    operator: str
    function: str
    cause: str                                       # what was done
    text: str                                        # the whole file
