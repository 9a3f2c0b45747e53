"""The lines that commands print of a run that ends, and of a model's scores."""


def as_json(result):
    """A RunResult or a Sweep without its model, of lists, dicts and numbers."""
    return {name: plain(value) for name, value in result._asdict().items() if name != "model"}


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value._asdict() if hasattr(value, "_asdict") else value


def result_lines(result, again):
    """`again`: the command that resumes the run."""
    yield ended_line(result, again)
    yield from evaluation_lines(result.before, result.after)
    yield guessing_line(result.baselines)
    if any(result.spent.values()):
        yield time_line(result.spent)
    if not result.code:
        yield f"next: minalbert plot {result.directory}; minalbert fill \"... [MASK] ...\" --model {result.directory}"


def ended_line(result, again):
    ended, more = ("stopped", f"; {again} resumes it") if result.code else ("finished", "")
    return f"{result.directory}: {ended} at step {result.step:,} after {result.seconds:.0f} s of training{more}"


def time_line(spent):
    total = sum(spent.values()) or 1.0
    return "time: " + ", ".join(f"{name} {seconds / total:.1%}" for name, seconds in spent.items())


def evaluation_lines(before, after):
    """Held-out scores, in columns: when the run began, and now."""
    yield columns("held-out", "MLM accuracy", "MLM loss", "SOP accuracy", "in order", "swapped")
    for name, found in (("begin", before), ("now", after)):
        if found:
            yield columns(name, percent(found.mlm_accuracy), number(found.mlm_loss), percent(found.sop_accuracy),
                          percent(found.sop_recall_in_order), percent(found.sop_recall_swapped))


def columns(name, *values):
    return f"{name:<9}" + "".join(f"{value:>14}" for value in values)


def percent(share):
    return "-" if share is None else f"{share:.1%}"


def number(value):
    return "-" if value is None else f"{value:.3f}"


def guessing_line(known):
    """What one gets without reading: always the most frequent word, each as often as it occurs, an order at random."""
    return columns("guessing", percent(known.most_frequent_word), number(known.unigram_entropy), percent(0.5))
