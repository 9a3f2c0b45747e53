"""Can the functions of a file keep anything from one call to the next? Its text may show that they cannot.

What is kept lies in a global variable that can be written into, in an attribute, in a default argument, in a class, a
file or another module, or in memory that nobody has filled. Functions without any of these need not be asked whether
one call depends on others. The rules refuse much that keeps nothing, such as most modules: that costs time alone. They
are made for what people write to remember something, not for what somebody hides on purpose.
"""

import ast
import builtins
import re
import symtable
import sys

import numpy as np

from .errors import CourseError
from .files import code, without_magics

MODULES = set("collections copy dataclasses fractions functools itertools json math numbers numpy typing".split())
OURS = set("""minalbert minalbert.errors minalbert.layers minalbert.layers.erf minalbert.optim minalbert_course.block
    minalbert_course.makers.small_language""".split())
FROM = MODULES | OURS | {"__future__", "collections.abc", "pathlib", "safetensors", "safetensors.numpy"}
ALIASES = {"np", "random"} | sys.stdlib_module_names         # modules that other modules have as attributes
BUILTINS = set("""abs all any bool bytes callable chr complex dict divmod enumerate filter float frozenset hasattr int
    isinstance issubclass iter len list map max min next object ord pow print property range repr reversed round set
    slice sorted staticmethod str sum tuple type zip __name__""".split())
READING = set("all any dict enumerate len list map reversed set sorted sum tuple zip".split())
NUMBERS = {"inf", "nan", "pi"}
FILLED = set("all any copyto max mean min nansum prod std sum var".split())              # with where=, too
NUMPY = NUMBERS | FILLED | set("""allclose amax amin apply_along_axis apply_over_axes arange argmax argmin argpartition
    argsort argwhere array array_equal asarray ascontiguousarray asfortranarray average bincount broadcast_to choose
    clip column_stack concatenate copy count_nonzero cumsum diag diagonal diff dot dtype einsum errstate expand_dims eye
    finfo flatnonzero flip fromiter full full_like hstack identity iinfo imag indices inner isclose isscalar ix_ linalg
    linspace moveaxis ndarray ndenumerate ndim ndindex newaxis nonzero ones ones_like outer pad put put_along_axis
    putmask r_ random ravel real repeat reshape result_type searchsorted select shape size sort split squeeze stack
    swapaxes take take_along_axis tensordot tile transpose tri tril triu unique unravel_index vdot vectorize vstack
    where zeros zeros_like""".split())
SEEDED = {"default_rng", "Generator", "PCG64", "SeedSequence"}       # of np.random
UNFILLED = {"empty", "empty_like", "ndarray"}        # called, they return memory as it was
INNER = ("_", "f_", "gi_", "tb_", "cr_", "ag_")      # attributes that lead to what all calls share
WRITING = set("""chmod dump hardlink_to mkdir open rename rmdir save save_file serialize_file symlink_to tofile touch
    unlink write_bytes write_text""".split())
LOOKING = {"count", "get", "index", "items", "keys", "values"}       # methods that leave a table as it was
DECORATORS = re.compile(r"property|staticmethod|(dataclasses\.)?dataclass(\(.*\))?")
DECORATING = {"property", "staticmethod", "dataclass"}
OF_CLASSES = {"__new__", "__class_getitem__", "__init_subclass__"}   # methods whose first argument is the class
BEYOND = ast.Global | ast.Match | ast.AsyncFunctionDef
FUNCTION = ast.FunctionDef | ast.Lambda
NAMING = ast.AnnAssign | ast.BinOp | ast.ClassDef | ast.ExceptHandler | ast.FunctionDef | ast.Raise | ast.arg
COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}      # as symtable calls their tables
LAST_LINES = re.compile(r"from minalbert_course import check|check\('[\w-]+', globals\(\)\)")
THERE = {"check", "globals"}


def is_stateless(path, functions):
    """True if these functions of a Python file or a notebook cannot keep anything; False if they might, as far as is
    known. functions: their names"""
    try:
        return shows_no_state("\n".join(map(without_magics, code(path))), functions)
    except (CourseError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def shows_no_state(text, functions):
    found = Statements(without_check(ast.parse(text)))
    return (found.variable.isdisjoint(functions) and all(map(found.allow, found.nodes))
            and all(found.of_names(symtable.symtable(text, "", "exec"))))  # fmt: skip


def without_check(tree):
    """Without a sheet's last lines, which hand all globals to the course's `check`."""
    rest = [node for node in tree.body if not is_of_check(node)]
    others = {getattr(node, key, None) for node in rest for node in ast.walk(node) for key in ("id", "name", "asname")}
    return tree if others & THERE else ast.Module(rest, [])


def is_of_check(node):
    return isinstance(node, ast.ImportFrom | ast.Expr) and LAST_LINES.fullmatch(ast.unparse(node))


class Statements:
    """What stands in a file: a method for each kind of node that is allowed at times; other kinds are, but for BEYOND

    modules    {name: the module that it was imported as}
    fixed      names outside of functions that mean the same for ever: of imports, functions, classes, numbers, texts,
               tuples of them, and tables
    numbers    those that are numbers
    tables     those of lists, sets and dicts of such values, which nobody may write into, nor hand on
    variable   other names outside of functions
    """

    def __init__(self, tree):
        self.fixed, self.numbers, self.tables, self.variable = set(), set(), set(), set()
        self.nodes, outside = list(ast.walk(tree)), list(outside_functions(tree))
        imports = [alias for node in self.nodes if isinstance(node, ast.Import) for alias in node.names]
        self.modules = {alias.asname or alias.name: alias.name for alias in imports}
        of_ours = [node for node in self.nodes if isinstance(node, ast.ImportFrom) and node.module in OURS]
        self.ours = {alias.asname or alias.name for node in of_ours for alias in node.names}
        self.roots = {id(node.value) for node in self.nodes if isinstance(node, ast.Attribute)}
        self.parents = {id(inner): node for node in self.nodes for inner in ast.iter_child_nodes(node)}
        kinds = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        self.classes, methods = {kind.name for kind in kinds}, [part for kind in kinds for part in ast.walk(kind)]
        self.outermost = {id(node) for node in outside + methods if isinstance(node, FUNCTION)}
        self.of_self = {id(node) for kind in kinds for node in attributes_of_self(kind)}
        self.bind(outside)

    def bind(self, nodes):
        found = set()
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.fixed |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.fixed.add(node.name)
            elif isinstance(node, ast.ExceptHandler):
                self.variable.add(node.name)
            elif isinstance(node, ast.Assign):
                pairs = [pair for target in node.targets for pair in assigned(target, node.value)]
                found |= {id(target) for target, value in pairs if self.is_fixed(value) or self.is_table(value)}
                self.numbers |= {target.id for target, value in pairs if self.is_number(value)}
                self.tables |= {target.id for target, value in pairs if self.is_table(value)}
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                (self.fixed if id(node) in found else self.variable).add(node.id)

    def is_fixed(self, node):
        """An expression with a value that nobody can write into"""
        if isinstance(node, ast.Tuple):
            return all(map(self.is_fixed, node.elts))
        of_fixed = isinstance(node, ast.Name) and node.id in self.fixed - self.variable
        return of_fixed or isinstance(node, ast.Constant | ast.JoinedStr | ast.Lambda) or self.is_number(node)

    def is_table(self, node):
        """A list, a set or a dict of such values"""
        if isinstance(node, ast.Dict):
            return all(key and self.is_fixed(key) for key in node.keys) and all(map(self.is_fixed, node.values))
        if isinstance(node, ast.List | ast.Set):
            return all(map(self.is_fixed, node.elts))
        return isinstance(node, ast.ListComp | ast.SetComp) and self.is_fixed(node.elt)

    def is_only_read(self, node):
        """Does a table stand where its entries are looked at, and not where somebody could write into it later?"""
        parent = self.parents[id(node)]
        if isinstance(parent, ast.Subscript):
            return node is parent.value and isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.Attribute):
            return parent.attr in LOOKING
        if isinstance(parent, ast.Call):
            return getattr(parent.func, "id", None) in READING
        iterated = isinstance(parent, ast.For | ast.comprehension) and node is parent.iter
        return iterated or isinstance(parent, ast.Compare | ast.Starred)

    def is_number(self, node):
        """Numbers, and what plain functions make of them; types of NumPy, too"""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int | float | complex)
        if isinstance(node, ast.Name):
            return node.id in {"float", "int"} | self.numbers - self.variable
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            return all(self.is_number(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
        if isinstance(node, ast.Call):
            return not node.keywords and all(map(self.is_number, (node.func, *node.args)))
        module = self.module_of(node)
        return module == "math" or (module == "numpy" and (node.attr not in NUMPY or node.attr in NUMBERS))

    def is_only_named(self, node):
        """Is a class called, asked for or annotated, and not handed on as a value, whose attributes could be set?"""
        parent = self.parents[id(node)]
        if isinstance(parent, ast.Tuple):            # isinstance(x, (A, B)), tuple[A, B]
            node, parent = parent, self.parents[id(parent)]
        if isinstance(parent, ast.Call):
            return node is parent.func or getattr(parent.func, "id", None) in ("isinstance", "issubclass")
        if isinstance(parent, ast.Subscript):
            return node is parent.slice
        return isinstance(parent, NAMING) and node is not getattr(parent, "value", None)

    def module_of(self, node):
        """The module of which this is an attribute"""
        return self.modules.get(getattr(getattr(node, "value", None), "id", None))

    def of_names(self, table, in_function=False):
        """Is each global name bound, or Python's? And does it always mean the same, if a function reads it?"""
        in_function = in_function or not (table.get_type() == "module" or table.get_name() in COMPREHENSIONS)
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if symbol.is_global():
                yield not in_function if name in self.variable else name in self.fixed | THERE or is_known(name)
        for inner in table.get_children():
            yield from self.of_names(inner, in_function)

    def allow(self, node):
        allow = getattr(self, type(node).__name__, None)
        return not isinstance(node, BEYOND) and (allow is None or allow(node))

    def Import(self, node):
        return all(alias.name in MODULES for alias in node.names)

    def ImportFrom(self, node):
        names = {alias.name for alias in node.names}
        if node.module == "numpy":
            return all(map(of_numpy, names)) and names.isdisjoint(UNFILLED | ALIASES)
        if (DECORATING & names and node.module != "dataclasses") or DECORATING & {alias.asname for alias in node.names}:
            return False
        tables = {name for name in names if name == "*" or name.isupper()}
        return node.module in FROM and not tables and names.isdisjoint(WRITING | ALIASES - {node.module})

    def ClassDef(self, node):
        """With nothing that its objects share and could write into"""
        values = [part.value for part in node.body if isinstance(part, ast.Assign | ast.AnnAssign | ast.Expr)]
        plain = (ast.Assign, ast.AnnAssign, ast.Expr, ast.FunctionDef, ast.Pass)
        return (not node.keywords and all(isinstance(part, plain) for part in node.body) and decorated_plainly(node)
                and all(isinstance(base, ast.Name | ast.Attribute) for base in node.bases)
                and UNFILLED.isdisjoint(getattr(base, "attr", None) for base in node.bases)
                and all(value is None or self.is_fixed(value) for value in values))  # fmt: skip

    def FunctionDef(self, node):
        return decorated_plainly(node) and node.name not in COMPREHENSIONS | DECORATING and self.Lambda(node)

    def Lambda(self, node):
        """A default is made once and stays; nobody may write into it. Each call makes those of its inner functions."""
        return id(node) not in self.outermost or all(map(self.is_fixed, defaults_of(node)))

    def Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            return node.id not in DECORATING
        if node.id in self.tables:
            return self.is_only_read(node)
        if node.id in self.classes:
            return self.is_only_named(node)
        return node.id != "globals" and (node.id not in self.modules or id(node) in self.roots)

    def Attribute(self, node):
        if node.attr.startswith(INNER) or node.attr in WRITING:
            return False
        if not isinstance(node.ctx, ast.Load):
            return id(node) in self.of_self
        if node.attr == "random":                    # a generator's method; or NumPy's module, for a seeded generator
            parent = self.parents[id(node)]
            return isinstance(parent, ast.Call) or getattr(parent, "attr", None) in SEEDED
        module = self.module_of(node)
        if module == "numpy":
            return of_numpy(node.attr) and (node.attr != "ndarray" or self.is_only_named(node))
        ours = getattr(node.value, "id", None) in self.ours and node.value.id.islower()
        return not ours and (module is None or node.attr not in ALIASES - {module})

    def Call(self, node):
        """Not of what leaves memory as it was, nor of a generator without a seed"""
        name, given = getattr(node.func, "attr", getattr(node.func, "id", None)), list(map(constant, node.args))
        named = {keyword.arg: constant(keyword.value) for keyword in node.keywords}
        if name in SEEDED and (not given or given[0] is None):
            return False
        if name in UNFILLED or "empty" in (*given, *named.values()) or (None in named and self.module_of(node.func)):
            return False
        return "where" not in named or name in FILLED or named.get("out") is not None


def outside_functions(node):
    """All nodes but those in functions and classes, each before those in it"""
    for inner in ast.iter_child_nodes(node):
        yield inner
        if isinstance(inner, FUNCTION):
            yield from (part for default in defaults_of(inner) for part in ast.walk(default))
        elif not isinstance(inner, ast.ClassDef):
            yield from outside_functions(inner)


def defaults_of(function):
    return function.args.defaults + [default for default in function.args.kw_defaults if default]


def attributes_of_self(kind):
    """The attributes of the object itself in the methods of a class"""
    for method in kind.body:
        if not isinstance(method, ast.FunctionDef) or not method.args.args or method.name in OF_CLASSES:
            continue
        own, nodes = method.args.args[0].arg, list(ast.walk(method))
        bound_again = any(getattr(node, "id", None) == own and not isinstance(node.ctx, ast.Load) for node in nodes)
        if not method.decorator_list and not bound_again:
            yield from (node for node in nodes
                        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == own)  # fmt: skip


def decorated_plainly(node):
    return all(DECORATORS.fullmatch(ast.unparse(decorator)) for decorator in node.decorator_list)


def assigned(target, value):
    """(name, its value) of each name in an assignment; of those in a tuple if each has a value of its own there"""
    both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    pairs = zip(target.elts, value.elts, strict=True) if both else [(target, value)]
    return [pair for pair in pairs if isinstance(pair[0], ast.Name)]


def constant(node):
    """Its value, of a constant; else the node"""
    return node.value if isinstance(node, ast.Constant) else node


def of_numpy(name):
    found = getattr(np, name, None)
    return name in NUMPY or isinstance(found, np.ufunc) or (isinstance(found, type) and issubclass(found, np.generic))


def is_known(name):
    found = getattr(builtins, name, None)
    return name in BUILTINS or (isinstance(found, type) and issubclass(found, BaseException))

