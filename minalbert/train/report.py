"""What a person is told of a run when it begins and when it ends, and of a model's scores."""

from ..params import count

FEW = 100                                            # instances, for a score in per cent


def introduction(run, settings, prepared, standing):
    if standing.finished:
        yield f"{run} is finished: {standing.step:,} steps, {standing.seconds:.0f} s of training"
        return
    config, training, instances = prepared.config, settings.training, len(prepared.instances)
    yield (f"{count(config):,} weights, {config.num_hidden_layers} layers, sharing {config.sharing}; "
           f"{settings.optimiser.optimiser}, rate {settings.peak_rate:g}; "
           f"{training.steps:,} steps of {training.batch}, "
           f"{training.steps * training.batch / instances:.1f} times {instances:,} instances")  # fmt: skip
    held_out = len(prepared.held_out.sop_labels)
    if held_out < FEW:
        yield f"only {held_out} held-out instances: their scores mean little; more text or --held-out-share gives more"


def time_is_up(settings, step):
    return (f"the limit of {settings.schedule.minutes:g} minutes ended the run at step {step:,} of "
            f"{settings.training.steps:,}; its result hangs on the clock")  # fmt: skip


def found(outcome):
    """What JSON can say of it."""
    named = {name: value._asdict() for name, value in outcome._asdict().items() if hasattr(value, "_asdict")}
    return {name: value for name, value in outcome._asdict().items() if name != "model"} | named


def report_lines(outcome, again):
    """`again`: the command that goes on from here."""
    ended, more = ("stopped", f"; {again} goes on from here") if outcome.code else ("finished", "")
    yield f"{outcome.directory}: {ended} at step {outcome.step:,} after {outcome.seconds:.0f} s of training{more}"
    yield from evaluation_lines(outcome.before, outcome.after)
    yield guessing_line(outcome.baselines)
    if any(outcome.spent.values()):
        yield time_line(outcome.spent)
    if not outcome.code:
        yield f"next: minalbert plot {outcome.directory}; minalbert fill \"... [MASK] ...\" --model {outcome.directory}"


def time_line(spent):
    total = sum(spent.values()) or 1.0
    return "time: " + ", ".join(f"{name} {seconds / total:.1%}" for name, seconds in spent.items())


def evaluation_lines(before, after):
    """Held-out scores, in columns: when the run began, and now."""
    rows = [("held-out", "MLM accuracy", "MLM loss", "SOP accuracy", "in order", "swapped")]
    for name, found in (("begin", before), ("now", after)):
        if found:
            rows.append((name, percent(found.mlm_accuracy), number(found.mlm_loss), percent(found.sop_accuracy),
                         percent(found.sop_recall_in_order), percent(found.sop_recall_swapped)))  # fmt: skip
    for name, *values in rows:
        yield f"{name:<9}" + "".join(f"{value:>14}" for value in values)


def percent(share):
    return "-" if share is None else f"{share:.1%}"


def number(value):
    return "-" if value is None else f"{value:.3f}"


def guessing_line(known):
    """What one gets without reading: always the most frequent word, each as often as it occurs, a coin."""
    guesses = (percent(known.most_frequent_word), number(known.unigram_entropy), percent(0.5))
    return f"{'guessing':<9}" + "".join(f"{value:>14}" for value in guesses)
