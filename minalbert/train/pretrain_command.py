"""`minalbert pretrain RUN`: train a model, watch it, stop it, go on."""

import json

from .errors import TrainError
from .settings_options import add_settings_arguments, settings_of


def add_arguments(parser):
    parser.description = (
        "Pretrain a model into the directory RUN. Ctrl-C saves and stops; the same command goes on from there."
    )
    parser.add_argument("run", metavar="RUN", help="directory of the run: settings, checkpoints, metrics")
    parser.add_argument("--from-step", type=int, metavar="N", help="go on from this checkpoint; put later ones aside")
    parser.add_argument("--print-config", action="store_true", help="print all settings as TOML, and do nothing else")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    add_settings_arguments(parser)


def run(options):
    settings = settings_of(options, options.run)
    if options.print_config:
        print(settings.toml(), end="")
        return 0
    from .loop import pretrain

    try:
        outcome = pretrain(settings, options.run, from_step=options.from_step)
    except KeyboardInterrupt:
        raise TrainError(f"stopped at once; the same command goes on from {options.run}'s newest checkpoint") from None
    print(json.dumps(found(outcome), indent=1) if options.json else "\n".join(report_lines(outcome)))
    return outcome.code


def found(outcome):
    """What JSON can say of it."""
    named = {name: value._asdict() for name, value in outcome._asdict().items() if hasattr(value, "_asdict")}
    return {name: value for name, value in outcome._asdict().items() if name != "model"} | named


def report_lines(outcome):
    ended = "stopped" if outcome.code else "finished"
    again = "; the same command goes on from here" if outcome.code else ""
    yield f"{outcome.directory}: {ended} at step {outcome.step:,} after {outcome.seconds:.0f} s of training{again}"
    yield from evaluation_lines(outcome.before, outcome.after)
    yield time_line(outcome.shares)


def time_line(shares):
    return "time: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


def evaluation_lines(before, after):
    """Held-out scores, in columns: what they were when this life of the run began, and what they are."""
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
