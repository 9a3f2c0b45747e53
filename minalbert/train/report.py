"""What a person is told of a run at its end, and of a model's scores."""


def found(outcome):
    """What JSON can say of it."""
    named = {name: value._asdict() for name, value in outcome._asdict().items() if hasattr(value, "_asdict")}
    return {name: value for name, value in outcome._asdict().items() if name != "model"} | named


def report_lines(outcome, again):
    """`again`: the command that goes on from here."""
    ended, more = ("stopped", f"; {again} goes on from here") if outcome.code else ("finished", "")
    yield f"{outcome.directory}: {ended} at step {outcome.step:,} after {outcome.seconds:.0f} s of training{more}"
    yield from evaluation_lines(outcome.before, outcome.after)
    yield time_line(outcome.spent)


def time_line(spent):
    total = sum(spent.values()) or 1.0
    return "time: " + ", ".join(f"{name} {seconds / total:.1%}" for name, seconds in spent.items())


def evaluation_lines(before, after):
    """Held-out scores, in columns: when the run began, and now."""
    rows = [("held-out", "MLM accuracy", "MLM loss", "SOP accuracy", "in order", "swapped")]
    for name, found in (("before", before), ("now", after)):
        if found:
            rows.append((name, percent(found.mlm_accuracy), number(found.mlm_loss), percent(found.sop_accuracy),
                         percent(found.sop_recall_in_order), percent(found.sop_recall_swapped)))  # fmt: skip
    for name, *values in rows:
        yield f"{name:<9}" + "".join(f"{value:>14}" for value in values)


def percent(share):
    return "-" if share is None else f"{share:.1%}"


def number(value):
    return "-" if value is None else f"{value:.3f}"
