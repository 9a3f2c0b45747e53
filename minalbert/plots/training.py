"""How training went: the curves of one run, or of several on top of each other.

    training_curves([read_curves("runs/first")])     # a matplotlib Figure; see minalbert.train.curves

Lines are named where they end, in their own colour, and need no legend.
"""

from collections import Counter
from functools import partial
from itertools import product

import numpy as np

from ..errors import InputError
from .panels import finish, level, line, mark, name_ends, panel
from .style import GREEN, INK, ORANGE, TEXT, describe_lines, drawing, figure

WIDTH, LEFT = 8.0, 0.5                               # inches: of the figure, and left of a panel
HEAD, TITLE, TICKS = 0.4, 0.5, 0.35                  # above them all; above and below a panel
LARGE, SMALL, RATIOS = 2.1, 1.2, 2.8                 # heights
BLUE, PURPLE = TEXT["A"], "#BD6297"                  # dark enough for text on white, light enough on black
STYLES = tuple(product(("-", "--"), (BLUE, ORANGE, GREEN, PURPLE, INK)))
FAMILIES = {"embeddings": ORANGE, "attention": BLUE, "ffn": GREEN, "pooler": PURPLE, "mlm": PURPLE, "sop": PURPLE}
TROUBLES = ("spike", "not finite", "rolled back")
LIGHT = 0.4
MANY = 40                                            # tests, from which on a line has no dots


@drawing
def training_curves(runs):
    """The curves of one or several runs. `runs` are the results of minalbert.train.curves.read_curves(run)."""
    runs = list(runs)
    if not 1 <= len(runs) <= len(STYLES):
        raise InputError(f"{len(runs)} runs were given; from 1 to {len(STYLES)} are distinguishable")
    rows = list(rows_of(runs))
    if not rows:
        raise InputError(f"{', '.join(run.name for run in runs)}: nothing was measured yet")
    height = HEAD + sum(TITLE + tall + TICKS for tall, _, _, _ in rows)
    description = {f"{what} of {run.name}": run.held_out[column] for run in runs
            for what, column in (("MLM loss", "mlm_loss"), ("SOP accuracy", "sop_accuracy"),
                                 *((name, name) for name in run.own_scores[:1]))}  # fmt: skip
    drawn = figure(WIDTH, height, f"training curves on held-out text: {describe_lines(description)}")
    draw_head(drawn, runs, height)
    y = height - HEAD
    for tall, right, draws, some in rows:
        y -= TITLE + tall
        room = WIDTH / len(draws)
        for i, draw in enumerate(draws):
            place = (i * room + LEFT) / WIDTH, y / height, (room - LEFT - right) / WIDTH, tall / height
            draw(drawn.add_axes(place), some)
        y -= TICKS
    return drawn


def rows_of(runs):
    """(height, room for names, panels, runs) of each row of panels. Panels without data are left out."""
    large = {draw_mlm_loss: ("held_out", "mlm_loss"), draw_order: ("held_out", "sop_accuracy")}
    for name in dict.fromkeys(name for run in runs for name in run.own_scores[:1]):
        large |= {draw_loss: ("train", "loss"), partial(draw_score, name): ("held_out", name)}
    small = {
        draw_words: ("held_out", "mlm_accuracy"),
        draw_rate: ("train", "rate"),
        draw_norm: ("train", "gradient_norm"),
    }
    for tall, right, panels in ((LARGE, 0.45 if len(runs) == 1 else 1.35, large), (SMALL, 0.45, small)):
        draws = [draw for draw, (part, column) in panels.items()
                 if any(np.isfinite(getattr(run, part).get(column, np.nan)).any() for run in runs)]  # fmt: skip
        if draws:
            yield tall, right, draws, runs
    for run in runs:
        if run.ratios:
            yield RATIOS, 1.8, [draw_ratios], [run]


def draw_head(drawn, runs, height):
    y = 1 - 0.2 / height
    title, sizes = f"{len(runs)} runs", []
    if len(runs) == 1:
        start = runs[0].start
        title, sizes = runs[0].name, [f"{start['parameters']:,} parameters"] if "parameters" in start else []
        sizes += [f"batch {start['batch']:,}"] if "batch" in start else []
    drawn.text(LEFT / WIDTH, y, title, color=INK, fontsize=13, fontweight="bold", va="center")
    drawn.text(1 - 0.45 / WIDTH, y, ", ".join(sizes), color=INK, fontsize=9, va="center", ha="right")


# Panels


def draw_mlm_loss(axes, runs):
    panel(axes, "MLM loss", "on held-out text; light: in training" + "; large: left the plateau" * (len(runs) > 1))
    for run, (_, colour) in zip(runs, STYLES, strict=False):
        line(axes, run.train["step"], smooth(run.train["mlm_loss"]), colour, alpha=LIGHT)
    ends = held_out(axes, runs, "mlm_loss", "{:.2f}")
    finish(axes, last_step(runs), low=0)
    entropy = baseline(runs, "unigram_entropy")
    if entropy is not None:
        stays = all(loss > entropy for _, loss, *_ in ends)
        level(axes, entropy, f"guessing by frequency {entropy:.2f}", below=stays)
    milestone(axes, runs, "mlm_loss", "left the plateau", rises=False)
    name_ends(axes, ends)


def draw_order(axes, runs):
    marks = "; light: each kind alone" if len(runs) == 1 else "; large: order learnt"
    panel(axes, "SOP accuracy", "of pairs in order or swapped" + marks)
    if len(runs) == 1:
        for column in ("sop_recall_in_order", "sop_recall_swapped"):
            line(axes, runs[0].held_out["step"], runs[0].held_out[column], INK, width=1, alpha=LIGHT)
    ends = held_out(axes, runs, "sop_accuracy", "{:.0%}")
    finish(axes, last_step(runs), 0, 1, "{:.0%}")
    level(axes, 0.5, "guessing", below=True)
    milestone(axes, runs, "sop_accuracy", "order learnt", rises=True)
    name_ends(axes, ends)


def draw_loss(axes, runs):
    panel(axes, "loss", "in training; light: of each batch that was noted")
    for run, (dash, colour) in zip(runs, STYLES, strict=False):
        line(axes, run.train["step"], run.train["loss"], colour, width=0.8, alpha=LIGHT)
        line(axes, run.train["step"], smooth(run.train["loss"], 0.1), colour, dash=dash)
    finish(axes, last_step(runs), low=0)


def draw_score(name, axes, runs):
    """A fine-tuning's score. The point is that of the best step."""
    panel(axes, name, "on the dev set; the large point: the best step")
    ends = held_out(axes, runs, name, "{:.3f}")
    values = [run.held_out[name] for run in runs if name in run.held_out]
    finish(axes, last_step(runs), min(0, *(np.nanmin(found) for found in values)), 1)
    guess = baseline(runs, f"guessing_{name}")
    if guess is not None:
        level(axes, guess, f"guessing {guess:.3f}" * (len(runs) == 1), below=True)
        ends += [(last_step(runs), guess, f"guessing {guess:.3f}", INK)] * (len(runs) > 1)
    for run, (_, colour) in zip(runs, STYLES, strict=False):
        later = np.where(run.held_out["step"] > 0, run.held_out.get(name, np.nan), np.nan)
        if np.isfinite(later).any():
            best = np.nanargmax(later)
            mark(axes, run.held_out["step"][best], later[best], colour, "", rises=True)
    name_ends(axes, ends)


def draw_words(axes, runs):
    panel(axes, "MLM accuracy", "hidden words found")
    ends = held_out(axes, runs, "mlm_accuracy", "{:.0%}")
    finish(axes, last_step(runs), 0, 1, "{:.0%}")
    share = baseline(runs, "most_frequent_word")
    if share is not None:
        level(axes, share, "most frequent word", below=True)
    if len(runs) == 1:
        name_ends(axes, ends)


def draw_rate(axes, runs):
    peaks = {max((rate for rate in run.train["rate"] if rate == rate), default=0.0) for run in runs}
    panel(axes, "learning rate", f"at most {peaks.pop():.3g}" if len(peaks) == 1 else "")
    for run, (dash, colour) in zip(runs, STYLES, strict=False):
        line(axes, run.train["step"], run.train["rate"], colour, dash=dash)
    finish(axes, last_step(runs), low=0)


def draw_norm(axes, runs):
    troubles = [event for run in runs for event in run.events if event.event in TROUBLES]
    counts = Counter(event.event for event in troubles)
    seen = "▼ " * bool(counts) + ", ".join(f"{count} × {event}" for event, count in counts.items())
    panel(axes, "gradient norm", seen or "before clipping")
    for run, (dash, colour) in zip(runs, STYLES, strict=False):
        steps, norms = run.train["step"], run.train["gradient_norm"]
        if len(runs) == 1:
            line(axes, steps, norms, colour, width=0.8, alpha=LIGHT)
        line(axes, steps, smooth(norms, log=True), colour, width=1.1, dash=dash)
    finish(axes, last_step(runs), log=True)
    axes.plot([event.step for event in troubles], [1] * len(troubles), "v", color=INK, markersize=4, clip_on=False,
              transform=axes.get_xaxis_transform())  # fmt: skip


def draw_ratios(axes, runs):
    """The ratios of one run. Tensors that differ only in the layer's number share a name, at the middle one's end."""
    (run,) = runs
    panel(axes, "trust ratios", f"‖w‖ / ‖u‖ of each tensor in {run.name}: how much of the rate it takes, by its size")
    ends = {}
    for name in run.ratios.keys() - {"step"}:
        colour = next((colour for part, colour in FAMILIES.items() if part in name), INK)
        end = line(axes, run.ratios["step"], smooth(run.ratios[name], log=True), colour, width=1.1)
        if end:
            ends.setdefault(without_layer(name), []).append((*end, colour))
    finish(axes, last_step(runs), log=True)
    names = []
    for name, found in ends.items():
        step, value, colour = sorted(found, key=lambda end: end[1])[len(found) // 2]
        names.append((step, value, name + f" × {len(found)}" * (len(found) > 1), colour))
    name_ends(axes, names)


# What the panels share


def held_out(axes, runs, column, form):
    """Draw a line for each run. Returns their ends and names."""
    ends = []
    for run, (dash, colour) in zip(runs, STYLES, strict=False):
        values = run.held_out.get(column, np.full(len(run.held_out["step"]), np.nan))
        end = line(axes, run.held_out["step"], values, colour, dash=dash, dots=len(values) < MANY)
        if end:
            name = f"{short(run.name)} " if len(runs) > 1 else ""
            ends.append((*end, name + form.format(end[1]), colour))
    return ends


def milestone(axes, runs, column, event, rises):
    for run, (_, colour) in zip(runs, STYLES, strict=False):
        step = run.when(event)
        there = np.isfinite(run.held_out[column])
        if step is not None and there.any():
            value = np.interp(step, run.held_out["step"][there], run.held_out[column][there])
            mark(axes, step, value, colour, f"{event}, step {step:,}" if len(runs) == 1 else "", rises)


def baseline(runs, name):
    """A baseline that the runs report, if they agree except for their random held-out masks; else None."""
    values = [run.start.get(name) for run in runs]
    if None in values or max(values) - min(values) > 0.02 * max(values):
        return None
    return sum(values) / len(values)


def last_step(runs):
    return max(max(part["step"], default=0) for run in runs for part in (run.train, run.held_out))


def short(name, longest=13):
    return name if len(name) <= longest else "…" + name[1 - longest :]


def without_layer(name):
    """encoder.attention.3.query.w -> attention query"""
    words = name.removesuffix(".w").replace("_", " ").split(".")
    return " ".join(word for word in words if not word.isdigit() and word != "encoder")


def smooth(values, share=0.02, log=False):
    """A moving mean over `share` of all values, without those that are NaN."""
    if log:
        return np.exp(smooth(np.log(np.where(values > 0, values, np.nan)), share))
    reach, places, there = int(share * len(values) / 2), np.arange(len(values)), np.isfinite(values)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (np.where(there, values, 0.0), there))
    low, high = np.maximum(places - reach, 0), np.minimum(places + reach + 1, len(values))
    with np.errstate(invalid="ignore"):
        return np.where(there, (sums[high] - sums[low]) / (counts[high] - counts[low]), np.nan)
