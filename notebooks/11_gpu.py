# %% [markdown]
# # 11. The same code on a GPU
#
# CuPy is NumPy on a graphics card: the same functions under the same names, on arrays in the card's own memory. Can one
# source serve both, without a word about the device in any formula? Every layer of this library does. Here is how, and
# what goes wrong if a line forgets on which device its arrays are.
#
# You need no GPU. `minalbert_course.pretended_gpu` is a stand-in: NumPy behind CuPy's interface. It computes nothing
# new, and it is as strict as a card about where an array is. If there is a real card, the last cells use it.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import math
import textwrap

import numpy as np

from minalbert import PLAIN, PRESETS, Albert, Batch, Params
from minalbert.backend import array_module, cuda_missing, gpu_circumstances, scatter_add, to_host
from minalbert.layers import gelu_forward
from minalbert.model import pretraining_backward, pretraining_forward
from minalbert.plots import layer_differences
from minalbert_course.pretended_gpu import TransferError, pretending, put, put_each

missing = cuda_missing()
print("no GPU here: the stand-in alone" if missing else "a GPU is here: it is used in the last cells")

# %% [markdown]
# ## Which library does an array belong to?
#
# Arrays of both kinds may live in one program, so "is CuPy installed?" is the wrong question. A function asks its
# argument. Operators (`+`, `@`, `x[i]`) and methods (`x.sum()`) find their library by themselves; only functions have
# to be looked up:
#
# $$\begin{gathered}
# y = \tfrac12 x\,\bigl(1 + \tanh(C (x + A x^3))\bigr) \\
# C = \sqrt{2/\pi},\ A = 0.044715
# \end{gathered}$$


# %%
def gelu(x):
    xp = array_module(x)  # numpy or cupy
    c = math.sqrt(2 / math.pi)  # a number of Python's
    return 0.5 * x * (1 + xp.tanh(c * (x + 0.044715 * x * x * x)))


x = np.linspace(-3, 3, 7, dtype=np.float32)
with pretending():
    device_x = put(x)
    print(array_module(x).__name__, array_module(device_x).__name__)
    y, (library_y, _) = gelu(device_x), gelu_forward(device_x)
    print(repr(y))
    print(f"the library's differs by at most {abs(y.get() - library_y.get()).max():.0e}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(y.get(), gelu(x))
assert np.allclose(y.get(), library_y.get(), atol=1e-6)
assert y.dtype == np.float32

# %% [markdown]
# `array_module` itself is a few lines: NumPy's arrays are NumPy's, Python's numbers and lists are refused, and all else
# is CuPy's, which must be in `sys.modules`, because the array was made with it. So no file of formulas has an
# `import cupy`, which would fail on every machine without CuPy.
#
# ## Two memories
#
# An array of the device meets only arrays of the device and Python's numbers. There is no quiet conversion: a `np.`
# where `xp.` was meant, or a mask made by `np.zeros` in the middle of a formula, is an error at once. These three lines
# are the usual ones:

# %%
with pretending():
    device_x = put(x)
    lines = {
        "np.tanh(x)": lambda: np.tanh(device_x),
        "x + np.ones(7)": lambda: device_x + np.ones(7),
        "np.asarray(x)": lambda: np.asarray(device_x),
    }
    for text, run in lines.items():
        try:
            run()
        except TypeError as error:
            print(textwrap.fill(f"{text}: TypeError: {error}", 42, subsequent_indent="    "))
        else:
            raise AssertionError(text)
    right = device_x + array_module(device_x).ones(7)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.array_equal(right.get(), x + 1)

# %% [markdown]
# The stand-in is stricter than CuPy in one thing: CuPy lets some of NumPy's functions pass its arrays through. Do not
# rely on that.
#
# ## What a transfer is
#
# `x.get()` copies an array to the host. Copying the four bytes of a loss takes no time; waiting for them does. Python
# only *asks* for work: `y = a @ b` puts a product into the card's queue and returns before it is done, and so the card
# always has something to do. `x.get()` needs the number, so Python waits until the queue is empty; then the card waits,
# too, until Python has asked for more. `float(x)`, `int(x)`, `bool(x)`, `if x > 0` and `print(x)` do the same and do
# not look like it.
#
# The stand-in counts transfers. Here the arrays have a budget of one.

# %%
losses = np.float32([7.2, 6.8, 6.6, 6.4])
with pretending():
    on_card = put_each(losses, transfers=1)
    mean = float(sum(on_card) / len(on_card))  # the sum is made over there; one number is read
    print(f"one transfer: mean {mean:.2f}")
    try:
        sum(float(loss) for loss in put_each(losses, transfers=1)) / 4
    except TransferError as error:
        print(textwrap.fill(f"a transfer each: {error}", 42, subsequent_indent="    "))
    else:
        raise AssertionError("four transfers were made with a budget of one")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(mean - 6.75) < 1e-5

# %% [markdown]
# So a training loop leaves its losses where they are, and reads a mean every hundred steps.
#
# ## Constants are Python's
#
# A Python number takes the dtype of the array it meets. A NumPy number has a dtype of its own: `np.sqrt(2)`
# is float64, and `x * np.sqrt(2)` turns float32 into float64. Then all that follows is twice as wide, and cards are
# made for narrow numbers. (CuPy does take NumPy's *single* numbers; it is the width that goes wrong.)

# %%
print("x * math.sqrt(2):", (x * math.sqrt(2)).dtype)
print("x * np.sqrt(2):  ", (x * np.sqrt(2)).dtype)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert (x * math.sqrt(2)).dtype == np.float32
assert (x * np.sqrt(2)).dtype == np.float64

# %% [markdown]
# ## Rows that occur twice
#
# The gradient of an embedding adds a vector to a row for each token. `table[rows] += updates` reads each row once and
# writes it once, in both libraries: of a word that occurs twice, one update is lost. `xp.add.at` adds all. On a card
# thousands of threads do so at once in any order, so the last bits may change from run to run. This is one of the few
# places at which the libraries differ. All of them, but for the launching of CUDA kernels, are in one file,
# `minalbert/backend.py`.

# %%
rows, updates = np.array([1, 0, 1]), np.float32([[1, 2], [3, 4], [10, 20]])
table = np.zeros((3, 2), np.float32)
table[rows] += updates
with pretending():
    right = scatter_add((3, 2), put(rows), put(updates)).get()
print("row 1, table[rows] += updates", table[1])
print("row 1, scatter_add           ", right[1])

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert table[1].tolist() == [10, 20]
assert right[1].tolist() == [11, 22]

# %% [markdown]
# ## The whole model
#
# Here is the proof that one source is enough: ALBERT's losses and every gradient, by the very functions that run on the
# host, with all weights and the batch on the device. The weights are one vector, so that moving them is one copy. If a
# single formula used the host on the way, the strict stand-in would stop it.

# %%
model = Albert.init(PRESETS["tiny"])
batch = Batch.random(model.config, size=4, length=16, predictions=3)


def losses_and_grads(params, batch):
    ctx = PLAIN.context(PLAIN, model.config, params, batch.attention_mask)
    losses, cache = pretraining_forward(batch, ctx)
    grads = params.zeros_like()
    pretraining_backward(cache, ctx, grads)
    return losses, grads


host_losses, host_grads = losses_and_grads(model.params, batch)
with pretending():
    params = Params(put(model.params.flat, transfers=0), model.params.shapes)  # not one reading allowed
    losses, grads = losses_and_grads(params, Batch(*map(put, batch)))
    unequal = np.count_nonzero(to_host(grads.flat) != host_grads.flat)  # the library's own reading costs nothing
print(f"{len(host_grads)} tensors, {host_grads.flat.size:,} gradients")
print(f"on the stand-in {unequal} have other bits")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert unequal == 0
assert losses.total.dtype == np.float32

# %% [markdown]
# The same bits, because behind the stand-in is NumPy. A card gives other last bits.
#
# ## How far apart may two machines be?
#
# A card adds in another order. The effect can be seen without a card: exchange the units of the feed-forward layer,
# columns of `up` and rows of `down` alike. It is the same function, with its sums in another order. Beside it a small
# real mistake: every second number of a bias is 0.001 too large. (Were all of them, the norm behind would take it out.)


# %%
def exchanged(model, order):
    arrays = {name: array.copy() for name, array in model.params.items()}
    for name in ("up.w", "up.b"):
        arrays[f"encoder.ffn.{name}"] = arrays[f"encoder.ffn.{name}"][..., order]
    arrays["encoder.ffn.down.w"] = arrays["encoder.ffn.down.w"][order]
    return Albert(model.config, Params.from_arrays(arrays, model.params.shapes, model.params.dtype))


def differences(ours, theirs):
    return [float(np.abs(to_host(a) - to_host(b)).max()) for a, b in zip(ours, theirs, strict=True)]


order, found = np.random.default_rng(0).permutation(model.config.intermediate_size), {}
for dtype in ("float32", "float64"):
    drawn = Albert(model.config, model.params.astype(dtype))
    states = drawn.hidden_states(*batch[:3])
    found[f"{dtype}, another order"] = differences(states, exchanged(drawn, order).hidden_states(*batch[:3]))
drawn = Albert(model.config, model.params.copy())
drawn.params["encoder.ffn.down.b"] += np.arange(64) % 2 * 0.001
found["a bias 0.001 off"] = differences(drawn.hidden_states(*batch[:3]), model.hidden_states(*batch[:3]))
LIMIT = 1e-4
print(*(f"{name}: {'above' if max(d) > LIMIT else 'below'} the limit" for name, d in found.items()), sep="\n")
layer_differences(found, LIMIT, title="The same function, added in another order")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert [max(d) > LIMIT for d in found.values()] == [False, False, True]
assert max(found["float64, another order"]) < 1e-12

# %% [markdown]
# Rounding alone stays well below $10^{-4}$ in float32, below $10^{-12}$ in float64; the bias that is 0.001
# off is above the first. So: look for mistakes in float64, where the gap is widest, and only then compute in float32.
#
# ## A real card
#
# `model.to("cuda")` moves the weights; inputs follow by themselves. This cell does it where there is a card.

# %%
if missing:
    print("no GPU here: model.to('cuda') would raise")
    print("DeviceError, with the reason")
else:
    print(gpu_circumstances("cuda"))
    wide = Albert(model.config, model.params.astype("float64"))
    apart = differences(wide.to("cuda").hidden_states(*batch[:3]), wide.hidden_states(*batch[:3]))
    print(f"largest difference from the host: {max(apart):.0e}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert missing or max(apart) < 1e-9

# %% [markdown]
# How fast is it? **No figure is given here, because none has been measured yet.** `python benchmarks/gpu.py` is made
# for the first hour on a card: first it compares, then it times. If you time something yourself, wait for the queue
# (`cupy.cuda.Device().synchronize()`) before you read the clock; without that you time how fast Python can ask.
#
# The rules again:
#
# | rule | because |
# |---|---|
# | `xp = array_module(x)`, from an argument | both libraries may be there |
# | operators and methods where they will do | they need no `xp` |
# | new arrays from `xp`, with the dtype of an argument | two memories, one width |
# | constants from `math` | NumPy's numbers widen float32 |
# | `xp.add.at` where rows repeat | `+=` loses updates |
# | no `float`, `if`, `print` on an array within a step | each waits for all work before it |
# | compare in float64 first | rounding is furthest from mistakes there |
#
# **Next:** write `gelu`, `layer_norm`, `scatter_add` and a frugal `mean_loss` for both machines:
# `minalbert exercise start ex12`.
