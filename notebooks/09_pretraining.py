# %% [markdown]
# # 9. What a model learns depends on what it is asked
#
# BERT was asked whether a second piece of text follows the first or comes from elsewhere (NSP, next-sentence
# prediction). ALBERT is asked whether two pieces that belong together are in order or swapped (SOP). The paper claims
# that the first question teaches nothing about order, and the second a good deal of both. **Is that so?** Both models
# can be trained in minutes, if their world is small.
#
# Six models are trained here, some twelve minutes on two cores. Interrupted runs resume the next time.
# `MINALBERT_FAST=1` makes everything small: the same code in seconds, which learns nothing.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np

from minalbert import Albert, data, plots, train
from minalbert.optim import Moments, clip_factor, global_norm

FAST = os.environ.get("MINALBERT_FAST") == "1"
STEPS, STORIES, SEEDS = (40, 600, [0]) if FAST else (6500, 30_000, [0, 1, 2])
RUNS = Path("runs") / ("09-fast" if FAST else "09")
print("small: the text tells of the large runs" if FAST else f"six runs of {STEPS:,} steps")

# %% [markdown]
# ## A world in which topic and order are two things
#
# Tiny worlds tell stories by scripts. Here only rings are used, such as a ferry's day: a story begins anywhere, so that
# no step is early or late by itself. A sentence's words tell which of the eight scripts it is from: that is *topic*.
# Which step follows which is *order*. Sentences that are no step of the script are left out, except for a passer-by in
# a story that would be too short. Other cues to early and late are left out, too: a person is always *Maud*, never
# *she*, and a thing is *the basket* from the start, never *a basket*.

# %%
NOTHING = dict.fromkeys("p_branch p_handover p_long p_fill p_conn p_adverb p_adjective p_place".split(), 0.0)
worlds = data.TinyWorlds(ring_fraction=1.0, entity_cues=False, **NOTHING)
corpus = data.build_corpus(data.story_sources(worlds, STORIES), data.WordTokenizer(worlds.words()), RUNS / "worlds")
tokenizer = corpus.tokenizer()
print("\n".join(worlds.story(2).sentences))
scripts = {worlds.story(number).schema for number in range(200)}
print(f"{corpus.totals()['documents']:,} stories of {len(scripts)} scripts")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert len(scripts) == 8
assert corpus.totals()["documents"] == STORIES

# %% [markdown]
# Both questions are put to pairs of parts of one story. For SOP half of the pairs are swapped. For NSP half of the
# second parts are replaced by as many words of a story *by another script*, because two texts of a large corpus are
# about different things. Otherwise the two kinds of training are the same: first weights, masked words, steps, rates.
#
# Some settings are not ALBERT's. It has 12 layers, masks 15 % and trains with LAMB in batches of 4,096; here are two
# layers, 10 % and AdamW with $\beta_2 = 0.98$ in batches of 32. They were chosen because order is learnt with them
# within minutes: a word that is masked for MLM is missing for SOP, too, and with so small a batch LAMB showed no
# advantage ([docs/demo.md](../docs/demo.md)). Both kinds of model have the same settings.

# %%
settings = train.Settings().change(
    preset="tiny", num_hidden_layers=2, max_position_embeddings=80, vocab_size=corpus.vocab_size,
    corpus=str(RUNS / "worlds"), max_length=80, max_predictions=8, mask_fraction=0.1, short_fraction=0.0,
    steps=STEPS, batch=32, micro_batch=32, workers=1, optimiser="adamw", rate=0.003, beta2=0.98,
    evaluate_every=max(20, STEPS // 20), evaluate_instances=2000, every=max(20, STEPS // 4),
)  # fmt: skip
nsp = data.Instances(corpus, tokenizer, settings.change(pairs="nsp").recipe, seed=0)
number = next(number for number in range(100) if nsp.batch(0, np.array([number])).sop_labels[0] == 1)
plots.instance_strip(data.strip_of_instance(nsp, tokenizer, 0, number))

# %% [markdown]
# ## The loop
#
# A step is a batch, two losses, a gradient that is clipped, and a step of the optimiser at the current learning
# rate:

# %%
def by_hand(settings, steps):
    prepared, batch_size = train.prepare(settings), settings.training.batch
    model = Albert.init(prepared.config, settings.training.seed)
    optimiser, schedule, moments = settings.make_optimiser(), settings.make_schedule(), Moments.zeros(model.params)
    for step, batch in enumerate(islice(prepared.instances.batches(batch_size, epoch=0), steps)):
        losses, grads = model.loss_and_grads(batch)
        scale = clip_factor(global_norm(grads), settings.optimiser.clip)
        optimiser.step(model.params, grads, moments, schedule.rate(step), step + 1, scale)
        yield losses.mlm + losses.sop


# %% [markdown]
# The library's loop does the same, and more: tests at intervals, checkpoints that survive a power cut, a log, a check
# for losses that are not finite. It uses the fused kernels, which are faster, and the lines above use the plain ones.
# Here are the losses of five steps of each:

# %%
short = settings.change(steps=5, evaluate_every=5, evaluate_instances=100, every=5, log_every=1)
train.pretrain(short, RUNS / "five")
library, hand = train.read_curves(RUNS / "five").train["loss"], np.array(list(by_hand(short, 5)))
print("library", np.round(library, 3), "\nby hand", np.round(hand, 3))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(library, hand, rtol=1e-5)

# %% [markdown]
# ## Six runs
#
# Three models are trained on NSP and three on SOP, each with another seed. Each is a process of `minalbert pretrain`,
# and two run at a time.

# %%
def train_all(waiting):
    """Each (pairs, seed) in a directory of its own; what is there already goes on, or is done."""
    RUNS.joinpath("config.toml").write_text(settings.toml(), encoding="utf-8")
    running, width = {}, 0
    try:
        while waiting or running:
            while waiting and len(running) < min(2, os.cpu_count() or 1):
                pairs, seed = waiting.pop(0)
                running[f"{pairs}-{seed}"] = start(f"{pairs}-{seed}", "--pairs", pairs, "--seed", str(seed))
            time.sleep(1)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                if running.pop(name).returncode:
                    raise RuntimeError(f"{name} ended early: " + (RUNS / f"{name}.log").read_text(encoding="utf-8"))
            progress = ", ".join(f"{name} step {last_step(name):,}" for name in running)
            print(f"\r{progress:{width}}", end="")
            width = len(progress)
    finally:
        for process in running.values():             # it saves, and goes on the next time
            process.terminate()
    print(f"\r{'done':{width}}")


def start(name, *options):
    command = [sys.executable, "-m", "minalbert", "pretrain", RUNS / name, "--config", RUNS / "config.toml", *options]
    with open(RUNS / f"{name}.log", "w", encoding="utf-8") as log:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def last_step(name):
    return max((line.get("step", 0) for line in train.read_lines(RUNS / name)), default=0)


train_all([(pairs, seed) for seed in SEEDS for pairs in ("nsp", "sop")])

# %% [markdown]
# ## The plateau, and leaving it
#
# In the three SOP runs the MLM loss drops at once below the dashed line, which is the loss of guessing words by their
# frequency. Order is another matter. For a long time nothing happens, and one is tempted to stop; then it is learnt.
# Nothing was changed at that moment. To tell the order, the model has to know the scripts' steps *and* compare two of
# them, and neither is of use alone. When a run learns both depends on chance, too: seed 2 has begun, and ends at 75 %.
# An earlier run of this notebook, on another machine and with an earlier version of the library, took all three seeds
# to 94 % and more: a seed promises nothing. (In the figure a large point is the test at which a run had left the
# plateau or learnt the order, and a triangle a step whose loss or gradient was far above those before.)

# %%
curves = train.read_curves(RUNS / "sop-0")
accuracy = curves.held_out["sop_accuracy"]
quarter, half, end = accuracy[[5, 10, -1]] if not FAST else accuracy[[0, 1, -1]]
print(f"SOP after a quarter of the steps {quarter:.0%}, after half {half:.0%}, in the end {end:.0%}")
plots.training_curves([train.read_curves(RUNS / f"sop-{seed}")._replace(name=f"seed {seed}") for seed in SEEDS])

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert FAST or quarter < 0.6 < 0.9 < end
assert FAST or curves.when("left the plateau") < STEPS / 8 < STEPS / 4 < curves.when("order learnt")

# %% [markdown]
# ## Does one know the other?
#
# Every model is asked both questions, on stories that it has not read. Its head gives one number that means "this is
# wrong" and one that means "this is right", whatever it was trained on. Guessing gets 50 %. (The library's names speak
# of SOP: for a model asked about NSP, `sop_accuracy` is the accuracy of NSP, and "swapped" is "elsewhere".)

# %%
tests = {asked: train.prepare(settings.change(pairs=asked)).held_out for asked in ("nsp", "sop")}
found = {}
for pairs in ("nsp", "sop"):
    for seed in SEEDS:
        model = train.open_trained(RUNS / f"{pairs}-{seed}")[0]
        found[pairs, seed] = {asked: train.evaluate(model, batch) for asked, batch in tests.items()}

print("trained on   seed   NSP (next / elsewhere)    SOP (in order / swapped)    hidden words")
for (pairs, seed), by in found.items():
    parts = (f"{by[asked].sop_accuracy:6.1%} ({by[asked].sop_recall_in_order:.0%} / {by[asked].sop_recall_swapped:.0%})"
             for asked in ("nsp", "sop"))  # fmt: skip
    words = by["sop"].mlm_accuracy
    print(f"{pairs.upper():<11}{seed:>6}   " + "".join(f"{part:<26}" for part in parts) + f"{words:>10.0%}")


def mean(pairs, asked, what="sop_accuracy"):
    return np.mean([getattr(found[pairs, seed][asked], what) for seed in SEEDS])


print("\n                  NSP            SOP      (the paper's table 5: NSP, SOP)")
for pairs, paper in (("nsp", "90.5, 52.0"), ("sop", "78.9, 86.5")):
    print(f"trained on {pairs.upper()}   {mean(pairs, 'nsp'):5.1%}          {mean(pairs, 'sop'):5.1%}      ({paper})")
undecided = (mean("sop", "sop", "sop_recall_in_order") + 0.5) / 2  # right on what is next, a guess for the others

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert FAST or (mean("nsp", "nsp") > 0.94 and mean("nsp", "sop") < 0.62)
assert FAST or abs(mean("nsp", "sop", "mlm_accuracy") - mean("sop", "sop", "mlm_accuracy")) < 0.05
assert FAST or min(found["sop", seed]["sop"].sop_accuracy for seed in (0, 1)) > 0.98
assert FAST or 0.73 < found["sop", 2]["sop"].sop_accuracy < 0.75
assert FAST or 0.6 < mean("sop", "nsp") < 0.8
assert FAST or 0.695 < undecided < 0.705
assert FAST or mean("sop", "nsp") < undecided - 0.04
assert abs((0.865 + 0.5) / 2 - 0.683) < 0.001

# %% [markdown]
# **Trained on NSP, asked for order:** no better than guessing, in the paper and here. (Other small worlds give another
# answer: see the end of this notebook.)
#
# **Trained on SOP, asked for NSP:** better than 50 %, in the paper and here. But 50 % is not the only number to compare
# with. Call a second part from another story a *stranger*. A model that knows order, and nothing about strangers,
# accepts the true pairs, here 90 % of them, and guesses on strangers: $(0.90 + 0.50) / 2 = 70\,\%$. Ours, with 66 %,
# is *below* that. How many true pairs the paper's model accepts is not in the paper. If it is as many as it has right
# on SOP, 86.5 %, guessing on strangers gives 68.3 %. If it accepted all of them, guessing would give 75 %, and its
# 78.9 % is still above. So the paper's model knew something about strangers, and ours does not: only the first half of
# the paper's result shows here.
#
# The paper's table has a third row, a model trained on neither: 52.4 % on NSP and 53.3 % on SOP, near guessing. It has
# no row here. A model trained with masked words alone has no head for either question, and the paper does not say how
# it asked its own. One can train a linear probe on the states instead: [docs/paper.md](../docs/paper.md) does so in
# Table 5, and its models of masked words alone are near guessing, too. Notebook 14 compares all three on tasks.
#
# Why do they fail? Look at each kind of pair by itself. How often is it called wrong?

# %%
def called_wrong(pairs, asked, recall):
    return [getattr(found[pairs, seed][asked], recall) for seed in SEEDS]


kinds = {
    "what comes next": lambda pairs: [1 - share for share in called_wrong(pairs, "sop", "sop_recall_in_order")],
    "the same, swapped": lambda pairs: called_wrong(pairs, "sop", "sop_recall_swapped"),
    "from another story": lambda pairs: called_wrong(pairs, "nsp", "sop_recall_swapped"),
}
rows = {kind: {f"trained on {pairs.upper()}": of(pairs) for pairs in ("nsp", "sop")} for kind, of in kinds.items()}
title = "How often is a second part called wrong?\nheld-out pairs, a dot a seed; right would be 0 %, 100 %, 100 %"
plots.share_dots(rows, title)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert FAST or max(np.mean(shares) for shares in rows["what comes next"].values()) < 0.11
assert FAST or np.mean(rows["the same, swapped"]["trained on NSP"]) < 0.3
assert FAST or np.mean(rows["the same, swapped"]["trained on SOP"]) > 0.9
assert FAST or np.mean(rows["from another story"]["trained on NSP"]) > 0.9
assert FAST or 0.25 < np.mean(rows["from another story"]["trained on SOP"]) < 0.5

# %% [markdown]
# The model trained on NSP finds the strangers, and accepts the swapped pairs: they are from one story, and it was never
# asked for more. The model trained on SOP has never seen a stranger. It knows only that the steps of such a pair do not
# fit, and calls it wrong in a third to a half of the cases. It accepts 90 % of the true pairs and rejects 41 % of the
# foreign ones: less than guessing would.
#
# SOP does not hurt the accuracy on hidden words: both kinds of model find about as many.
#
# ## Before you believe it
#
# The claim holds where topic is easily told, as here. Set `max_length=32` in the settings: then most parts are single
# sentences, steps like *closed the gate* belong to several scripts, and the best way to recognise a stranger is to know
# what follows what. What does the model trained on NSP know of order now? (Take another directory for `RUNS`.)
# With `nsp_negatives="same_topic"` strangers are from stories by the same script, so that topic tells nothing.
#
# Short pairs have been measured in a similar world, with 32 tokens; notebook 18 reads the results. Five models trained
# on NSP tell the order of 76 to 86 % of the pairs, the opposite of the result above
# ([docs/paper.md](../docs/paper.md), Table 5).
#
# And a model learns whatever answers the question. Give the stories their `entity_cues` back: now the pair with *Maud*
# and *a basket* in its first part is in order more often than not, which has nothing to do with ferries. A model
# may find only that, and stay there. How would you notice, if you did not know what to look for?
#
# ## Next
#
# In `minalbert exercise start ex11` you write the loop, and in `ex08` the pairs; a variant of it, `ex08-nsp`, has those
# of NSP. Notebook 10 shows what the heads of such a model look at.
