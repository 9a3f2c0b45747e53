# %% [markdown]
# # 1. Counting: what sharing saves, and what it does not
#
# ALBERT-base has about a tenth of BERT-base's parameters. **Does it need a tenth of the memory, and a tenth of the
# time?** All of it can be counted from the configuration, without a model.
#
# Letters: $V$ words, $E$ the width of an embedding, $H$ that of a layer, $F$ that within its feed-forward half, $M$
# positions, $L$ layers, $N$ heads, $T$ tokens in a sequence, $B$ sequences in a batch.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import numpy as np

from minalbert import PRESETS, Albert, Batch, plots
from minalbert.analysis import cost, memory, parameters, report

ALBERT, BERT = PRESETS["albert-base-v2"], PRESETS["bert-base"]

# %% [markdown]
# ## First saving: narrow words
#
# An embedding has to tell one word from another, whatever stands around it; a hidden state has to hold what the word
# means in this text. The second needs more room than the first, and BERT makes both $H$ wide. In a wide model that is a
# large table, most of whose rows are seldom trained: a step changes the rows of the words that occur in its batch.
#
# BERT's word table is as wide as its layers: $V \times H$. ALBERT's is $E$ wide, and one matrix takes words to the
# layers' width: $V \times E + E \times H$. That is less, if
#
# $$\begin{gathered}
# V E + E H < V H, \\
# \text{that is}\qquad E < \frac{V H}{V + H} ,
# \end{gathered}$$
#
# which for $V = 30000$ and $H = 768$ is 748.8: nearly $H$ itself. With $E = 128$ it is 5.85 times fewer. What is lost
# is rank: the table that the layers see, $V \times H$, is a product through $E$ numbers. So all word vectors lie in one
# subspace of 128 dimensions, which the projection chooses within the layers' $H$.

# %%
V, E, H, F, M, L = 30_000, 128, 768, 3072, 512, 12
factorised, one_table = V * E + E * H, V * H
print(f"V E + E H {factorised:10,}")
print(f"V H       {one_table:10,}")
print(f"{one_table / factorised:.2f} times fewer; less for E below {V * H / (V + H):.1f}")

found = parameters.word_embedding(ALBERT)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert (found["factorised"], found["one_table"]) == (factorised, one_table)
assert abs(one_table / factorised - 5.85) < 0.005
assert abs(V * H / (V + H) - 748.8) < 0.06

# %% [markdown]
# Does it hurt? The paper varies $E$ in ALBERT-base, with layers that share all and with layers that share nothing
# (table 3; the mean of five tasks). Beside it our counts; BERT's own vocabulary has 30,522 words, here it is ALBERT's.

# %%
PAPER = {64: (79.0, 81.3), 128: (80.1, 81.7), 256: (79.6, 81.8), 768: (79.8, 82.3)}
print("                shared     nothing shared")
print("   E  parameters score   parameters score")
for width, found in PAPER.items():
    counts = [parameters.totals(ALBERT.replace(embedding_size=width, sharing=sharing))["trunk_and_pooler"] / 1e6
              for sharing in ("all", "none")]  # fmt: skip
    print(f"{width:4}{counts[0]:11.1f}M{found[0]:6}{counts[1]:12.1f}M{found[1]:6}")
widths = np.arange(16, 769, 16)
tables = {"V E + E H": (V * widths + widths * H) / 1e6, "V H": np.full(len(widths), V * H / 1e6)}
plots.curves(widths, {"millions of numbers in the word tables\nover the width E of an embedding": tables})

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(found[0] for found in PAPER.values()) == PAPER[128][0]
assert max(found[1] for found in PAPER.values()) == PAPER[768][1]

# %% [markdown]
# With shared layers 128 is best. But the paper trains one model of each width, and says nothing of how much another run
# would differ. So nobody can tell whether the 0.3 points between 128 and 768 are more than chance. Where nothing is
# shared, more width helps a little each time: 1.0 point from 64 to 768, for 21 million parameters.
#
# In our small models a narrow embedding hurts, with shared layers, too. After 1,500 steps of two shared layers of 64,
# $E = H$ has a loss on masked words 0.70 nats lower than $E = H/4$, the opposite of the paper's order
# ([docs/paper.md](../docs/paper.md), Table 3). That is a loss after few steps, not a score on tasks.
#
# ## Second saving: one layer, twelve times
#
# A layer has four matrices $H \times H$ in its attention, $H \times F$ and $F \times H$ in its feed-forward half, a
# bias for each of the six, and two norms. With $F = 4H$ that is $12 H^2 + 13 H$ numbers. BERT has $L$ such sets;
# ALBERT has one and uses it $L$ times. Here is the whole model in ten lines, with its heads; the library's count
# comes from the table that models are built from.

# %%
def count(V, E, H, F, M, sets):
    tables = V * E + M * E + 2 * E + 2 * E           # words, positions, two segments; a norm
    projection = E * H + H if E != H else 0
    layer = 4 * (H * H + H) + (H * F + F) + (F * H + H) + 2 * 2 * H
    pooler = H * H + H
    words = H * E + E + 2 * E + V                    # the word table serves as output, too, and is not counted again
    order = 2 * H + 2
    trunk = tables + projection + sets * layer
    return {"trunk": trunk, "trunk_and_pooler": trunk + pooler, "everything": trunk + pooler + words + order}


counted = {}
for name, config in PRESETS.items():
    sets = 1 if config.sharing == "all" else config.num_hidden_layers
    counted[name] = count(config.vocab_size, config.embedding_size, config.hidden_size, config.intermediate_size,
                          config.max_position_embeddings, sets)  # fmt: skip
    print(f"{name:18}{counted[name]['everything']:15,}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert counted == {name: parameters.totals(config) for name, config in PRESETS.items()}
assert parameters.totals(ALBERT)["everything"] == 11_813_810
assert parameters.totals(BERT)["everything"] == 109_705_010

# %% [markdown]
# Drawn to one scale, ALBERT's box is 9.3 times smaller than BERT's. One of BERT's twelve layers has as many parameters
# as all layers of ALBERT, 7,087,872. Of ALBERT's box, the word table takes a third.

# %%
def parts(config):
    counts = {part.name: part.numbers(config) for part in parameters.TRUNK}
    layers = counts.pop("attention") + counts.pop("feed-forward")
    sets = 1 if config.sharing == "all" else config.num_hidden_layers
    each = {f"layer {i + 1}" if sets > 1 else f"one layer, used {L} times": layers // sets for i in range(sets)}
    heads = {part.name: part.numbers(config) for part in (parameters.POOLER, parameters.MLM, parameters.SOP)}
    return {"embedding": counts, "layers": each, "heads": heads}


small, large = parts(ALBERT), parts(BERT)
sizes = [sum(sum(group.values()) for group in model.values()) for model in (small, large)]

print(f"{sizes[1] / sizes[0]:.1f} times smaller; words: {small['embedding']['word table'] / sizes[0]:.0%} of it")
plots.treemap({"BERT-base": large, "ALBERT-base": small})

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert sizes == [11_813_810, 109_705_010]
assert abs(sizes[1] / sizes[0] - 9.3) < 0.05
assert small["layers"] == {"one layer, used 12 times": 7_087_872}
assert 12 * H**2 + 13 * H == 7_087_872
assert large["layers"]["layer 5"] == 7_087_872
assert 0.32 < small["embedding"]["word table"] / sizes[0] < 0.34

# %% [markdown]
# Which saving is the larger? Start from BERT-base and take one at a time.

# %%
for name, config in {
    "BERT-base": BERT,
    "only narrow words": BERT.replace(embedding_size=128),
    "only shared layers": BERT.replace(sharing="all"),
    "both: ALBERT-base": BERT.replace(embedding_size=128, sharing="all"),
}.items():
    print(f"{name:20}{parameters.totals(config)['everything']:13,}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert parameters.totals(BERT.replace(embedding_size=128))["everything"] == 89_780_402
assert parameters.totals(BERT.replace(sharing="all"))["everything"] == 31_738_418
assert parameters.totals(BERT.replace(embedding_size=128, sharing="all")) == parameters.totals(ALBERT)

# %% [markdown]
# ## What the paper says
#
# Papers round, and do not always say what they count. In
# [ALBERT's](https://arxiv.org/abs/1909.11942), tables 1 and 2, the numbers of ALBERT-base and -large are those of trunk
# and pooler, and BERT's are those of the trunk alone; heads are never among them. The other two do not follow from the
# released code, however one counts:
#
# * **60M** (xlarge): the code has 58.7M with the pooler, 59.0M with the heads. 59.7M comes out if positions, segments
#   and their norm are taken as $H$ wide instead of $E$. Perhaps an early version of the code was so; we do not know.
# * **235M** (xxlarge): the code has 222.6M, 223.2M with the heads. Elsewhere the paper says 233M and 225M; the
#   last fits if those three are $H$ wide (224.6M). No way of counting that we know gives 235M or 233M.
#
# So if there is a released model, test your count against that, and never against a rounded number from a paper.

# %%
rows = {
    "albert-base-v2": "trunk_and_pooler", "albert-large-v2": "trunk_and_pooler", "albert-xlarge-v2": "trunk_and_pooler",
    "albert-xxlarge-v2": "trunk_and_pooler", "bert-base": "trunk", "bert-large": "trunk",
}  # fmt: skip
found = {}
print("                    paper    counted")
for name, what in rows.items():
    millions, paper = parameters.totals(PRESETS[name])[what] / 1e6, report.in_paper(name)
    wide = (M + 2 + 2) * (PRESETS[name].hidden_size - PRESETS[name].embedding_size) / 1e6
    heads = parameters.totals(PRESETS[name])["everything"] / 1e6
    found[name] = paper, millions, heads, millions + wide
    print(f"{name:18}{paper:6}M{millions:10.2f}M")
    if "xlarge" in name:
        print(f"  with heads {heads:.1f}M, tables H wide {millions + wide:.1f}M")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert {name for name, (paper, millions, *_) in found.items() if abs(millions - paper) > 0.6} == {
    "albert-xlarge-v2", "albert-xxlarge-v2"
}  # fmt: skip
assert [round(number, 1) for number in found["albert-xlarge-v2"]] == [60, 58.7, 59.0, 59.7]
assert [round(number, 1) for number in found["albert-xxlarge-v2"]] == [235, 222.6, 223.2, 224.6]

# %% [markdown]
# ## What else is saved
#
# Whatever exists once for each parameter shrinks with them: the weights, their gradients, the two moments that Adam and
# LAMB keep, and, where machines split a batch, the gradients they must send each other in every step. A shared tensor
# has **one** gradient, the sum over all layers. The library's model shows it: its gradients are one vector, as long as
# its weights.
#
# ## What is not
#
# A product of $(m, k)$ and $(k, n)$ takes $2 m k n$ operations, whichever layer the matrix belongs to. A layer
# multiplies each token by the matrices of its attention ($8 H^2$ operations) and feed-forward half ($4 H F$), and
# compares it with the $T$ others and gathers from them ($4 T H$). In a forward pass, for each token, the layers take
#
# $$L\,(8 H^2 + 4 H F + 4 T H)$$
#
# operations, and none of these terms depends on sharing. The same is true of the backward pass, which takes twice as
# many. And each layer has activations of its own, even if its weights are shared: backward needs those of all $L$. What
# is kept for each token, with this library's fused kernels, is
#
# $$L\,(6 H + F + N + 2)$$
#
# numbers: query, key and value, the context, and two norms, from which backward computes their outputs again ($6H$);
# what enters the GELU ($F$); a log-sum-exp for each of the $N$ heads; the standard deviations of the two norms.

# %%
B, T, N = 32, 512, 12
shared, unshared = ALBERT, ALBERT.replace(sharing="none")

flops = L * (8 * H * H + 4 * H * F + 4 * T * H)
kept = 4 * B * T * L * (6 * H + F + N + 2)
print(f"the layers keep {kept / 1e9:.2f} GB; forward takes")
print(f"{flops / 1e6:.1f} million operations for each token")

tiny = PRESETS["tiny"]
for config in (tiny, tiny.replace(sharing="none")):
    model = Albert.init(config)
    _, gradients = model.loss_and_grads(Batch.random(config, size=2, length=8, predictions=1))
    print(f"tiny, sharing {config.sharing}: {gradients.flat.size:,} gradients")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert {sum(cost.operations(product, each, T) for product in cost.LAYERS) for each in (shared, unshared)} == {flops * T}
assert {L * memory.layer_bytes(each, B, T) for each in (shared, unshared)} == {kept}
assert gradients.flat.shape == model.params.flat.shape
assert 4 * gradients.flat.size == cost.all_reduced_bytes(model.config)
assert cost.training_operations(shared, T) == 3 * cost.forward_operations(shared, T)

# %% [markdown]
# All together, for ALBERT-base as it is and with a set of weights for each layer; 32 sequences of 512 tokens, float32,
# fused kernels. The activations are those of a whole step: the layers' 6.05 GB, and what embedding and heads need.

# %%
columns = {
    name: {
        "parameters": parameters.totals(config)["everything"],
        "state": sum(cost.optimiser_bytes(config).values()) / 1e6,
        "sent": cost.all_reduced_bytes(config) / 1e6,
        "flops": cost.training_operations(config, T) / T / 1e6,
        "kept": memory.activation_bytes(config, B, T) / 1e9,
    }
    for name, config in {"shared": shared, "nothing shared": unshared}.items()
}
titles = {
    "parameters": ("parameters", "{:,.0f}"),
    "state": ("weights, gradients and two moments", "{:,.0f} MB"),
    "sent": ("gradients that machines send each other in a step", "{:,.1f} MB"),
    "flops": ("operations for each token, forward and backward", "{:,.0f} million"),
    "kept": ("activations kept for backward", "{:.2f} GB"),
}
one, many = columns.values()

plots.bars({
    title: (form, {name: column[key] for name, column in columns.items()}) for key, (title, form) in titles.items()
})  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(many["parameters"] / one["parameters"] - 7.6) < 0.05
assert abs(one["state"] - 189) < 0.5
assert abs(many["state"] - 1436) < 0.6
assert one["flops"] == many["flops"]
assert one["kept"] == many["kept"]
assert abs(one["kept"] - 6.10) < 0.005

# %% [markdown]
# ## And the time of a step?
#
# On one machine a step takes as long as its operations, about the same with shared weights as without. (The optimiser
# has fewer weights to change, which is a small part of a step.) On $W$ machines that split a batch there is more to it:
# they must add up their gradients. In the usual way, a ring, each of them sends $2\,\frac{W-1}{W}\,G$ bytes for a
# gradient of $G$ bytes. If nothing is sent while a machine computes, a step takes
#
# $$t = \frac{\text{operations}}{\text{rate}} + \frac{2\,(W-1)}{W} \cdot \frac{G}{\text{bandwidth}}$$
#
# The second term shrinks with the parameters. ALBERT-large has 0.99 of BERT-large's operations, and yet table 2 of the
# paper reports that it iterates over its data 1.7 times as fast. How slow must the network be for that?

# %%
albert_large, bert_large = PRESETS["albert-large-v2"], PRESETS["bert-large"]
machines = 64
sent = {name: 2 * (machines - 1) / machines * cost.all_reduced_bytes(config) / 1e6
        for name, config in {"ALBERT-large": albert_large, "BERT-large": bert_large}.items()}  # fmt: skip
work = cost.training_operations(albert_large, T) / cost.training_operations(bert_large, T)
print(f"a machine of {machines} sends in a step:")
for name, mb in sent.items():
    print(f"  {name:12}{mb:6,.0f} MB")
print(f"ALBERT-large has {work:.2f} of the operations\n")

share = sent["ALBERT-large"] / sent["BERT-large"]
print("BERT-large's sending,     ALBERT-large is")
print("by its computing          times as fast")
for waiting in (0, 0.25, 0.5, 0.75, 1, 2):  # BERT-large's second term, in units of its first
    print(f"{waiting:16}{(1 + waiting) / (work + share * waiting):23.2f}")
needed = (1.7 * work - 1) / (1 - 1.7 * share)
print(f"1.7 times as fast if it is {needed:.2f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert round(work, 2) == 0.99
assert [round(mb) for mb in sent.values()] == [141, 2644]
assert abs((1 + needed) / (work + share * needed) - 1.7) < 1e-12
assert 0.7 < needed < 0.8

# %% [markdown]
# So 1.7 is no contradiction: it comes out if BERT-large spends three quarters as long on sending as on computing. The
# paper does not say what its machines waited for. The optimiser's work may contribute, and so may larger batches in the
# memory that was saved. On one device there is no second term: expect 1.01, and not 1.7.
#
# ## Why then is a larger ALBERT slower than BERT-large?
#
# ALBERT-xxlarge has two thirds of BERT-large's parameters and takes 7.4 times the operations. It has half the layers
# and four times the width. The terms in $H^2$ alone would make that $16 / 2 = 8$ times. Attention's scores and context,
# $4 T H$, are only proportional to the width, which makes it 7.5 times in the layers; with the heads it is 7.4. The
# paper measured 0.3 times BERT-large's speed, which is less slow than 7.4 predicts. Operations are not all of the time:
# large products may run nearer to what a machine can do, and BERT-large has more gradient to send.

# %%
xx = PRESETS["albert-xxlarge-v2"]
of_parameters = parameters.totals(xx)["everything"] / parameters.totals(bert_large)["everything"]
of_operations = cost.training_operations(xx, T) / cost.training_operations(bert_large, T)
print("xxlarge beside BERT-large:")
print(f"{of_parameters:.2f} times the parameters")
print(f"{of_operations:.1f} times the operations")

in_layers = [c.num_hidden_layers * c.hidden_size * (8 * c.hidden_size + 4 * c.intermediate_size + 4 * T)
             for c in (xx, bert_large)]  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(of_parameters - 2 / 3) < 0.01
assert abs(of_operations - 7.4) < 0.05
assert abs(in_layers[0] / in_layers[1] - 7.5) < 0.05
assert xx.hidden_size == 4 * bert_large.hidden_size
assert 2 * xx.num_hidden_layers == bert_large.num_hidden_layers

# %% [markdown]
# The answer: sharing saves what there is once for each *parameter* (the model's file, the optimiser's memory, the
# traffic between machines and the time it takes); it saves nothing of what there is once for each *use* of a parameter
# (operations, and with them the time to compute on one device; activations). Activations are 6.10 GB with fused
# kernels, against 189 MB of everything that belongs to the weights. (With plain kernels the layers alone have 13.6 GB:
# notebook 16.) They can be saved by other means: keep only each layer's input, and compute the rest again
# (`recompute=True`).
#
# `minalbert params --preset albert-xxlarge-v2` prints all of this for any model. Now write it yourself:
# `minalbert exercise start ex07`, which ends at the number of `transformers`' own count. How gradients of shared
# weights add up is `ex06`.
