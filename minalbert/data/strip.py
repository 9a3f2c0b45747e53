"""One instance to look at: its tokens in rows, with what the model reads and what it must predict.

`minalbert data show` prints a strip, `minalbert.plots.instance_strip` draws it.
"""

from typing import NamedTuple

from ..arguments import of_kind
from ..errors import DataError
from .instances import Instances
from .tokenizer import MASK, Tokenizer

KINDS = ("mask", "random", "kept")                   # what stands where a token is to be predicted: 80, 10, 10 %
LABELS = {
    "sop": ("in order (label 0)", "swapped: B stood before A in the text (label 1)"),
    "nsp": ("B follows A (label 0)", "B does not follow A (label 1)"),
    "none": ("one segment", ""),
}
SIGNS = {"mask": "", "random": "≠", "kept": "=", "": ""}


class Cell(NamedTuple):
    """One token of a strip."""

    text: str                                        # the piece that the model reads
    colour: str                                      # "A" or "B" for the segment, or "special"
    glued: bool = False                              # does it continue the word before?
    kind: str = ""                                   # one of KINDS, if it is to be predicted
    label: str = ""                                  # the piece to predict
    span: int = -1                                   # number of its span

    @property
    def shown_label(self):
        """The piece to predict, after a sign for its kind: ≠well, =on."""
        return SIGNS[self.kind] + self.label

    @property
    def width(self):
        """Letters that the cell needs."""
        return max(len(self.text), len(self.shown_label), 3 if self.kind else 1)


class Strip(NamedTuple):
    """An instance in rows of cells."""

    title: str
    notes: list[str]
    rows: list[tuple[str, list[Cell]]]               # ("A", cells), ("B", cells)
    words: list[int]                                 # of each span

    def wrapped(self, width):
        """(segment, cells, start, end) for each line of at most `width` letters."""
        return [(segment, cells, *ends) for segment, cells in self.rows for ends in wrapped(cells, width)]


def strip(instances, tokenizer, epoch, number):
    """Make the strip of one instance."""
    of_kind("instances", instances, Instances, DataError)
    of_kind("tokenizer", tokenizer, Tokenizer, DataError)
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
    """The places of [CLS], and of the [SEP] that ends each segment."""
    last = len(detail.input_ids) - 1
    return {0, last} if control == 2 else {0, int((detail.token_type_ids == 0).sum()) - 1, last}


def cell(detail, tokenizer, place, span, special):
    model_reads, original = int(detail.input_ids[place]), int(detail.original_ids[place])
    glued = not special and place > 1 and not tokenizer.word_starts[original]
    return Cell(
        text=shown_piece(tokenizer.pieces[model_reads]),
        colour="special" if special else "AB"[detail.token_type_ids[place]],
        glued=bool(glued),
        kind=kind_of_mask(detail, place) if span >= 0 else "",
        label=shown_piece(tokenizer.pieces[original]) if span >= 0 else "",
        span=span,
    )


def kind_of_mask(detail, place):
    """Which of KINDS the masked token in this place is."""
    if detail.input_ids[place] == MASK:
        return "mask"
    return "kept" if detail.input_ids[place] == detail.original_ids[place] else "random"


def shown_piece(piece):
    """The piece without ▁, the sign for the space before it, which is drawn as a space."""
    return piece.removeprefix("▁") or "▁"


def wrapped(cells, width):
    """(start, end) of each line of cells that fit; a single cell that is wider stands alone."""
    start, used = 0, 0
    for i, cell in enumerate(cells):
        if i > start and used + 1 + cell.width > width:
            yield start, i
            start, used = i, 0
        used += cell.width + (1 if i > start else 0)
    if cells:
        yield start, len(cells)
