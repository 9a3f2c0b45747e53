"""Exercise 14: a head for labels, numbers and choices, and its losses."""

import numpy as np

from minalbert.layers import squared_error_backward, squared_error_forward
from minalbert.model.heads import pooler_backward, pooler_forward
from minalbert.model.tasks import (
    classifier_backward,
    classifier_forward,
    label_loss_backward,
    label_loss_forward,
    number_loss_backward,
    number_loss_forward,
)

from ...compare import PERHAPS, Wrong, agrees, equal, numbers
from ...lesson import Lesson
from ...outside import numbers as stored
from ..checks import Later, alive
from ..corners import also
from ..ex09.losses import nothing, number
from ..matches import matches
from .head_mistakes import wrong_gradients, wrong_scores
from .head_points import (
    PLACES,
    choice_loss_backward,
    choice_loss_forward,
    head_backward,
    head_forward,
    labelled,
    named,
    number_loss,
    numbers_of,
    point,
    questions,
    rated,
)
from .label_mistakes import (
    choice_gradients,
    choice_losses,
    label_gradients,
    label_losses,
    number_gradients,
    number_losses,
    other_orders,
)

lesson = Lesson(
    "ex14", "a classification head", minutes=75,
    functions={
        "label_numbers": "numbers",
        "head_forward": "scores, cache",
        "head_backward": "dlayers, dpooler_w, dpooler_b, dw, db, dkept, drate",
        "label_loss_forward": "loss, cache",
        "label_loss_backward": "dscores, dlabels",
        "number_loss_forward": "loss, cache",
        "number_loss_backward": "dscores, dtargets",
        "choice_loss_forward": "loss, cache",
        "choice_loss_backward": "dscores, dlabels",
    },
    withheld=(classifier_forward, classifier_backward, pooler_forward, pooler_backward, label_loss_forward,
              label_loss_backward, number_loss_forward, number_loss_backward, squared_error_forward,
              squared_error_backward),
    references={
        "head_forward": head_forward, "head_backward": head_backward, "choice_loss_forward": choice_loss_forward,
        "choice_loss_backward": choice_loss_backward,
        "number_loss_forward": number_loss,
    },
    usual_references={"label_numbers": numbers_of},
)  # fmt: skip

# Labels

AS_IT_IS = "seen: a label is a text as it is, with its spaces; an empty one is a label as well"


@lesson.check(1, "labels in order", of="label_numbers", formula="number = k where label = names[k]; -1 for None")
def order(yours, draw):
    asked = [(list(labels), list(names)) for labels, names in named(draw)]
    before = []
    for (labels, names), answer in zip(asked, yours.each("label_numbers", asked), strict=True):
        right = numbers_of(labels, names)
        answer = numbers("label_numbers", answer, right.shape)
        if answer.dtype.kind == "f":
            raise Wrong(f"label_numbers returned {answer.dtype}; it must be whole numbers")
        ways = other_orders(labels, names)
        cause = next((says for says, other in ways.items() if answer.tolist() == other != right.tolist()), None)
        if not all(found == other.get(cause, found) for found, other in before):
            cause = f"{PERHAPS}{cause}; or an earlier list of names is kept"
        before.append((answer.tolist(), ways))
        cause = cause or (AS_IT_IS if "" in names else None)
        equal(f"label_numbers({labels}, {names})"[:150], answer, right, cause)


# The head

SCORES = "scores = (tanh(h W_p + b_p) kept / (1 - rate)) W + b, with h the state of [CLS] after the last layer"
ARGUMENTS = ("layers", "pooler_w", "pooler_b", "w", "b", "kept")


def compare_scores(yours, given):
    scores, _ = yours.head_forward(*given)
    others = {name: value for name, value in zip(ARGUMENTS, given, strict=False) if value is not None}
    rest = {"kept": given[5], "rate": given[6]}
    matches("scores", scores, head_forward(*given)[0], "bk", lambda: wrong_scores(given),
            given=(lambda **changed: head_forward(**rest | changed)[0], others))  # fmt: skip


@lesson.check(1.5, "scores", of="head_forward", formula=SCORES)
@also(*PLACES)
def head_value(yours, draw):
    for _ in range(2):                               # other numbers, in the first draw of the same shapes
        compare_scores(yours, given := point(draw)[0])
    for rate in (0.0, 0.6, 0.9):                     # kept says what is dropped, whatever the rate
        compare_scores(yours, (*given[:-1], rate))
    compare_scores(yours, (*given[:5], 0 * given[5], 0.9))           # nothing is kept


@lesson.check(0.5, "in evaluation", of="head_forward", formula="without kept: scores = tanh(h W_p + b_p) W + b")
@also(*PLACES)
def evaluation(yours, draw):
    given, dscores = point(draw, alike=True, training=False)
    scores, cache = yours.head_forward(*given)
    expected, kept = head_forward(*given)
    divided = given[4] + (expected - given[4]) / (1 - given[6])
    matches("scores without kept", scores, expected, "bk",
            lambda: {"divided by 1 - rate, though nothing is dropped": divided} | wrong_scores(given))  # fmt: skip
    dw = yours.head_backward(dscores, cache)[3]
    agrees("dw without kept", dw, head_backward(dscores, kept)[3], "head_backward")


NAMES = {"dlayers": "lbth", "dpooler_w": "ij", "dpooler_b": "h", "dw": "hk", "db": "k"}
BACKWARD = "dw = xᵀ dscores, da = dscores Wᵀ kept / (1 - rate) (1 - pooled²), dW_p = hᵀ da, db_p = Σ da, dh = da W_pᵀ"


def compare_gradients(yours, given, dscores, compared):
    answers = yours.forward_and_back("head", dscores, *given)
    expected = head_backward(dscores, head_forward(*given)[1])
    for name, answer, right in zip(NAMES, answers, expected, strict=False):
        if name in compared:
            matches(name, answer, right, NAMES[name], lambda name=name: wrong_gradients(given, dscores)[name])
    return answers


@lesson.check(1.5, "gradients of the weights", of="head_backward", formula=BACKWARD)
@also(*PLACES)
def weights(yours, draw):
    answers = compare_gradients(yours, *point(draw, alike=True), list(NAMES)[:0:-1])
    nothing("dkept", answers[5])
    nothing("drate", answers[6])
    (layers, pooler_w, pooler_b, *rest), dscores = point(draw, alike=True)
    if len(pooler_b) > 3:                            # one of several, where tanh is nearly flat
        pooler_b[0] = 6.0
        compare_gradients(yours, (layers, pooler_w, pooler_b, *rest), dscores, ["dpooler_w", "dpooler_b"])
    odd = np.arange(len(pooler_b)) % 2               # where pooled is 0, which is not what dropout made of it
    compare_gradients(yours, (0 * layers, pooler_w, pooler_b * (1 - odd), *rest), dscores, ["dpooler_b"])


@lesson.check(1, "dlayers", of="head_backward", formula="dlayers[-1, :, 0] = da W_pᵀ, and 0 everywhere else")
@also(*PLACES)
def states(yours, draw):
    compare_gradients(yours, *point(draw), ["dlayers"])


# The losses

STEPS = (1.0, -1.5, 25.0, 0.0, 2000.0, 0.7, 1.0, -2.0, 3.0, 1.0, 1.0, 1.0)


LABELS = "loss = Σ -log p[label] / (number of labels), over those that have one: labels ≥ 0"


@lesson.check(1, "loss of labels", of="label_loss_forward", formula=LABELS)
def label_value(yours, draw):
    for scores, labels in labelled(draw):
        loss, _ = yours.label_loss_forward(scores, labels)
        number(loss, label_loss_forward(scores, labels)[0], Later(label_losses, scores, labels))
    loss, _ = yours.label_loss_forward(scores, 0 * labels - 1)
    number(loss, 0.0, name="loss of examples without any label")


def compare_steps(yours, kind, found, forward, backward, mistakes, axes):
    """The gradients of a loss: yours and those of the pair (forward, backward). found: (scores, labels)"""
    for dloss, (scores, labels) in zip(STEPS, found, strict=False):
        _, cache = getattr(yours, f"{kind}_forward")(scores, labels)
        dscores, none = getattr(yours, f"{kind}_backward")(dloss, cache)
        expected = backward(dloss, forward(scores, labels)[1])
        matches("dscores", dscores, expected, axes[-scores.ndim :],
                lambda given=(scores, labels, dloss): mistakes(*given))  # fmt: skip
        nothing("what belongs to labels", none)


@lesson.check(0.5, "dscores of labels", of="label_loss_backward", formula="dscores = dloss (p - onehot) / n, or 0")
def label_gradient(yours, draw):
    compare_steps(yours, "label_loss", labelled(draw), label_loss_forward, label_loss_backward, label_gradients, "btk")


@lesson.check(0.5, "loss of numbers", of="number_loss_forward", formula="loss = Σ_i (scores[i, 0] - targets[i])² / B")
def number_value(yours, draw):
    for scores, targets in rated(draw):
        loss, _ = yours.number_loss_forward(scores, targets)
        number(loss, number_loss_forward(scores, targets)[0], Later(number_losses, scores, targets))


@lesson.check(0.5, "dscores of numbers", of="number_loss_backward", formula="dscores[i, 0] = dloss 2 error_i / B")
def number_gradient(yours, draw):
    compare_steps(yours, "number_loss", rated(draw), number_loss_forward, number_loss_backward, number_gradients, "bk")


CHOICES = "scores as (B, C), the C sequences of a question in a row; then the loss of labels"


@lesson.check(0.5, "loss of choices", of="choice_loss_forward", formula=CHOICES)
def choice_value(yours, draw):
    for scores, labels in questions(draw):
        loss, _ = yours.choice_loss_forward(scores, labels)
        number(loss, choice_loss_forward(scores, labels)[0], Later(choice_losses, scores, labels))


@lesson.check(0.5, "dscores of choices", of="choice_loss_backward", formula=f"{CHOICES}; its dscores as (B C, 1)")
def choice_gradient(yours, draw):
    def backward(dloss, cache):
        return choice_loss_backward(dloss, cache)[0]

    compare_steps(yours, "choice_loss", questions(draw), choice_loss_forward, backward, choice_gradients, "bk")


@lesson.check(0.5, "as transformers", of="head_backward", formula="transformers' heads and losses, and their gradients")
def outside(yours, draw):
    found = stored("ex14")
    given = [found[name] for name in ("layers", "pooler_w", "pooler_b", "w", "b")]
    scores, head = yours.head_forward(*given, None, 0.1)
    agrees("scores (transformers')", scores, found["scores"], "head_forward")
    loss, cache = yours.label_loss_forward(scores, found["labels"])
    number(loss, found["loss"], name="loss of labels (transformers')")
    answers = yours.head_backward(yours.label_loss_backward(1.0, cache)[0], head)
    for name, answer in zip(NAMES, answers, strict=False):
        agrees(f"{name} (transformers')", answer, found[f"d{name[1:]}"], "head_backward")
    for kind, labels in (("number", "targets"), ("choice", "labels")):
        forward, backward = f"{kind}_loss_forward", f"{kind}_loss_backward"
        loss, cache = getattr(yours, forward)(found[f"{kind}.scores"], found[f"{kind}.{labels}"])
        mistakes = number_losses if kind == "number" else choice_losses
        suspects = Later(mistakes, found[f"{kind}.scores"], found[f"{kind}.{labels}"])
        number(loss, found[f"{kind}.loss"], suspects, f"loss of the {kind} (transformers')")
        dscores, _ = getattr(yours, backward)(1.0, cache)
        agrees(f"dscores of the {kind} (transformers')", dscores, found[f"{kind}.dscores"], backward)


@lesson.check(0.5, "inputs untouched", of="head_forward")
def purity(yours, draw):
    given, dscores = point(draw)
    scores, cache = yours.head_forward(*given)
    dlayers, dpooler_w, dpooler_b, dw, db, _, _ = yours.head_backward(dscores, cache)
    alive(scores=scores, dlayers=dlayers, dpooler_w=dpooler_w, dpooler_b=dpooler_b, dw=dw, db=db)
    yours.head_backward(0.5 * dscores, yours.head_forward(*given)[1])    # what the first one returned must stay
    numbered = yours.label_numbers(["c", None, "b"], ["b", "a", "c"])
    for name, found in (("label", labelled(draw)), ("number", rated(draw)), ("choice", questions(draw))):
        loss, cache = getattr(yours, f"{name}_loss_forward")(*next(found))
        dscores, _ = getattr(yours, f"{name}_loss_backward")(1.0, cache)
        alive(numbers=numbered, loss=loss, dscores=dscores)
        list(yours.each(f"{name}_loss_forward", found))              # some labels are negative
    yours.untouched()
