"""Table 12: wider layers, three of them, which share all their weights, at equal steps, operations and seconds."""

from .common import COLUMNS, QUICK, RECIPE, STORIES, WORLDS, loss_of, measure, operations
from .experiment import Arm, Column, Experiment, Panel, Rule

WIDTHS = (32, 64, 128, 256)                          # the paper's: 1024, 2048, 4096, 6144


def name_of(H):
    return f"H={H}"


def sizes(H):
    """A model of this width, with heads of 16 and first weights of its spread."""
    return {"hidden_size": H, "intermediate_size": 4 * H, "num_attention_heads": H // 16, "initializer_range": H**-0.5,
            "rate": 0.003 * (64 / H) ** 0.5}


STEPS = 1000
LONGER = "H=64, operations of 128"
MORE_STEPS = round(STEPS * operations(sizes(128)) / operations(sizes(64)))
AS_LONG = "H=64, seconds of 128"
STEPS_AS_LONG = round(2.78 * STEPS)                  # a step took so much longer (2.71 to 2.85)

EXPERIMENT = Experiment(
    name="width",
    tables="Table 12",
    claim="""
        With three layers, the mean score on tasks is 71.2, 74.6 and 76.3 with H = 1024, 2048 and 4096. With 6144 it
        falls to 74.0: wider is better, less and less, until it is worse. None of these models overfits.
    """,
    paper={name_of(H): {"H": wide, "millions": millions, "tasks": tasks} for H, (wide, millions, tasks) in zip(
        WIDTHS, ((1024, 18, 71.2), (2048, 60, 74.6), (4096, 225, 76.3), (6144, 499, 74.0)), strict=True)},
    paper_columns={"H": Column("paper: H", "{:.0f}"), "millions": Column("million weights", "{:.0f}"),
                   "tasks": Column("tasks", "{:.1f}")},
    columns=COLUMNS,
    rules=(
        Rule("H=64 has a lower loss than H=32", loss_of("H=32", "H=64")),
        Rule("H=128 has a lower loss than H=64", loss_of("H=64", "H=128")),
        Rule("the step from 32 to 64 is worth more than that from 64 to 128",
             lambda arms: loss_of("H=32", "H=64")(arms) - loss_of("H=64", "H=128")(arms)),
        Rule("H=256 has a higher loss than H=128", loss_of("H=256", "H=128")),
        Rule("at equal operations, H=128 has a lower loss than H=64", loss_of(LONGER, "H=128")),
        Rule("at equal seconds, H=128 has a lower loss than H=64", loss_of(AS_LONG, "H=128")),
    ),
    changed="the width of the layers; with it the rate, 0.003 √(64 / H), and the spread of first weights, 1 / √H",
    equal=f"stories, masks, {STEPS:,} steps of 64 ({MORE_STEPS:,} and {STEPS_AS_LONG:,} of H=64); three shared layers",
    means="""
        Equal steps are compared, and for H=64 and 128 equal operations and equal seconds. A step of H=256 has 51 times
        the operations of one of H=32, and took 19 times the seconds; one of H=128 has 3.7 times the operations of one
        of H=64, and takes 2.78 times the seconds (a quiet core, `benchmarks/results/2026-11-23-reproduce.md`). After
        1,000 steps all losses lie between 4.4 and 4.7 nats; by the frequencies of words alone it is 5.39. By the rules
        one difference between widths shows, 0.19 nats between H=128 and H=256; H=64 is better than H=256, too (by 0.29,
        from 0.04 to 0.54). The rates may be the reason: they follow a formula, and no others were tried. More steps
        matter more: with the operations of H=128, H=64 reaches 2.33 nats, and in its seconds 2.88. In the paper, 6144
        is worse than 2048 and 4096, and better than 1024; nothing here can tell why.
    """,
    panels=(Panel("the paper: mean score on tasks", "tasks", form="{:.0f}"),
            Panel("ours: loss on masked words, nats", ours="mlm loss", form="{:.2f}", reverse=True)),
    arms={name_of(H): Arm(sizes(H)) for H in WIDTHS}
    | {name: Arm(sizes(64) | {"steps": steps}) for name, steps in ((LONGER, MORE_STEPS), (AS_LONG, STEPS_AS_LONG))},
    settings=RECIPE.change(num_hidden_layers=3, steps=STEPS),
    worlds=WORLDS,
    stories=STORIES,
    measure=measure,
    quick=QUICK,
)
