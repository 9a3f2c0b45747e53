"""`minalbert pretrain RUN`: train a model, watch it, stop it, go on."""

import json

from ..train.report import found, report_lines
from ..train.screen import tell
from .settings_options import add_settings_arguments, settings_of


def add_arguments(parser):
    parser.description = (
        "Pretrain a model into the directory RUN. Ctrl-C saves and stops; the same command goes on from there."
    )
    parser.usage = "minalbert pretrain RUN --corpus DIR [--config FILE] [--preset NAME] [any setting below]"
    parser.add_argument("run", metavar="RUN", help="directory of the run: settings, checkpoints, metrics")
    parser.add_argument("--from-step", type=int, metavar="N", help="go on from this checkpoint; put later ones aside")
    parser.add_argument("--print-config", action="store_true", help="print all settings as TOML, and do nothing else")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    add_settings_arguments(parser)


def run(options):
    settings = settings_of(options, options.run)
    if options.print_config:
        print(settings.toml(defaults="shown"), end="")
        return 0
    from ..train.loop import pretrain

    try:
        outcome = pretrain(settings, options.run, from_step=options.from_step)
    except KeyboardInterrupt:
        tell(f"stopped at once; {options.run} goes on from its newest checkpoint")
        return 130
    again = f"minalbert pretrain {options.run}" if options.from_step is not None else "the same command"
    print(json.dumps(found(outcome), indent=1) if options.json else "\n".join(report_lines(outcome, again)))
    return outcome.code
