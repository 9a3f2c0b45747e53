"""Tasks with labels for free, written in the formats of GLUE, SQuAD 2.0 and RACE.

    topic          16 scripts              three sentences                    GLUE: sentence, label
    order          2                       two passages                       GLUE: index, sentence1, sentence2, label
    permutation    6                       a sentence, and two more           "
    before         3, as in MNLI           passage, hypothesis                "
    doer           3, as in MNLI           passage, hypothesis                "
    grammar        which of 2 is right     two sentences                      ", and the column phenomenon
    spans1...6     a name, or no answer    who has it, after so many hops     SQuAD 2.0: train-v2.0.json
    short_spans1, 2                        the same in fewer words            "
    next           A to D                  what comes next                    RACE: train/middle, train/high

Every text has only words of tiny worlds, in lower case and with spaces between them, as a WordTokenizer reads them.

The same seed makes the same files, and fewer examples are the first of more. Labels come in blocks that have each of
them once, in random order. An example's random numbers come from (seed, task, split, number), and no story of a corpus
has those of any example. A document belongs to train or to dev by its hash alone: none is in both, whatever the seeds.
"""

import json
from hashlib import sha256
from itertools import islice, product
from random import Random
from typing import NamedTuple

from ...arguments import one_of, path_of, whole
from ...errors import DataError, FileError
from ...files import read, write_atomically
from . import grammar_tasks as grammar
from . import span_tasks as spans
from . import step_tasks as steps

SPLITS = ("train", "dev")
MOST = 100_000                                       # examples: the texts of all tasks are in memory


class TinyTask(NamedTuple):
    make: object                                     # (source of random numbers, what is wanted) -> TinyExample
    wanted: tuple                                    # the labels, or what else comes equally often
    files: object                                    # (name, split, fields of all examples) -> {path: text}
    question: str                                    # about the text
    stream: object = steps.evenly                    # (source of random numbers, wanted) -> what each example is


class WrittenTask(NamedTuple):
    """A task that was written."""

    name: str
    train: int                                       # examples
    dev: int
    words: int                                       # of the longest sequence that a model reads
    question: str


def write_tasks(out, seed=0, train=1000, dev=500, names=None):
    """Write tasks below the directory `out` and return a list of WrittenTask. names: of the tasks; None: all"""
    out, seed = path_of("out", out, DataError), whole("seed", seed, error=DataError)
    counts = {"train": whole("train", train, 1, MOST, DataError), "dev": whole("dev", dev, 1, MOST, DataError)}
    written, files = [], {}
    for name in TASKS if names is None else [one_of("a task's name", name, TASKS, DataError) for name in names]:
        task, longest = TASKS[name], 0
        for split, count in counts.items():
            found = [example.fields for example in islice(examples(name, split, seed), count)]
            texts = task.files(name, split, found)
            files.update(texts)
            longest = max(longest, *map(words, found))
        written.append(WrittenTask(name, train, dev, longest, task.question))
    for path, text in files.items():                 # after the last example was made
        check_replaced(out / path, text.encode())
    for path, text in files.items():
        make_directory((out / path).parent)
        write_atomically(out / path, text.encode())
    return written


def examples(name, split, seed=0):
    """Endless TinyExamples of a task."""
    task = TASKS[name]
    stream = task.stream(Random(f"{seed}/{name}/{split}").random, task.wanted)
    for number, wanted in enumerate(stream):
        random = Random(f"{seed}/{name}/{split}/{number}").random
        example = task.make(random, wanted)
        while split_of(example.document) != split:
            example = task.make(random, wanted)
        yield example


def split_of(document):
    return SPLITS[sha256(document.encode()).digest()[0] % 2]


def words(fields):
    """The words that a model reads at once; of four options, the longest one."""
    texts = [text for text in fields if isinstance(text, str) and " " in text]
    options = [option for options in fields if isinstance(options, tuple) for option in options]
    return sum(len(text.split()) for text in texts) + max((len(option.split()) for option in options), default=0)


def check_replaced(path, content):
    """Raise DataError if a file has other content than this."""
    if path.is_file() and read(path, "name another directory") != content:
        raise DataError(f"{path} is there with other examples, of another seed, size or version; name another "
                        "directory")


def make_directory(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path} cannot be made ({error.strerror}); name a directory that can") from error


# The formats


def sentences(name, split, rows):
    return {f"{name}/{split}.tsv": table(("sentence", "label"), rows)}


def pairs(name, split, rows):
    return indexed(name, split, ("sentence1", "sentence2", "label"), rows)


def minimal_pairs(name, split, rows):
    return indexed(name, split, ("phenomenon", "sentence1", "sentence2", "label"), rows)


def indexed(name, split, columns, rows):
    return {f"{name}/{split}.tsv": table(("index", *columns), [(str(i), *row) for i, row in enumerate(rows)])}


def table(columns, rows):
    return "".join("\t".join(row) + "\n" for row in (columns, *rows))


def squad(name, split, found):
    """Each context with its one question is a paragraph of one article."""
    paragraphs = []
    for number, (context, question, answer) in enumerate(found):
        answers = [] if answer is None else [{"text": answer, "answer_start": context.index(f" {answer} ") + 1}]
        asked = {"id": f"{name}-{split}-{number}", "question": question, "answers": answers,
                 "is_impossible": answer is None}  # fmt: skip
        paragraphs.append({"context": context, "qas": [asked]})
    content = {"version": "v2.0", "data": [{"title": name, "paragraphs": paragraphs}]}
    return {f"{name}/{split}-v2.0.json": json.dumps(content, indent=1) + "\n"}


def race(name, split, found):
    """One article a line, in all.txt, as ALBERT's own script reads it. The question is a gap that the option fills."""
    lines = {level: [] for level in ("middle", "high")}
    for number, (level, article, options, letter) in enumerate(found):
        content = {"id": f"{level}{number}.txt", "article": article, "questions": ["_"], "options": [options],
                   "answers": [letter]}  # fmt: skip
        lines[level].append(json.dumps(content) + "\n")
    return {f"{name}/{split}/{level}/all.txt": "".join(texts) for level, texts in lines.items() if texts}


TASKS = {
    "topic": TinyTask(steps.topic, steps.TOPICS, sentences, "which of sixteen scripts is it?"),
    "order": TinyTask(steps.order, steps.ORDERS, pairs, "are the two passages in order?", steps.with_starts),
    "permutation": TinyTask(steps.permutation, steps.PERMUTATIONS, pairs, "in which order are the three sentences?",
                            steps.with_starts),
    "before": TinyTask(steps.before, steps.ENTAILMENTS, pairs, "was one event before the other?"),
    "doer": TinyTask(steps.doer, steps.ENTAILMENTS, pairs, "did this person do that?"),
    "grammar": TinyTask(grammar.minimal_pair, tuple(product(grammar.PHENOMENA, (0, 1), grammar.WHICH)), minimal_pairs,
                        "which sentence has no mistake?"),
    **{name: TinyTask(make, asked, squad, f"who has it after {hops} hop{'s' * (hops > 1)}, if anybody?")
       for kind, asked in ((spans.SPANS, spans.ASKED), (spans.SHORT_SPANS, spans.ASKED_SHORT))
       for hops, (name, make) in enumerate(kind.items(), 1)},
    "next": TinyTask(steps.next_event, tuple(product(("middle", "high"), steps.LETTERS)), race, "what comes next?",
                     steps.with_starts),
}  # fmt: skip
