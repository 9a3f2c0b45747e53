"""Can the functions of a file keep anything from one call to the next? Its text may show that they cannot.

What is kept lies in a global variable that can be written into, in an attribute, in a default argument, in a class, a
file or another module, or in memory that nobody has filled. Functions without any of these need not be asked whether
one call depends on others. The rules refuse much that keeps nothing, such as most modules: that costs time alone. They
are made for what people write to remember something, not for what somebody hides on purpose.
"""

import ast
import re
import symtable

from .. import unfilled
from ..errors import CourseError
from ..files import code, without_magics
from . import allowed_names
from .allowed_names import ALIASES, FILLED, MODULES, PARTS_OF, is_allowed_of_numpy
from .global_names import COMPREHENSIONS, FUNCTION, OF_CHECK, GlobalNames, defaults_of, outside_functions

READING = set("all any dict enumerate len list map reversed set sorted tuple zip".split())
LOOKING = {"count", "get", "index", "items", "keys", "values"}       # methods that leave a table as it was
SEEDED = {"default_rng", "Generator", "PCG64", "SeedSequence"}       # of np.random
UNFILLED = {"empty", "empty_like", "ndarray"}        # called, they return memory as it was, but see `unfilled`
HARMLESS = {"__module__", "__name__", "__qualname__", "__mro__", "_asdict", "_fields", "_replace"}
INNER = ("_", "f_", "gi_", "tb_", "cr_", "ag_")      # attributes that lead to what all calls share
WRITING = set("""chmod dump hardlink_to mkdir open rename rmdir save save_file serialize_file symlink_to tofile touch
    unlink write_bytes write_text""".split())
DECORATORS = re.compile(r"property|staticmethod|(dataclasses\.)?dataclass(\(.*\))?")
DECORATING = {"property", "staticmethod", "dataclass"}
OF_CLASSES = {"__new__", "__class_getitem__", "__init_subclass__"}   # methods whose first argument is the class
NEVER_ALLOWED = ast.Global | ast.Match | ast.AsyncFunctionDef
NAMING = ast.AnnAssign | ast.BinOp | ast.ClassDef | ast.ExceptHandler | ast.FunctionDef | ast.Raise | ast.arg
ARRAYS = {"numpy", "cupy"}                           # modules
TO_READ = "r", "rb", "rt"                            # modes of open
LAST_LINES = re.compile(r"from minalbert_course import check|check\('[\w-]+', globals\(\)\)")


def is_stateless(path, functions):
    """True if these functions of a Python file or a notebook cannot keep anything; False if they might, as far as is
    known. functions: their names"""
    try:
        return shows_no_state("\n".join(map(without_magics, code(path))), functions)
    except (CourseError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def shows_no_state(text, functions):
    found = Statements(without_check(ast.parse(text)), functions)
    return (found.names.variable.isdisjoint(functions) and all(map(found.allow, found.nodes))
            and found.names.are_known(symtable.symtable(text, "", "exec")))  # fmt: skip


def without_check(tree):
    """Without a sheet's last lines, which hand all globals to the course's `check`."""
    rest = ast.Module([node for node in tree.body if not is_of_check(node)], [])
    others = {getattr(node, key, None) for node in ast.walk(rest) for key in ("id", "name", "asname")}
    return tree if others & OF_CHECK else rest


def is_of_check(node):
    return isinstance(node, ast.ImportFrom | ast.Expr) and LAST_LINES.fullmatch(ast.unparse(node))


class Statements:
    """The nodes of a file, and which are allowed: of a kind in NEVER_ALLOWED none, of one for which there is a method
    those of which it is true, of other kinds all.

    names      GlobalNames, of those that are bound outside of functions
    functions  names of those that are asked
    ours       names of what is imported from the library
    of_self    attributes of an object in its own methods
    """

    def __init__(self, tree, functions):
        self.functions = functions
        self.names, self.nodes = GlobalNames(tree), list(ast.walk(tree))
        imports = [node for node in self.nodes if isinstance(node, ast.ImportFrom)]
        self.ours = {alias.asname or alias.name for node in imports if node.module in allowed_names.OURS
                     for alias in node.names}  # fmt: skip
        self.roots = {id(node.value) for node in self.nodes if isinstance(node, ast.Attribute)}
        self.parents = {id(inner): node for node in self.nodes for inner in ast.iter_child_nodes(node)}
        kinds = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        self.classes, methods = {kind.name for kind in kinds}, [part for kind in kinds for part in ast.walk(kind)]
        outermost = [*outside_functions(tree), *methods]
        self.outermost = {id(node) for node in outermost if isinstance(node, FUNCTION)}
        self.of_self = {id(node) for kind in kinds for node in attributes_of_self(kind)}

    def is_only_read(self, node):
        """Does a table stand where its entries are looked at, and not where somebody could write into it later?"""
        parent = self.parents[id(node)]
        if isinstance(parent, ast.Subscript):
            return node is parent.value and isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.Attribute):
            return parent.attr in LOOKING
        if isinstance(parent, ast.Call):
            name = getattr(parent.func, "id", None)
            return name in READING - self.names.fixed - self.names.variable
        iterated = isinstance(parent, ast.For | ast.comprehension) and node is parent.iter
        return iterated or isinstance(parent, ast.Compare | ast.Starred)

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

    def looks_up_arrays(self, node):
        """Is one of ARRAYS looked up in this `sys.modules`, by its name or by what one of the functions returns?"""
        parent, key = self.parents[id(node)], None
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
            key = parent.slice
        elif isinstance(parent, ast.Attribute) and parent.attr == "get":
            call = self.parents[id(parent)]
            key = call.args[0] if isinstance(call, ast.Call) and call.func is parent and call.args else None
        by_function = isinstance(key, ast.Call) and getattr(key.func, "id", None) in self.functions
        return by_function or constant(key) in ARRAYS or isinstance(parent, ast.Compare)

    def only_opens_to_read(self, node):
        call = self.parents[id(node)]
        if not isinstance(call, ast.Call) or node is not call.func or has_starred(call):
            return False
        modes = call.args[1:2] + [keyword.value for keyword in call.keywords if keyword.arg in ("mode", None)]
        return all(constant(mode) in TO_READ for mode in modes)

    def allow(self, node):
        allow = getattr(self, type(node).__name__, None)
        return not isinstance(node, NEVER_ALLOWED) and (allow is None or allow(node))

    def Import(self, node):
        return all(alias.name in MODULES for alias in node.names)

    def ImportFrom(self, node):
        names = {alias.name for alias in node.names}
        if node.module == "numpy":
            return all(map(is_allowed_of_numpy, names)) and names.isdisjoint(UNFILLED | ALIASES)
        if (DECORATING & names and node.module != "dataclasses") or DECORATING & {alias.asname for alias in node.names}:
            return False
        tables = {name for name in names if name == "*" or name.isupper()} | names & allowed_names.BY_TEXT
        return node.module in allowed_names.FROM and not tables and names.isdisjoint(WRITING | ALIASES - {node.module})

    def ClassDef(self, node):
        """With nothing that its objects share and could write into"""
        values = [part.value for part in node.body if isinstance(part, ast.Assign | ast.AnnAssign | ast.Expr)]
        plain = (ast.Assign, ast.AnnAssign, ast.Expr, ast.FunctionDef, ast.Pass)
        return (not node.keywords and all(isinstance(part, plain) for part in node.body) and decorated_plainly(node)
                and all(isinstance(base, ast.Name | ast.Attribute) for base in node.bases)
                and UNFILLED.isdisjoint(getattr(base, "attr", None) for base in node.bases)
                and all(value is None or self.names.is_fixed(value) for value in values))  # fmt: skip

    def FunctionDef(self, node):
        return decorated_plainly(node) and node.name not in COMPREHENSIONS | DECORATING and self.Lambda(node)

    def Lambda(self, node):
        """A default is made once and stays; nobody may write into it. Each call makes those of its inner functions."""
        return id(node) not in self.outermost or all(map(self.names.is_fixed, defaults_of(node)))

    def Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            return node.id not in DECORATING
        if node.id in self.names.tables:
            return self.is_only_read(node)
        if node.id in self.classes:
            return self.is_only_named(node)
        if node.id == "open":
            return self.only_opens_to_read(node)
        module = self.names.modules.get(node.id)
        return node.id != "globals" and (module is None or module in ARRAYS or id(node) in self.roots)

    def Attribute(self, node):
        if node.attr == "__dataclass_fields__":
            return self.is_only_read(node)
        if node.attr in WRITING | PARTS_OF.keys() or (node.attr.startswith(INNER) and node.attr not in HARMLESS):
            return False
        if not isinstance(node.ctx, ast.Load):
            return id(node) in self.of_self
        if node.attr == "random":                    # a generator's method; or NumPy's module, for a seeded generator
            parent = self.parents[id(node)]
            is_called = isinstance(parent, ast.Call) and parent.func is node
            return is_called or getattr(parent, "attr", None) in SEEDED
        module = self.names.module_of(node)
        if module in PARTS_OF:
            return node.attr in PARTS_OF[module] and (module != "sys" or self.looks_up_arrays(node))
        if node.attr == "ndarray":
            return self.is_only_named(node) or isinstance(self.parents[id(node)], ast.Compare)
        if module == "numpy":
            return is_allowed_of_numpy(node.attr) or node.attr in unfilled.NAMES
        if module == "cupy":
            return allowed_names.is_allowed_of_cupy(node.attr)
        if (module is None and allowed_names.is_forbidden_of_numpy(node.attr)) or node.attr == "np":
            return False                             # of NumPy under another name
        if module == "operator" and node.attr in allowed_names.BY_TEXT:
            return False
        ours = getattr(node.value, "id", None) in self.ours and node.value.id.islower()
        return not ours and (module is None or node.attr not in ALIASES - {module})

    def Call(self, node):
        """Not of what leaves memory as it was, nor of a generator without a seed"""
        name, given = getattr(node.func, "attr", getattr(node.func, "id", None)), list(map(constant, node.args))
        named = {keyword.arg: constant(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Call) and getattr(node.func.func, "id", None) == "type":
            return False                             # of an array's type, too
        if name in SEEDED and (not given or given[0] is None):
            return False
        starred = None in named and not isinstance(node.func, ast.Name)
        is_marked = name in unfilled.NAMES and self.names.module_of(node.func) == "numpy"
        if (name in UNFILLED and not is_marked) or "empty" in (*given, *named.values()) or starred:
            return False
        return "where" not in named or name in FILLED or named.get("out") is not None


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


def has_starred(call):
    return any(isinstance(argument, ast.Starred) for argument in call.args)


def constant(node):
    """Its value, of a constant; else the node"""
    return node.value if isinstance(node, ast.Constant) else node

