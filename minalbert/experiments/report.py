"""A table as a reader sees it: claim, the paper's numbers beside ours, verdicts, what may be concluded, and its price.

The page docs/paper.md is `page()`. Numbers of tables, verdicts and figures come from stored results, and so do those of
the experiments' `facts`; other numbers in sentences are the paper's, or those of benchmarks and notebooks.
"""

import textwrap
from types import SimpleNamespace
from typing import NamedTuple

from ..plots.compared import compared, described
from . import results
from .cells import FULL, QUICK, TRYING
from .intervals import FAILS, HOLDS, NOTHING, OPPOSITE, SHOWS, interval_of, judge, judge_exact
from .tables import TABLES, open_table

HEAD = """# The paper, table by table

Nobody repeats the pretraining of the ALBERT paper at home: it took 64 to 512 TPUs. But each of its claims can be asked
of small models: does it show there? This page has the answers, one claim after the other. `minalbert reproduce run
TABLE` makes the runs again, `minalbert reproduce show TABLE` prints a table, and `minalbert reproduce report` writes
this page from the results in `minalbert/experiments/results/`. `run TABLE --times 4 --device cuda` asks models four
times as wide, with four times the steps, on a GPU; no result on this page is such a one, and its steps at equal
operations or seconds stay those that were counted and timed for the small models.

**How to read it.** Models are small ({sizes}), and their texts, in all tables but one, are stories of [tiny
worlds](data.md), on whose other stories they are judged. A number is the mean over seeds; a seed is that of the
stories, of the first weights and of the masks. ± is half the width of the mean's 95 % interval, by Student's
distribution. With three seeds it is wide, and that of a share may go beyond 0 or 100 %; figures cut it there. The rules
of each verdict are numbers that are positive where the claim holds, computed for each seed. They were written down
before the runs, but for some that were added or changed when other results were known: equal seconds in Table 6; in
Tables 11 and 12 equal seconds, and equal operations but for twelve layers against three and H=128 against 64; in Table
5's tasks entailment, and the mean that has it; in `optimiser`, losses at rates chosen beforehand, in place of the best
of five; in `hops`, F1 without a chosen threshold. The claim **shows** if the interval of its mean lies above 0, **shows
the opposite** if it lies below, and **does not show** if 0 is in it. That is a verdict about these models, not about
the paper's. No interval is corrected for the number of rules: of the {rules} here that are judged by seeds, two may
show by chance, and two may show the opposite. All seeds of a table are judged by the same instances, whose own error is
in no interval.

**What was tried before.** Where a table says so, rates were chosen on seeds and on stories of their own; these runs are
stored beside the others, as `"size": "tried"`, and a test finds no lower mean among the rates that were tried with most
seeds. `abandoned.jsonl` has runs that were given up: four layers, which learnt slowly; twelve, which had not left the
plateau of word frequencies after 600 to 1,000 steps; and two arms of Table 4 at a higher rate, with which two of four
runs failed. The recipe of Table 5 is that of `minalbert demo`, whose length was chosen on seeds 0 to 2; seeds here
begin at 100.

**What it costs.** On one quiet core, runs of Table 4 and of three layers in Table 11 read 92,000 tokens a second. Their
rate is 0.78 of that of one large product, counting all operations of a step and every text at its full length; with
twelve layers it is 0.72 (`benchmarks/results/2026-11-23-reproduce.md`). The corpus, the vocabulary and the instances
that judge are made once for all arms of a seed.
"""


class Measured(NamedTuple):
    """What there is of a table."""

    experiment: object
    scores: dict                                     # {seed: {arm: {measure: number}}}; of counts {0: ...}
    lines: list                                      # the results

    @property
    def exact(self):
        return self.experiment.exact is not None

    def values(self, arm, measure):
        return [arms[arm][measure] for arms in self.scores.values() if measure in arms.get(arm, {})]

    def verdicts(self):
        rules = self.experiment.rules
        if self.exact:
            return [judge_exact(rule, self.scores[0]) for rule in rules]
        return [judge(rule, self.scores) for rule in rules]


def measured(name, lines=None, size=FULL, place=None):
    """A table with the stored results, or with others, made in a place."""
    experiment = open_table(name, place)
    if experiment.exact is not None:
        return Measured(experiment, {0: experiment.exact()}, [])
    lines = results.stored(experiment.name) if lines is None else lines
    return Measured(experiment, *results.scores_of(experiment, lines, size))


def arms_of(experiment):
    return list(experiment.arms or experiment.paper)


def rows(table):
    """The header of a table and its rows, as texts: the paper's columns, then ours."""
    experiment = table.experiment
    yield ["", *(column.title for column in (*experiment.paper_columns.values(), *experiment.columns.values()))]
    for arm in arms_of(experiment):
        paper = [shown(column.form, [given] if (given := experiment.paper.get(arm, {}).get(name)) is not None else [])
                 for name, column in experiment.paper_columns.items()]
        yield [arm, *paper, *(shown(column.form, table.values(arm, name), table.exact)
                              for name, column in experiment.columns.items())]


def shown(form, values, exact=True):
    if not values:
        return "–"
    if exact or len(values) == 1:
        return form.format(values[0])
    found = interval_of(values)
    return f"{form.format(found.mean)} ± {form.format(found.half)}"


def verdict_text(verdict):
    found = verdict.interval
    if found is None:
        return verdict.word
    if not found.seeds:
        return verdict.word
    return f"{verdict.word} ({found.mean:+.3f}, from {found.low:+.3f} to {found.high:+.3f}; {found.seeds} seeds)"


PLURALS = {SHOWS: "show", NOTHING: "do not show", OPPOSITE: "show the opposite", HOLDS: "hold", FAILS: "do not hold"}


def summary(table):
    """The verdicts in one: 5 of 8 show, 3 of 8 do not show."""
    unknown = "are not judged yet"
    found = [PLURALS.get(verdict.word, unknown) for verdict in table.verdicts()]
    return ", ".join(f"{found.count(words)} of {len(found)} {words}" for words in (*PLURALS.values(), unknown)
                     if words in found)


def panels(table):
    """The panels of a table's figure, as plots.compared draws them."""
    for panel in table.experiment.panels:
        paper = {arm: given[panel.paper] for arm, given in table.experiment.paper.items() if panel.paper in given}
        ends = shares if panel.form.endswith("%}") else tuple
        ours = {arm: (values, *ends(interval_of(values).ends)) for arm in arms_of(table.experiment)
                if (values := table.values(arm, panel.ours))}
        yield {"title": panel.title, "paper": paper, "ours": ours, "form": panel.form, "reverse": panel.reverse}


def shares(ends):
    """The part of an interval that a share can be in."""
    return tuple(min(max(end, 0.0), 1.0) for end in ends)


def figure(name):
    """A Figure of a table's stored results."""
    table = measured(name)
    return compared(arms_of(table.experiment), [*panels(table)], title_of(table.experiment))


def title_of(experiment):
    both = any(panel.paper for panel in experiment.panels)
    return f"{experiment.tables}, the paper's and ours" if both else experiment.tables


def price(table):
    """A sentence: what the runs took."""
    if table.exact:
        return "Nothing is trained."
    lines = table.lines
    if not lines:
        return "No runs are stored yet."
    arms = table.experiment.arms
    made = [line for line in lines if not arms[line["arm"]].run_of]
    taken = [line for line in lines if arms[line["arm"]].run_of]
    sentences = [price_of_runs(made)] if made else []
    if taken:
        others = " and ".join(dict.fromkeys(arms[line["arm"]].run_of[0].name for line in taken))
        minutes = sum(line["measured_in"] for line in taken) / 60
        sentences.append(f"{len(taken)} runs of {others}, measured in {minutes:,.1f} minutes of one busy core, "
                         f"{days_of(taken)}.")
    return " ".join(sentences)


def price_of_runs(lines):
    """A sentence: what was computed, and how long it took."""
    tokens, operations, seconds = (sum(line[of] for line in lines) for of in ("tokens", "operations", "seconds"))
    weights = sorted({line["weights"] for line in lines})
    sizes = f"{weights[0]:,}" if len(weights) == 1 else f"{weights[0]:,} to {weights[-1]:,}"
    return (f"{len(lines)} runs of models with {sizes} weights: {tokens / 1e6:,.0f} million tokens, "
            f"{operations / 1e12:,.1f}·10¹² operations; in all {seconds / 60:,.0f} minutes, each run on one busy core, "
            f"{days_of(lines)}.")


def days_of(lines):
    """The first and the last."""
    days = sorted({line["date"] for line in lines})
    return " to ".join(dict.fromkeys((days[0], days[-1])))


def text(name, lines=None, size=FULL, place=None):
    """Lines for a terminal."""
    table = measured(name, lines, size, place)
    experiment = table.experiment
    cells = list(rows(table))
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    yield f"{experiment.name}: {experiment.tables}"
    yield paragraph(experiment.claim, 100)
    yield ""
    for row in cells:
        yield "  ".join(text.ljust(width) if place == 0 else text.rjust(width)
                        for place, (text, width) in enumerate(zip(row, widths, strict=True))).rstrip()
    yield ""
    if size not in (QUICK, TRYING):
        for verdict in table.verdicts():
            yield f"{verdict.says}: {verdict_text(verdict)}"
    else:
        yield f"size {size}: no verdicts"
    yield price(table)


def section(table):
    """Lines of the page."""
    experiment, (head, *others) = table.experiment, list(rows(table))
    yield f"## {experiment.tables}: {experiment.name}"
    yield ""
    yield paragraph(f"**The paper.** {experiment.claim}")
    yield ""
    yield paragraph(f"**Here.** Changed: {experiment.changed}. Equal: {experiment.equal}.")
    yield ""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in others:
        yield "| " + " | ".join(row) + " |"
    yield ""
    if has_figure(table):
        words_of_it = described(arms_of(experiment), [*panels(table)], title_of(experiment))
        yield f"![{words_of_it}]({figure_name(experiment.name)})"
        yield ""
    yield "| rule | verdict |"
    yield "|---|---|"
    for verdict in table.verdicts():
        yield f"| {verdict.says} | **{verdict.word}**{verdict_text(verdict).removeprefix(verdict.word)} |"
    yield ""
    yield paragraph(f"**What follows.** {conclusions(table)}")
    if experiment.notes:
        yield ""
        yield paragraph(f"**In the paper itself.** {experiment.notes}")
    yield ""
    yield paragraph(f"*{price(table)}*")


def conclusions(table):
    """What follows, with its facts: {loss.mean:.2f}, {loss.low:.2f}, {loss.high:.2f}, and ascending {loss.values}."""
    facts = {}
    for name, value in table.experiment.facts.items():
        values = sorted(map(value, table.scores.values()))
        found = interval_of(values)
        facts[name] = SimpleNamespace(values=values, mean=found.mean, low=found.low, high=found.high)
    return table.experiment.means.format_map(facts)


def has_figure(table):
    return bool(table.experiment.panels) and (table.exact or bool(table.lines))


def figure_name(name):
    """Beside the page."""
    return f"paper_{name}.png"


def page():
    """docs/paper.md"""
    tables = [table for table in map(measured, TABLES) if table.exact or table.lines]
    weights = [line["weights"] for table in tables for line in table.lines]
    sizes = f"{min(weights):,} to {max(weights):,} weights" if weights else "some 100,000 weights"
    rules = sum(len(table.experiment.rules) for table in tables if not table.exact)
    lines = [HEAD.format(sizes=sizes, rules=rules)]
    lines += ["| claim | rules |", "|---|---|"]
    lines += [f"| [{table.experiment.tables}](#{anchor(table.experiment)}) | {summary(table)} |" for table in tables]
    for table in tables:
        lines += ["", *section(table)]
    if absent := [name for name in TABLES if name not in {table.experiment.name for table in tables}]:
        lines += ["", f"Not run yet: {', '.join(absent)}."]
    return "\n".join(lines) + "\n"


def anchor(experiment):
    title = f"{experiment.tables}: {experiment.name}".lower()
    return "".join(letter for letter in title if letter.isalnum() or letter in " -_").replace(" ", "-")


def paragraph(text, width=120):
    """A text in lines of this width."""
    return textwrap.fill(" ".join(text.split()), width, break_on_hyphens=False, break_long_words=False)
