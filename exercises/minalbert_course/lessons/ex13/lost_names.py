"""Why names are missing from what the variant of exercise 13 translates."""

from .torch_names import JOINED, MODULES

KINDS = {                                            # what one condition of the translation finds: {their name: ours}
    "layer.self_attn.in_proj_weight": lambda name: is_joined(name),
    "mlm_bias": lambda name: name == "mlm.bias",
    "word.weight": lambda name: is_table(name),
    "mlm_norm.weight": lambda name: is_norm(name),
    "mlm_dense.weight": lambda name: is_linear(name),
}  # fmt: skip
LINEAR_AS_NORM = "linear layers have the leaves of a norm: theirs are w and b, a norm's gain and bias"
NORM_AS_LINEAR = "norms have the leaves of a linear layer: theirs are gain and bias, a linear layer's w and b"
FIRST_DOT = "names are cut at the first dot; the leaf is what comes behind the last"


def is_joined(name):
    return name.startswith(tuple(f"encoder.attention.{part}." for part in JOINED))


def is_table(name):
    return name in ("embeddings.word", "embeddings.position", "embeddings.token_type")


def is_norm(name):
    return ".norm." in name


def is_linear(name):
    return name.endswith((".w", ".b")) and not is_joined(name)


def ours_of(name):
    """Our names of what stands under one of theirs."""
    module, _, leaf = name.rpartition(".")
    if module == "layer.self_attn" and leaf in ("in_proj_weight", "in_proj_bias"):
        return {f"encoder.attention.{part}.{'w' if leaf == 'in_proj_weight' else 'b'}" for part in JOINED}
    if name == "mlm_bias":
        return {"mlm.bias"}
    if module not in MODULES or leaf not in ("weight", "bias"):
        return set()
    leaves = {"weight": "gain", "bias": "bias"} if MODULES[module].endswith("norm") else {"weight": "w", "bias": "b"}
    return {MODULES[module] if is_table(MODULES[module]) else f"{MODULES[module]}.{leaves[leaf]}"}


def why_lost(params, right, state):
    """A cause, or None.   params: names of what was translated   right: those that are right   state: their names"""
    there, missing, extra = right & params, right - params, params - right
    if not missing:
        return None
    renamed = {LINEAR_AS_NORM: exchanged(filter(is_linear, right), {"w": "gain", "b": "bias"}),
               NORM_AS_LINEAR: exchanged(filter(is_norm, right), {"gain": "w", "bias": "b"})}  # fmt: skip
    if says := [says for says, names in renamed.items() if names & extra]:
        both = missing == {name for name in right if is_linear(name) or is_norm(name)}
        one = missing == set(filter(is_linear if says[0] == LINEAR_AS_NORM else is_norm, right))
        return "; ".join(says) if extra == set().union(*map(renamed.get, says)) and (both or one) else None
    return by_place(there, right, list(state)) or of_three(missing) or by_kind(missing, right)


def exchanged(names, leaves):
    """Names with other leaves."""
    parts = (name.rpartition(".") for name in names)
    return {f"{module}.{leaves[leaf]}" for module, _, leaf in parts}


def by_place(there, right, state):
    """Is it the place in the file that decides which names are there?"""
    n = len(state)
    ways = {"the first name of the file is left out": state[1:], "the last name of the file is left out": state[:-1],
            "of every two names of the file the second is left out": state[::2],
            "nothing but the last name of the file is there": state[-1:]} | {
        f"nothing but the first {f'{k} names' if k > 1 else 'name'} of the file is there": state[:k]
        for k in range(1, min(n, 4))
    }  # fmt: skip
    return next((says for says, names in ways.items() if there == ours_of_all(names) != right), None) if there else None


def ours_of_all(names):
    return set().union(*map(ours_of, names))


def of_three(missing):
    """Are parts of in_proj missing, and is another there?"""
    parts = [part for part in JOINED if f"encoder.attention.{part}.w" in missing]
    if 0 < len(parts) < 3 and missing == {f"encoder.attention.{part}.{leaf}" for part in parts for leaf in "wb"}:
        return f"of the three parts of in_proj {' and '.join(parts)} is left out"
    return None


def by_kind(missing, right):
    """Are all arrays missing that one condition, or some, should find?"""
    dotted = {name for name in right if name.startswith("encoder.")} | {"mlm.bias"}
    if missing == dotted:
        return f"perhaps: {FIRST_DOT}"
    lost = [theirs for theirs, belongs in KINDS.items() if missing >= set(filter(belongs, right)) != set()]
    if missing == {name for name in right if any(KINDS[theirs](name) for theirs in lost)} != right:
        return (f"perhaps: for {', '.join(lost)} and the like no condition is true, or one before theirs; "
                "try one name by itself")  # fmt: skip
    return None
