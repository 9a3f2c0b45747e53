"""Exercise 15: answers that stand in the text: where they begin and end."""

import numpy as np

from minalbert.model import tasks
from minalbert.tasks import decoding

from ...compare import Wrong, agrees, equal, numbers, plain, shown
from ...lesson import Lesson
from ...outside import numbers as stored
from ..checks import Later, alive
from ..corners import also
from ..ex09.losses import nothing, number
from ..matches import matches
from .span_mistakes import (
    made_of_all,
    other_spans,
    other_texts,
    span_gradients,
    span_losses,
    wrong_bars,
    wrong_gradients,
    wrong_scores,
)
from .span_points import (
    BARRED,
    PLACES,
    answer_text,
    answered,
    answers,
    best_span,
    cut_off,
    loss_backward,
    point,
    span_backward,
    span_forward,
    windows,
)

lesson = Lesson(
    "ex15", "an answer is a span of the text", minutes=70,
    functions={
        "span_forward": "scores, cache",
        "span_backward": "dhidden, dw, db, dbarred",
        "span_loss_forward": "loss, cache",
        "span_loss_backward": "dscores, dspans",
        "best_span": "start, end",
        "answer_text": "answer",
    },
    withheld=(tasks.span_forward, tasks.span_backward, tasks.span_loss_forward, tasks.span_loss_backward,
              tasks.label_loss_forward, tasks.label_loss_backward, decoding.span_pairs, decoding.spans_of),
    references={"span_forward": span_forward, "span_backward": span_backward,
                "span_loss_backward": loss_backward},
    usual_references={"best_span": best_span, "answer_text": answer_text},
)  # fmt: skip

# The scores


@lesson.check(1, "scores", of="span_forward", formula="scores[b, t] = hidden[b, t] w + b; both are -1e30 where barred")
@also(*PLACES)
def value(yours, draw):
    for _ in range(2):                               # other numbers, in the first draw of the same shapes
        compare_scores(yours, given := point(draw)[0])
    hidden, w, b, barred = given
    compare_scores(yours, (np.where(barred[..., None], 1e29, hidden), w, b, barred))     # whatever the map gives there


def compare_scores(yours, given):
    barred, expected = given[3], span_forward(*given)[0]
    scores = numbers("scores", yours.span_forward(*given)[0], expected.shape)
    if scores.shape != expected.shape:
        agrees("scores", scores, expected, "span_forward")
    if not np.allclose(scores[barred], -1e30, rtol=1e-5):
        where = tuple(int(i) for i in np.argwhere(barred)[0])
        raise Wrong(f"scores{list(where)} is {scores[where].tolist()}; it is barred, so both must be -1e30",
                    wrong_bars(scores, barred, given[0] @ given[1] + given[2]))  # fmt: skip
    open_scores = [np.where(barred[..., None], 0.0, array) for array in (scores, expected)]
    matches("scores, where not barred,", *open_scores, "btk", lambda: wrong_scores(*given))


BACKWARD = "dscores = 0 where barred; dhidden = dscores wᵀ, dw = Σ hidden dscores, db = Σ dscores, over b and t"
NAMES = {"dhidden": "bth", "dw": "hk", "db": "k"}


def compare_gradients(yours, draw, compared):
    given, dscores = point(draw)
    found = yours.forward_and_back("span", dscores, *given)
    expected = span_backward(dscores, span_forward(*given)[1])
    for name, answer, right in zip(NAMES, found, expected, strict=False):
        if name in compared:
            matches(name, answer, right, NAMES[name], lambda name=name: wrong_gradients(given, dscores)[name])
    return found


@lesson.check(1, "dhidden", of="span_backward", formula=BACKWARD)
@also(*PLACES)
def state_gradient(yours, draw):
    compare_gradients(yours, draw, ["dhidden"])


@lesson.check(1, "dw and db", of="span_backward", formula=BACKWARD)
@also(*PLACES)
def weight_gradients(yours, draw):
    nothing("dbarred", compare_gradients(yours, draw, ["dw", "db"])[3])


# The loss

LOSS = "loss = ½ (CE(scores[..., 0], starts) + CE(scores[..., 1], ends)), softmax over the T tokens"
STEPS = (1.0, -1.5, 25.0, 0.0, 2000.0, 0.7, 1.0, 1.0)


@lesson.check(1.5, "loss", of="span_loss_forward", formula=LOSS)
def loss_value(yours, draw):
    for scores, spans in answered(draw):
        loss, _ = yours.span_loss_forward(scores, spans)
        number(loss, tasks.span_loss_forward(scores, spans)[0], Later(span_losses, scores, spans))


def compare_dscores(yours, dloss, scores, spans, cache):
    dscores, dspans = yours.span_loss_backward(dloss, cache)
    right, _ = loss_backward(dloss, tasks.span_loss_forward(scores, spans)[1])
    matches("dscores", dscores, right, "btk", lambda: span_gradients(scores, spans, dloss))
    nothing("dspans", dspans)


@lesson.check(1.5, "dscores", of="span_loss_backward", formula="dloss / 2 goes to the starts, and to the ends")
def loss_gradient(yours, draw):
    for dloss, (scores, spans) in zip(STEPS, answered(draw), strict=True):
        _, cache = yours.span_loss_forward(scores, spans)
        compare_dscores(yours, dloss, scores, spans, cache)


OUTSIDE = "a place below 0, or of T and above, has weight 0 in its own mean; with none inside, loss and dscores are 0"


@lesson.check(1, "outside of the window", of="span_loss_forward", formula=OUTSIDE)
def outside_window(yours, draw):
    for dloss, (scores, spans) in zip(STEPS, cut_off(draw), strict=False):
        loss, cache = yours.span_loss_forward(scores, spans)
        number(loss, tasks.span_loss_forward(scores, spans)[0], Later(span_losses, scores, spans))
        compare_dscores(yours, dloss, scores, spans, cache)


# Answers


SMALL = "perhaps: what stands for no span is not below every sum: two barred scores make -2e30; take -inf"
BEST = "the largest scores[i, 0] + scores[j, 1] over i ≤ j < i + longest"


@lesson.check(1.5, "the best span", of="best_span", formula=BEST)
def decode(yours, draw):
    asked = list(windows(draw))
    found = list(zip(asked, map(plain, yours.each("best_span", asked)), strict=True))
    for (scores, longest), span in found:
        what = f"of {len(scores)} tokens, longest = {longest}: (start, end)"
        equal_or(what, span, best_span(scores, longest), found, other_spans)
    for length, longest in ((5, 2), (1, 1), (14, 13)):    # barred everywhere: all spans are as good
        found = plain(yours.best_span(np.full((length, 2), BARRED), longest))
        if found not in [(i, j) for i in range(length) for j in range(i, min(i + longest, length))]:
            raise Wrong(f"of {length} tokens, all of them barred, longest = {longest}: (start, end) is {shown(found)}, "
                        "which is no span", SMALL)
    for scores, longest in [given for given in asked if given[0].min() > BARRED][:2]:
        for column, name in enumerate(("starts", "ends")):
            other = scores.copy()
            other[:, column] = scores[::-1, column]
            found = plain(yours.best_span(other, longest))
            equal(f"where the {name}' scores alone are others than before, (start, end)", found,
                  best_span(other, longest), "a span is kept from call to call")  # fmt: skip


def equal_or(what, answer, right, found, mistakes):
    """Raise Wrong, with the mistake that makes all answers. found: [(arguments, answer)]"""
    try:
        equal(what, answer, right)
    except Wrong as error:
        error.cause = made_of_all([(answer, mistakes(*given)) for given, answer in found])
        raise


@lesson.check(0.5, "its letters", of="answer_text", formula="from places[start - first][0] to places[end - first][1]")
def letters(yours, draw):
    asked = list(answers(draw))
    found = list(zip(asked, yours.each("answer_text", asked), strict=True))
    for given, answer in found:
        what = f"the answer at {given[3]} to {given[4]}, first = {given[2]},"
        equal_or(what, answer, answer_text(*given), found, other_texts)


@lesson.check(0.5, "as transformers", of="span_loss_backward", formula="AlbertForQuestionAnswering, and its gradients")
def outside(yours, draw):
    found = stored("ex15")
    hidden = found["hidden"]
    scores, head = yours.span_forward(hidden, found["w"], found["b"], np.zeros(hidden.shape[:2], bool))
    agrees("scores (transformers')", scores, found["scores"], "span_forward")
    loss, cache = yours.span_loss_forward(scores, found["spans"])
    number(loss, found["loss"], Later(span_losses, scores, found["spans"]), "loss (transformers')")
    dscores, _ = yours.span_loss_backward(1.0, cache)
    agrees("dscores (transformers')", dscores, found["dscores"], "span_loss_backward")
    for name, answer in zip(("dhidden", "dw"), yours.span_backward(dscores, head), strict=False):  # db is 0
        agrees(f"{name} (transformers')", answer, found[name], "span_backward")


@lesson.check(0.5, "inputs untouched", of="span_forward")
def purity(yours, draw):
    given, dscores = point(draw)
    scores, cache = yours.span_forward(*given)
    dhidden, dw, db, _ = yours.span_backward(dscores, cache)
    alive(scores=scores, dhidden=dhidden, dw=dw, db=db)
    loss, cache = yours.span_loss_forward(*next(answered(draw)))
    dscores, _ = yours.span_loss_backward(1.0, cache)
    yours.best_span(*next(windows(draw)))
    text, places = "an answer", [(0, 2), (3, 9)]
    alive(loss=loss, dscores=dscores, answer=yours.answer_text(text, places, 3, 4, 4))
    yours.answer_text(text, places, 3, 0, 0)
    yours.span_loss_forward(*next(cut_off(draw)))
    yours.untouched()
