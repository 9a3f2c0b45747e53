"""Scores, classes, errors and words of a task as text."""

import numpy as np

from .printing import bar

WORDS = 10                                           # that a decision depends on most
NARROW = 20                                          # letters of a name of a class in a row


def scores(found):
    """name, name: a line for each score. found: {name of a column: {metric: value}}"""
    metrics = [*dict.fromkeys(metric for scores in found.values() for metric in scores)]
    wide = max(map(len, metrics))
    yield " " * wide + "".join(f"  {name:>12}" for name in found)
    for metric in metrics:
        yield f"{metric:<{wide}}" + "".join(
            f"  {scores[metric]:>12.4f}" if metric in scores else " " * 14 for scores in found.values()).rstrip()


def confusion(found, width):
    """The counts of a Confusion; where its names do not fit above the columns, their numbers stand there."""
    names, counts = found
    left = max(*(min(len(name), NARROW) for name in names), len("right | found"))
    heads, cell = names, max(*map(len, names), len(str(counts.max())))
    numbers = [str(i + 1) for i in range(len(names))]
    if left + (cell + 2) * len(names) > width:
        heads, cell = numbers, max(len(str(counts.max())), len(numbers[-1]))
        left += len(numbers[-1]) + 1
        names = [f"{number:>{len(numbers[-1])}} {name[:NARROW]}" for number, name in zip(numbers, names, strict=True)]
    yield f"{'right | found':<{left}}" + "".join(f"  {head:>{cell}}" for head in heads)
    for name, row in zip(names, counts.tolist(), strict=True):
        yield f"{name[:left]:<{left}}" + "".join(f"  {count or '·':>{cell}}" for count in row)


def mistakes(found, total, width):
    """The Mistakes that are shown, of a total."""
    if not found:
        yield "no errors" if not total else f"{total:,} errors"
        return
    yield f"errors, the worst {len(found):,} of {total:,}:" if len(found) < total else f"all {total:,} errors:"
    for each in found:
        sure = "" if each.probability is None else f", {each.probability:.1%} sure"
        yield f"  {each.id}: {each.found or 'no answer'}{sure}; right is {each.right or 'no answer'}"
        yield from (f"    {shortened(text, width - 4)}" for text in each.texts)


def notes(sentences, width, paint):
    yield from (paint(shortened(f"({sentence})", 2 * width), "quiet") for sentence in sentences)


def shortened(text, width):
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def word_shares(words, decides, width, paint):
    """The text, in colour where there are colours, and the words of most weight with bars to both sides."""
    yield from text_lines(words, width, paint)
    most = max((abs(word.share) for word in words), default=0) or 1
    order = sorted(words, key=lambda word: -abs(word.share))[:WORDS]
    wide = max(len(word.word) for word in order)
    yield f"{'':{wide}}  what it depends on: + for {decides}, - against it"
    for word in order:
        line = bar(abs(word.share) / most, 24)
        yield f"{word.word:>{wide}} {word.share:>+9.4f}  {line}".rstrip()


def text_lines(words, width, paint):
    most = max((abs(word.share) for word in words), default=0) or 1
    line, used = [], 0
    for word in words:
        if line and used + 1 + len(word.word) > width:
            yield " ".join(line)
            line, used = [], 0
        used += len(word.word) + bool(line)
        strong = np.abs(word.share) > most / 4
        line.append(paint(word.word, ("A" if word.share > 0 else "B") if strong else "quiet"))
    yield " ".join(line)
