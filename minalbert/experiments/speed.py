"""The speed column of Table 2, by a model of two terms: arithmetic, and the bytes that many machines add up.

    time of a step = operations + c · bytes of gradients          both as multiples of BERT-large's

A network of c = 0 is infinitely fast: then ALBERT-large would be no faster than BERT-large, because it computes as
much. c is what makes ALBERT-large 1.7 times as fast, the paper's number; the other rows are then predictions.

`benchmarks/communication.py` times steps of the two base models: alone, on two ranks of one machine, and on two with a
link of 1 Gbit/s between them. Its lines, once stored, are shown here as well.
"""

from ..analysis.cost import all_reduced_bytes, training_operations
from ..config import PRESETS
from .experiment import Column, Experiment, Panel, Rule
from .results import stored

PAPER = {"BERT-base": 4.7, "BERT-large": 1.0, "ALBERT-base": 5.6, "ALBERT-large": 1.7, "ALBERT-xlarge": 0.6,
         "ALBERT-xxlarge": 0.3}
LENGTH = 512
FITTED = "ALBERT-large"


def costs():
    """{model: (operations, bytes)} of a step's tokens, as multiples of BERT-large's"""
    found = {name: (training_operations(PRESETS[name.lower()], LENGTH), all_reduced_bytes(PRESETS[name.lower()]))
             for name in PAPER}
    whole = found["BERT-large"]
    return {name: tuple(mine / its for mine, its in zip(both, whole, strict=True)) for name, both in found.items()}


def exact():
    """{model: what a step costs, and how many times as fast it is as BERT-large's}"""
    found = costs()
    operations, sent = found[FITTED]
    c = (1 - PAPER[FITTED] * operations) / (PAPER[FITTED] * sent - 1)            # (1 + c) / (operations + c sent) = 1.7
    exact = {name: {"operations": operations, "bytes": sent, "alone": 1 / operations,
                    "many": (1 + c) / (operations + c * sent)} for name, (operations, sent) in found.items()}
    return {name: values | times_as_fast(LINES).get(name, {}) for name, values in exact.items()}


def times_as_fast(lines):
    """{model: {place: how many times as fast as BERT-base}}"""
    taken = {(line["model"], line["place"]): line["seconds"] for line in lines}
    speeds = {}
    for (model, place), seconds in taken.items():
        speeds.setdefault(model, {})[place] = taken["BERT-base", place] / seconds
    return speeds


def within(names, factor):
    """A rule's value: positive if these predictions are nowhere as far from the paper's as this factor."""
    return lambda arms: factor - max(max(arms[name]["many"] / PAPER[name], PAPER[name] / arms[name]["many"])
                                     for name in names)


LINES = stored("speed")
HOW = "".join(f"""
        Measured on {line['date']}, with fused kernels, LAMB, 4 × 128 tokens and a core for each rank: the fastest of
        {line['rounds']} rounds. On one rank ALBERT-base is faster than by its operations. LAMB updates nine times as
        few weights there, and the words' head is narrower; which of them it is was not measured.
    """ for line in LINES[:1])
MEASURED = {place: Column(f"measured on {place}, BERT-base = 1", "{:.2f}")
            for place in dict.fromkeys(line["place"] for line in LINES)}
MEASURED_RULES = (
    Rule("measured on two ranks with 1 Gbit/s between them, ALBERT-base is at least 1.5 times as fast as BERT-base",
         lambda arms: arms["ALBERT-base"]["two ranks, 1 Gbit/s"] - 1.5),
    Rule("measured on one rank, it is at most 1.2 times as fast",
         lambda arms: 1.2 - arms["ALBERT-base"]["one rank"]),
)

EXPERIMENT = Experiment(
    name="speed",
    tables="Table 2: speed",
    claim="""
        ALBERT-large is about 1.7 times as fast as BERT-large in training, because of less communication and fewer
        computations; ALBERT-base 5.6, BERT-base 4.7 times, ALBERT-xlarge 0.6 and ALBERT-xxlarge 0.3 times.
    """,
    paper={name: {"speed": speed} for name, speed in PAPER.items()},
    paper_columns={"speed": Column("paper: speed", "{:.1f}")},
    columns={"operations": Column("operations of a token", "{:.2f}"), "bytes": Column("bytes of gradients", "{:.3f}"),
             "alone": Column("speed on one machine", "{:.2f}"), "many": Column("on many", "{:.2f}")} | MEASURED,
    rules=(
        Rule("ALBERT-large computes at least a tenth less than BERT-large, for each token",
             lambda arms: 0.9 - arms["ALBERT-large"]["operations"]),
        Rule("ALBERT-large adds up a tenth of the bytes, or fewer", lambda arms: 0.1 - arms["ALBERT-large"]["bytes"]),
        Rule("the model of two terms predicts ALBERT-base within a tenth", within(["ALBERT-base"], 1.1)),
        Rule("and the other models within a half", within(["BERT-base", "ALBERT-xlarge", "ALBERT-xxlarge"], 1.5)),
        *(MEASURED_RULES if LINES else ()),
    ),
    changed="the model",
    equal=f"{LENGTH} tokens, the same number of sequences, gradients of 4 bytes",
    means="""
        By operations, on one machine ALBERT-large is about as fast as BERT-large, and ALBERT-base as BERT-base: sharing
        weights saves no arithmetic. Communication can account for its 1.7, but that row is the one to which the
        bandwidth is fitted; the other four test the model. Memory, the optimiser, the network and what overlaps are not
        modelled.
    """ + HOW,
    notes="""
        Table 2's row of ALBERT-xxlarge has the scores of the model with 24 layers in Table 13, digit for digit, and not
        those of the one with 12, which Table 1 declares. Its 0.3 is compared with 12 layers here.
    """,
    exact=exact,
    panels=(Panel("times as fast as BERT-large", "speed", "many", "{:.1f}"),),
)
