"""A text, or a pair, its labels with their probabilities, and the words that these depend on.

    found = classify(open_finetuned("runs/sst2"), "a masterpiece of boredom")
    found.labels[0]                  # ("0", 0.93)
    found.words                      # [WordShare("masterpiece", -0.61, "A"), WordShare("boredom", 2.30, "A"), ...]
"""

from typing import NamedTuple

from ..arguments import of_kind, text
from ..errors import InputError
from .finetuned import FineTuned
from .shares import label_decision, word_shares
from .tables import TextExample, TextTable
from .users_texts import as_trained

KINDS = {"span": "minalbert answer", "answer": "minalbert answer", "choice": "minalbert predict",
         "token": "minalbert predict"}


class Classified(NamedTuple):
    """The decision about a text: its labels, and the words they depend on."""

    found: str                                       # a label or a number
    labels: list                                     # (name, probability), the best first; empty of a number
    words: list                                      # WordShares
    decides: str                                     # what their sum is a score for
    notes: list                                      # sentences about how the text was read


def classify(trained, first, second=None):
    """trained: what open_finetuned returns"""
    model, tokenizer, task, _ = of_kind("trained", trained, FineTuned)
    if task.kind not in ("label", "number"):
        raise InputError(f"task {task.name} has no labels of texts; {KINDS[task.kind]} is the command for it")
    texts = [text("first", first)] if second is None else [text("first", first), text("second", second)]
    if len(texts) != (wanted := len(task.columns.texts)):
        raise InputError(f"task {task.name} is about {('one text', 'two texts')[wanted - 1]} "
                         f"({', '.join(task.columns.texts)}); {len(texts)} were given")
    texts, notes = as_trained(tokenizer, texts)
    examples = task.encode(TextTable([TextExample("0", tuple(texts), None)], []), tokenizer)
    if examples.report.cut:
        notes.append(f"the text is too long, and was cut to {task.max_length} tokens")
    predictions = task.predict(model, examples)
    (found,) = task.written(predictions.found)
    labels, decision, decides = [], label_decision(0), "a higher number"
    if task.kind == "label":
        chances = task.chances(predictions)[0]
        best, other, *_ = order = (-chances).argsort(kind="stable").tolist()
        labels = [(task.names[i], float(chances[i])) for i in order]
        decision, decides = label_decision(best, other), f"{task.names[best]} rather than {task.names[other]}"
    words = word_shares(model, tokenizer, examples[0].sequences[0], decision)
    return Classified(found, labels, words, decides, notes)
