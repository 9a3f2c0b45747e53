"""The counts of `analysis.report` as text: at most 100 columns and 60 lines."""

from itertools import zip_longest

from ..analysis.formulas import shown

LETTERS = {
    "V": "words", "E": "embedding", "H": "hidden", "F": "feed-forward",
    "L": "layers", "N": "heads", "D": "width of a head", "M": "positions", "S": "segments",
}
SHARING = {"all": "all weights", "attention": "the attention's weights", "ffn": "the feed-forward's weights"}
TOTALS = {                                           # after which part each stands
    "feed-forward": ("= trunk", "trunk"),
    "pooler": ("= trunk + pooler", "trunk_and_pooler"),
    "sentence-order head": ("= trunk + pooler + heads", "everything"),
}
MODELS = {"this_model": "this model", "all_shared": "all shared", "none_shared": "none shared"}
SAVED = {
    "parameters": "parameters",
    "optimiser_bytes": "weights, gradients, two moments (Adam, LAMB)",
    "all_reduced_bytes": "gradients that machines add up in each step",
}
NOT_SAVED = {
    "forward_operations_per_token": "FLOPs per token, forward",
    "training_operations_per_token": "FLOPs per token, forward and backward",
    "activation_bytes": "activations kept for backward",
}
PAPER = {
    12: "The paper's 12M is trunk + pooler, rounded.",
    18: "The paper's 18M is trunk + pooler, rounded.",
    60: (
        "The paper says 60M. That fits if positions, segments and the embedding norm are H wide (59.7M with\n"
        "the pooler). In the released code they are E wide, as here."
    ),
    235: (
        "The paper says 235M, elsewhere 233M and 225M. With these sizes no way of counting gives 235M or\n"
        "233M. 225M fits if positions, segments and the embedding norm are H wide (224.6M with the pooler)."
    ),
    108: "The paper's 108M is the trunk, rounded. The released BERT has more words: --vocab-size 30522.",
    334: "The paper's 334M is the trunk, rounded. The released BERT has more words: --vocab-size 30522.",
}


def one_model(report):
    yield from title(report)
    yield ""
    yield from where_the_parameters_are(report)
    yield ""
    yield from two_savings(report)
    yield ""
    yield from what_sharing_saves(report)
    yield ""
    yield from memory_for_time(report)
    yield ""
    for left, right in zip_longest(where_the_operations_are(report), where_the_memory_is(report), fillvalue=""):
        yield f"{left:51}{right}".rstrip()
    yield ""
    yield "FLOPs: matrix products only. Formulas count multiply-adds of a sequence; times 2, divided by T."
    yield "Float32; 1 MB is 10^6 bytes. Memory for time: activations (plain: the layers'), then a whole step's."
    if report["paper_millions"]:
        yield from PAPER[report["paper_millions"]].split("\n")


def title(report):
    config, sizes = report["config"], report["sizes"]
    sharing = SHARING.get(config["sharing"], "nothing")
    groups = f" in {config['num_hidden_groups']} groups" if config["num_hidden_groups"] > 1 else ""
    yield f"{report['preset']}: {sizes['L']} layers{groups}, sharing {sharing}"
    for row in ("VEHF", "LNDMS"):
        yield "   ".join(f"{LETTERS[letter]} {letter} = {sizes[letter]:,}" for letter in row)


def where_the_parameters_are(report):
    yield f"{'WHERE THE PARAMETERS ARE':26}{'one set':20}{'sets':>5}{'parameters':>15}"
    for part in report["parts"]:
        share = part["parameters"] / report["totals"]["everything"]
        yield (
            f"  {part['name']:24}{shown(part['formula']):20}{part['sets']:5}{part['parameters']:15,}"
            f"{share:8.1%}  {'█' * round(24 * share)}"
        ).rstrip()
        if part["name"] in TOTALS:
            name, key = TOTALS[part["name"]]
            yield f"  {name:49}{report['totals'][key]:15,}"


def two_savings(report):
    word, layers = report["word_embedding"], report["this_model"]["layer_parameters"]
    embedding = "embedding: V×E + E×H, not V×H" if word["projection"] else "embedding: one table V×H, as E = H"
    yield f"{'THE TWO SAVINGS':36}{'this model':>15}{'without':>15}"
    for name, this, without in (
        (embedding, word["factorised"], word["one_table"]),
        ("layers: shared, not one set each", layers, report["none_shared"]["layer_parameters"]),
    ):
        yield f"  {name:34}{this:15,}{without:15,}   {how_many_fewer(this, without)}"


def how_many_fewer(this, without):
    if this == without:
        return "the same"
    return f"{without / this:.1f} times fewer" if this < without else f"{this / without:.1f} times more"


def what_sharing_saves(report):
    models = models_shown(report)

    def rows(names):
        for key, name in names.items():
            values = readable(key, [report[model][key] for model in models])
            yield f"    {name:47}" + "".join(f"{value:>15}" for value in values)

    yield f"{'WHAT SHARING SAVES, AND WHAT IT DOES NOT':51}" + "".join(f"{MODELS[model]:>15}" for model in models)
    yield "  Saved"
    yield from rows(SAVED)
    yield f"  Not saved, for {report['batch']} sequences of {report['length']} tokens"
    yield from rows(NOT_SAVED)


def models_shown(report):
    """This model, and those with other parameters."""
    this = report["this_model"]["parameters"]
    return [key for key in MODELS if key == "this_model" or report[key]["parameters"] != this]


def memory_for_time(report):
    """What each way of training needs: activations, and all that a step holds, by model."""
    models = models_shown(report)
    yield (f"{'MEMORY FOR TIME':31}{'fused':>11}{'plain':>11}" + "".join(f"{MODELS[model]:>13}" for model in models)
           + f"{'FLOPs':>7}")  # fmt: skip
    for row in report["memory_for_time"]:
        fused, plain = row["activation_bytes"], row["plain_bytes"]
        more = {model: (row["gradients"] - 1) * report[model]["all_reduced_bytes"] for model in models}
        whole = [report[model]["optimiser_bytes"] + more[model] + (fused or plain) for model in models]
        cells = [f"{'-' if size is None else readable('bytes', [size])[0]:>11}" for size in (fused, plain)]
        cells += [f"{readable('bytes', [size])[0]:>13}" for size in whole]
        yield f"  {row['name']:29}{''.join(cells)}{row['operations']:7.2f}"


def where_the_operations_are(report):
    """The left half: the products of a forward pass."""
    yield f"MILLION FLOPs PER TOKEN, FORWARD, P = {report['sizes']['P']}"
    total = sum(product["operations_per_token"] for product in report["products"])
    decimals = 1 if total >= 1e7 else 3
    for product in report["products"]:
        operations = product["operations_per_token"]
        name, formula = product["name"], shown(product["formula"])
        yield f"  {name:21}{formula:10}{operations / 1e6:8,.{decimals}f}{operations / total:7.1%}"
    yield f"  {'= forward':31}{total / 1e6:8,.{decimals}f}"


def where_the_memory_is(report):
    """The right half: what a layer keeps for backward."""
    L = report["sizes"]["L"]
    layer = sum(row["bytes"] for row in report["layer_keeps"])
    total = report["this_model"]["activation_bytes"]
    unit, letters = (1e6, "MB") if total < 1e12 else (1e9, "GB")
    yield f"{letters} A LAYER KEEPS FOR BACKWARD, B = {report['batch']}, T = {report['length']}"
    for row in report["layer_keeps"]:
        yield f"  {row['name']:27}{shown(row['formula']):11}{row['bytes'] / unit:9,.1f}"
    for name, size in (
        ("= one layer", layer),
        (f"{L - 1} layers, all but the last", (L - 1) * layer),
        ("the last, embedding, heads, in passing", total - (L - 1) * layer),
        ("= all that a step holds", total),
    ):
        yield f"  {name:38}{size / unit:9,.1f}"


def table(models):
    """A line for each model."""
    yield f"{'MODEL':24}{'V':>7}{'E':>7}{'H':>7}{'L':>4}{'trunk':>14}{'+ pooler':>14}{'+ heads':>14}{'paper':>8}"
    for name, model in models.items():
        if name.startswith("E=64 sharing=none"):
            yield ""
            yield "TABLES 3 AND 4 OF THE PAPER"
        paper = f"{model['paper_millions']}M" if model["paper_millions"] else ""
        yield (
            f"{name:24}{model['vocab_size']:7,}{model['embedding_size']:7,}{model['hidden_size']:7,}"
            f"{model['num_hidden_layers']:4}{model['trunk']:14,}{model['trunk_and_pooler']:14,}"
            f"{model['everything']:14,}{paper:>8}"
        ).rstrip()
    yield ""
    yield "The paper counts the trunk where nothing is shared, and trunk + pooler elsewhere. For its 60M and"
    yield "235M see --preset albert-xlarge-v2 and --preset albert-xxlarge-v2."


def readable(key, values):
    """The numbers of one row in one unit."""
    if "bytes" in key:
        unit, name = (1e9, " GB") if min(values) >= 1e9 else (1e6, " MB")
    elif "operations" in key:
        unit, name = 1e6, " million"
    else:
        return [f"{value:,}" for value in values]
    return [f"{value:,.{2 if value < 10 else 1 if value < 1000 else 0}f}{name}" for value in (v / unit for v in values)]
