"""Which names that are bound outside of functions always mean the same, and which may change."""

import ast

from .allowed_names import NUMBERS, NUMPY, is_allowed_of_python

FUNCTION = ast.FunctionDef | ast.Lambda
COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}      # symtable's names for their scopes
OF_CHECK = {"check", "globals"}                      # names in a sheet's last lines


class GlobalNames:
    """The names of a file's AST that are bound outside of functions

    modules    {name: the module that it was imported as}
    fixed      names of imports, functions, classes, numbers, texts, tuples of them, and tables
    numbers    those of them that are numbers
    tables     those of them that are lists, sets or dicts of such values: nobody may write into them, nor hand them on
    variable   all others; a name that is bound more than once may be one of them and of the fixed ones, and is variable
    """

    def __init__(self, tree):
        self.fixed, self.numbers, self.tables, self.variable = set(), set(), set(), set()
        imports = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        self.modules = {alias.asname or alias.name: alias.name for alias in imports}
        nodes = list(outside_functions(tree))
        self.classify(nodes)
        self.fixed, self.numbers, self.tables = set(), set(), set()
        self.classify(nodes)                         # again: some names are used before they are known to be variable

    def classify(self, nodes):
        """Sort the names that these nodes bind into fixed, numbers, tables and variable."""
        fixed_targets = set()
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.fixed |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.fixed.add(node.name)
            elif isinstance(node, ast.ExceptHandler):
                self.variable.add(node.name)
            elif isinstance(node, ast.Assign):
                pairs = [pair for target in node.targets for pair in assigned(target, node.value)]
                fixed_targets |= {id(target) for target, value in pairs if self.is_fixed(value) or self.is_table(value)}
                self.numbers |= {target.id for target, value in pairs if self.is_number(value)}
                self.tables |= {target.id for target, value in pairs if self.is_table(value)}
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                (self.fixed if id(node) in fixed_targets else self.variable).add(node.id)

    def is_fixed(self, node):
        """An expression whose value nobody can write into"""
        if isinstance(node, ast.Tuple):
            return all(map(self.is_fixed, node.elts))
        is_fixed_name = isinstance(node, ast.Name) and node.id in self.fixed - self.variable
        return is_fixed_name or isinstance(node, ast.Constant | ast.JoinedStr | ast.Lambda) or self.is_number(node)

    def is_table(self, node):
        """A list, a set or a dict of such values"""
        if isinstance(node, ast.Dict):
            return all(key and self.is_fixed(key) for key in node.keys) and all(map(self.is_fixed, node.values))
        if isinstance(node, ast.List | ast.Set):
            return all(map(self.is_fixed, node.elts))
        return isinstance(node, ast.ListComp | ast.SetComp) and self.is_fixed(node.elt)

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

    def module_of(self, node):
        """The module of which this is an attribute"""
        return self.modules.get(getattr(getattr(node, "value", None), "id", None))

    def are_known(self, scope, in_function=False):
        """Is each global name bound, or Python's? And does it always mean the same, if a function reads it?

        scope: a symbol table of the module symtable
        """
        in_function = in_function or not (scope.get_type() == "module" or scope.get_name() in COMPREHENSIONS)
        bound = self.fixed | self.variable | OF_CHECK
        names = [symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()]
        changing = self.variable if in_function else set()
        known = all(name not in changing and (name in bound or is_allowed_of_python(name)) for name in names)
        return known and all(self.are_known(inner, in_function) for inner in scope.get_children())


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


def assigned(target, value):
    """(name, its value) of each name in an assignment; of those in a tuple if each has a value of its own there"""
    both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    pairs = zip(target.elts, value.elts, strict=True) if both else [(target, value)]
    return [pair for pair in pairs if isinstance(pair[0], ast.Name)]
