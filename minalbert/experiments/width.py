"""Table 12: wider layers, three of them, which share all their weights, at equal steps, operations and seconds."""

from .common import COLUMNS, QUICK, RECIPE, STORIES, WORLDS, equal_cost, loss, loss_of, measure
from .experiment import Arm, Column, Experiment, Panel, Rule

WIDTHS = (32, 64, 128, 256)                          # the paper's: 1024, 2048, 4096, 6144


def name_of(H):
    return f"H={H}"


def sizes(H):
    """A model of this width, with heads of 16 and first weights of its spread."""
    return {"hidden_size": H, "intermediate_size": 4 * H, "num_attention_heads": H // 16, "initializer_range": H**-0.5,
            "rate": 0.003 * (64 / H) ** 0.5}


STEPS = 1000
STEPS_AT = equal_cost(STEPS, 128, sizes, seconds={32: 5.7, 64: 2.78, 256: 0.30})


def name_at(cost, H):
    """The arm that costs what H=128 does."""
    return name_of(H) + (f", {cost} of 128" if H != 128 else "")


def rules_at(cost):
    """The order of neighbouring widths, at an equal cost."""
    arms = {H: name_at(cost, H) for H in WIDTHS}
    return (Rule(f"at equal {cost}, H=64 has a lower loss than H=32", loss_of(arms[32], arms[64])),
            Rule(f"at equal {cost}, H=128 has a lower loss than H=64", loss_of(arms[64], arms[128])),
            Rule(f"at equal {cost}, H=256 has a higher loss than H=128", loss_of(arms[256], arms[128])))


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
        *rules_at("operations"),
        *rules_at("seconds"),
    ),
    changed="the width of the layers; with it the rate, 0.003 √(64 / H), and the spread of first weights, 1 / √H",
    equal=f"stories, masks, three shared layers; {STEPS:,} steps of 64, or their operations or seconds with H=128",
    means="""
        At equal steps one difference between neighbours shows, {by_128.mean:.2f} nats between H=128 and H=256; the
        rates may be its reason, for they follow a formula and no others were tried. At an equal cost the narrowest
        model is the best: {h_32_operations.mean:.2f} nats with H=32, {h_64_operations.mean:.2f} with H=64,
        {h_128.mean:.2f} with H=128 and {h_256_operations.mean:.2f} with H=256 by operations, and by seconds
        {h_32_seconds.mean:.2f}, {h_64_seconds.mean:.2f}, {h_128.mean:.2f} and {h_256_seconds.mean:.2f}. The number of
        steps goes with it: from 13,053 to 257, and from 5,700 to 300. After so few, H=256 has a higher loss than
        guessing by the frequencies of words (5.39): the two rules about it say that it had too few steps, and nothing
        about the paper's 6144. H=32 reads its stories 7.4 times at equal operations. So this tells how short the runs
        are, and not how wide a model should be. A step of H=256 has 51 times the operations of one of H=32 and takes 19
        times the seconds (`benchmarks/results/2026-11-23-reproduce.md`). In the paper, 6144 is worse than 2048 and
        4096, and better than 1024; nothing here can tell why.
    """,
    facts={"h_128": loss("H=128"), "by_128": loss_of("H=256", "H=128")}
    | {f"h_{H}_{cost}": loss(name_at(cost, H)) for cost, steps in STEPS_AT.items() for H in steps},
    panels=(Panel("the paper: mean score on tasks", "tasks", form="{:.0f}"),
            Panel("ours: loss on masked words, nats", ours="mlm loss", form="{:.2f}", reverse=True)),
    arms={name_of(H): Arm(sizes(H)) for H in WIDTHS}
    | {name_at(cost, H): Arm(sizes(H) | {"steps": steps[H]}) for cost, steps in STEPS_AT.items() for H in steps},
    settings=RECIPE.change(num_hidden_layers=3, steps=STEPS),
    worlds=WORLDS,
    stories=STORIES,
    measure=measure,
    quick=QUICK,
)
