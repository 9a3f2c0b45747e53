"""One instance as something to look at: its tokens in rows, with what the model reads and what it must find.

`strip(instances, epoch, number)` gathers it, `lines` draws it with letters; `minalbert.plots` draws the same.
"""

from typing import NamedTuple

from .tokenizer import MASK

KINDS = ("mask", "random", "kept")                   # what stands where a token is to be predicted: 80, 10, 10 %
ASCII = str.maketrans("╰╯─≠·▁█▏▎▍▌▋▊▉", "\\/-~'_#.......")

# Colours by number, in the middle of the scale, so that they can be read on black and on white. All differ for
# colour-blind eyes as well, and none says anything that the signs do not say.
COLOURS = {
    "A": "38;5;32", "B": "38;5;166", "special": "38;5;244", "label": "1", "quiet": "38;5;244",
    "mask": "1;38;5;16;48;5;220", "random": "1;38;5;16;48;5;175", "kept": "1;38;5;16;48;5;43",
}  # fmt: skip
LABELS = {
    "sop": ("in order (label 0)", "swapped: B stood before A in the text (label 1)"),
    "nsp": ("B follows A (label 0)", "B does not follow A (label 1)"),
    "none": ("one segment", ""),
}
SIGNS = {"mask": "", "random": "≠", "kept": "="}


class Cell(NamedTuple):
    text: str                                        # the piece that the model reads
    colour: str                                      # of COLOURS: the segment's, or "special"
    glued: bool = False                              # does it go on with the word before?
    kind: str = ""                                   # of KINDS where it is to be predicted
    label: str = ""                                  # the piece to predict
    span: int = -1                                   # number of its span


class Strip(NamedTuple):
    title: str
    notes: list[str]
    rows: list[tuple[str, list[Cell]]]               # ("A", cells), ("B", cells)
    words: list[int]                                 # of each span


def strip(instances, tokenizer, epoch, number):
    detail = instances.detail(epoch, number)
    recipe, total = instances.recipe, len(detail.input_ids)
    control = recipe.control_tokens
    predicted = sum(len(span.positions) for span in detail.spans)
    title = f"instance {number:,} of {len(instances):,} in epoch {epoch}: {LABELS[recipe.pairs][detail.label]}"
    notes = [f"{total} tokens of at most {recipe.max_length}, {predicted} to predict ({predicted / total:.1%})"]
    for name, segment in zip("AB", detail.segments, strict=False):
        length = segment.stop - segment.start
        notes.append(f"{name} is {length} tokens of document {segment.document:,}, from token {segment.start:,} "
                     f"of shard {segment.shard}")  # fmt: skip
    spans = {place: i for i, span in enumerate(detail.spans) for place in span.positions}
    cells = [cell(detail, tokenizer, place, spans.get(place, -1), place in control_places(detail, control))
             for place in range(total)]  # fmt: skip
    border = int((detail.token_type_ids == 0).sum())
    rows = [("A", cells[:border])] + ([("B", cells[border:])] if border < total else [])
    return Strip(title, notes, rows, [span.words for span in detail.spans])


def control_places(detail, control):
    """[CLS], and the [SEP] that ends each segment."""
    last = len(detail.input_ids) - 1
    return {0, last} if control == 2 else {0, int((detail.token_type_ids == 0).sum()) - 1, last}


def cell(detail, tokenizer, place, span, special):
    model_reads, stood_there = int(detail.input_ids[place]), int(detail.original_ids[place])
    glued = not special and place > 1 and not tokenizer.word_starts[stood_there]
    return Cell(
        text=shown_piece(tokenizer.pieces[model_reads]),
        colour="special" if special else "AB"[detail.token_type_ids[place]],
        glued=bool(glued),
        kind=outcome(detail, place) if span >= 0 else "",
        label=shown_piece(tokenizer.pieces[stood_there]) if span >= 0 else "",
        span=span,
    )


def outcome(detail, place):
    if detail.input_ids[place] == MASK:
        return "mask"
    return "kept" if detail.input_ids[place] == detail.original_ids[place] else "random"


def shown_piece(piece):
    """Without the sign for the space before it, which is drawn as a space."""
    return piece.removeprefix("▁") or "▁"


def lines(strip, width=100, colour=False):
    """The strip in lines of at most `width` columns."""
    paint = painted if colour else lambda text, _: text
    yield paint(strip.title, "label")
    yield from strip.notes
    for segment, cells in strip.rows:
        yield ""
        name = segment
        for start, end in wrapped(cells, width - 3):
            tops, labels, spans = columns(cells, start, end, strip.words, paint)
            yield f"{paint(name, segment)}  {tops}"
            if labels.strip():
                yield f"   {labels}"
                yield f"   {spans}"
            name = " "
    yield ""
    yield from legend(strip, paint)


def painted(text, kind):
    return f"\033[{COLOURS[kind]}m{text}\033[0m"


def legend(strip, paint):
    there = {cell.kind for _, cells in strip.rows for cell in cells}
    if "mask" in there:
        yield f"{paint('[MASK]', 'mask')} hides the token below it; ╰2╯ is a span of 2 words, masked together"
    if "random" in there:
        yield f"{paint('≠token', 'random')} under a token drawn at random: this one stood there"
    if "kept" in there:
        yield f"{paint('=token', 'kept')} under a token left as it is, and predicted all the same"
    if any(cell.glued for _, cells in strip.rows for cell in cells):
        yield "a·b are two pieces of one word"


def shown_label(cell):
    return SIGNS[cell.kind] + cell.label if cell.kind else ""


def cell_width(cell):
    return max(len(cell.text), len(shown_label(cell)), 3 if cell.kind else 1)


def wrapped(cells, width):
    """(start, end) of each row of cells that fit; a single cell that is wider stands alone."""
    start, used = 0, 0
    for i, cell in enumerate(cells):
        if i > start and used + 1 + cell_width(cell) > width:
            yield start, i
            start, used = i, 0
        used += cell_width(cell) + (1 if i > start else 0)
    if cells:
        yield start, len(cells)


def columns(cells, start, end, words, paint):
    """Three lines, one below the other: what the model reads, what it must find, which were masked together."""
    tops, labels, spans = "", "", ""
    for i in range(start, end):
        cell, width = cells[i], cell_width(cells[i])
        opens = cell.span >= 0 and (i == 0 or cells[i - 1].span != cell.span)
        closes = cell.span >= 0 and (i + 1 == len(cells) or cells[i + 1].span != cell.span)
        if i > start:
            tops += "·" if cell.glued else " "
            labels += " "
            spans += paint("─", "quiet") if cell.span >= 0 and not opens else " "
        label = shown_label(cell)
        tops += paint(cell.text, cell.kind or cell.colour) + " " * (width - len(cell.text))
        labels += (paint(label, "label") if label else "") + " " * (width - len(label))
        spans += paint(bracket(width, opens, closes, words[cell.span]), "quiet") if cell.span >= 0 else " " * width
    return tops.rstrip(), labels.rstrip(), spans.rstrip()


def bracket(width, opens, closes, words):
    """╰2─╯, or the part of it that stands under one token."""
    text = f"╰{words}" if opens else ""
    return text + "─" * (width - len(text) - closes) + ("╯" if closes else "")
