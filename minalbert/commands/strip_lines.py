"""A strip as text: the tokens of an instance in lines, below them the labels and the spans."""

# Colours by number, in the middle of the scale, so that they can be read on black and on white. All differ for
# colour-blind eyes too, and no colour says anything that the signs do not say.
COLOURS = {
    "A": "38;5;32", "B": "38;5;166", "special": "38;5;244", "label": "1", "quiet": "38;5;244",
    "mask": "1;38;5;16;48;5;220", "random": "1;38;5;16;48;5;175", "kept": "1;38;5;16;48;5;43",
}


def lines(strip, width=100, colour=False):
    """The strip in lines of at most `width` columns."""
    paint = painted if colour else lambda text, _: text
    yield paint(strip.title, "label")
    yield from strip.notes
    previous = None
    for segment, cells, start, end in strip.wrapped(width - 3):
        if segment != previous:
            yield ""
        tops, labels, spans = columns(cells, start, end, strip.words, paint)
        yield f"{paint(segment if segment != previous else ' ', segment)}  {tops}"
        if labels.strip():
            yield f"   {labels}"
            yield f"   {spans}"
        previous = segment
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


def columns(cells, start, end, words, paint):
    """Three lines: the tokens that the model reads, the labels, and brackets under spans."""
    tops, labels, spans = "", "", ""
    for i in range(start, end):
        cell, label, width = cells[i], cells[i].shown_label, cells[i].width
        opens = cell.span >= 0 and (i == 0 or cells[i - 1].span != cell.span)
        closes = cell.span >= 0 and (i + 1 == len(cells) or cells[i + 1].span != cell.span)
        if i > start:
            tops += "·" if cell.glued else " "
            labels += " "
            spans += paint("─", "quiet") if cell.span >= 0 and not opens else " "
        tops += paint(cell.text, cell.kind or cell.colour) + " " * (width - len(cell.text))
        labels += (paint(label, "label") if label else "") + " " * (width - len(label))
        spans += paint(bracket(width, opens, closes, words[cell.span]), "quiet") if cell.span >= 0 else " " * width
    return tops.rstrip(), labels.rstrip(), spans.rstrip()


def bracket(width, opens, closes, words):
    """╰2─╯, or the part of it that stands under one token."""
    text = f"╰{words}" if opens else ""
    return text + "─" * (width - len(text) - closes) + ("╯" if closes else "")
