# %% [markdown]
# # 2. Is this gradient right?
#
# Every backward pass in this package is derived by hand, so every one of them can be wrong, and a model with a wrong
# gradient often trains nearly as well as with the right one. Who can judge? The function itself: move one number a
# little, and see what the result does. It knows no calculus, and so makes none of our mistakes.
#
# How small is "a little"? That turns out to be the whole difficulty, and there is a way round it.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import textwrap

import numpy as np

from minalbert import layers, plots
from minalbert.gradcheck import cases, check_pair
from minalbert.gradcheck.compare import FLOOR, LIMITS
from minalbert.gradcheck.numeric import slope


def show(report):
    for line in str(report).splitlines():
        print(textwrap.fill(line, 42, subsequent_indent="      "))

# %% [markdown]
# ## Why finite differences lose digits
#
# Taylor's series gives two ways to read off a slope:
#
# $$\begin{gathered}
# \tfrac{f(x+h) - f(x)}{h} = f'(x) + \tfrac12 h f''(x) + \dots \\[1em]
# \tfrac{f(x+h) - f(x-h)}{2h} = f'(x) + \tfrac16 h^2 f'''(x) + \dots
# \end{gathered}$$
#
# The first, one-sided, is off by a multiple of $h$; the second, central, by a multiple of $h^2$. So take a small $h$?
# But a computer rounds $f$ to some sixteen digits, with a relative error near $\epsilon = 2.2\cdot10^{-16}$. The two
# values agree in most of their digits. The subtraction removes those, and the error that is left is divided by $h$:
#
# $$\begin{aligned}
# \text{error} &\approx h + \frac{\epsilon}{h} \quad\text{(one-sided)} \\[1em]
# \text{error} &\approx h^2 + \frac{\epsilon}{h} \quad\text{(central)}
# \end{aligned}$$
#
# One part falls with $h$ and the other rises. They meet at about $h = \sqrt\epsilon$, or $10^{-8}$, for the one and at
# about $h = \sqrt[3]\epsilon$, or $10^{-5}$, for the other. No choice of $h$ gives all the digits.
#
# ## The complex step
#
# Step sideways instead, into the imaginary numbers:
#
# $$\begin{aligned}
# f(x + ih) &= f(x) + ih\,f'(x) \\
# & - \tfrac12 h^2 f''(x) - \tfrac16 ih^3 f'''(x) + \dots \\[1em]
# \tfrac{\mathrm{Im}\,f(x + ih)}{h} &= f'(x) - \tfrac16 h^2 f'''(x) + \dots
# \end{aligned}$$
#
# Again off by $h^2$. But **nothing is subtracted**: the value stays in the real part, and the slope comes out in the
# imaginary part with all its digits. So $h$ may be $10^{-30}$, and then $h^2$ is nothing (Squire and Trapp, 1998).
#
# Here are all three, at fifty points of $f(x) = e^{\sin x}$, whose slope is $\cos x\; e^{\sin x}$.


# %%
def f(x):
    return np.exp(np.sin(x))


def derivatives(f, x, h):
    return {
        "one-sided": (f(x + h) - f(x)) / h,
        "central": (f(x + h) - f(x - h)) / (2 * h),
        "complex step": f(x + 1j * h).imag / h,
    }


x = np.linspace(0, 1.2, 50)
right = np.cos(x) * f(x)


def errors(h):
    """The largest relative error of each way."""
    return {name: abs(found / right - 1).max() for name, found in derivatives(f, x, h).items()}


steps = 10.0 ** -np.linspace(1, 20, 77)
found = {name: np.array([errors(h)[name] for h in steps]) for name in errors(1.0)}
print("              a tenth of h  at its best")
for name in found:
    best = found[name].min()
    print(f"{name:13} error / {errors(1e-2)[name] / errors(1e-3)[name]:<5.0f} "
          f"below 1e-{min(int(-np.log10(best)), 14)}")  # fmt: skip
print("complex step at 1e-30:", "below 1e-14" if errors(1e-30)["complex step"] < 1e-14 else "above")

one, central = (steps[found[name].argmin()] for name in ("one-sided", "central"))

plots.error_curves(steps, found, "the error of a numeric derivative\nrelative, the worst of 50 points")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert 1e-9 < one < 2e-7
assert 1e-6 < central < 1e-4
assert 1e-9 < found["one-sided"].min() < 2e-7
assert 1e-12 < found["central"].min() < 1e-9
assert max(errors(1e-20)["complex step"], errors(1e-30)["complex step"]) < 1e-14
assert round(np.finfo(float).eps, 17) == 2.2e-16
assert LIMITS == {"complex": 1e-10, "central": 1e-6}

# %% [markdown]
# The three ways give some seven digits, some ten, and all of them. And that is one short formula, at the best $h$. In a
# whole model more errors add up, and no $h$ is best for every tensor. So the library's limit for central differences is
# $10^{-6}$: a smaller mistake passes. With the complex step the limit is $10^{-10}$, and what fails is wrong.
#
# ## What the complex step asks for
#
# Every function on the way must take complex numbers as calculus does. `+`, `*`, `exp`, `tanh`, `sqrt` and matrix
# products do. `np.abs` and `np.var` do not: they return a real number, the imaginary part is gone, and the slope reads
# as zero, without a warning. That is why `layer_norm` writes its variance as `(c * c).mean()`.
#
# The library notices, because it computes both once, and then uses central differences with four points.

# %%
row = np.array([1.0, 2.0, 4.0])
first = np.array([1.0, 0.0, 0.0])
stepped = row + 1e-30j * first
by_numpy = np.imag(np.var(stepped)) / 1e-30
by_hand = np.imag(((stepped - stepped.mean()) ** 2).mean()) / 1e-30
print(f"slope of the variance: {2 * (1 - 7 / 3) / 3:.4f}")
print(f"by np.var {by_numpy:.4f}, written out {by_hand:.4f}")

report = check_pair(lambda x: (x * np.var(x), x), lambda dy, x: (dy,), {"x": row}, name="by_var")
print(textwrap.fill(report.remark, 42))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert by_numpy == 0
assert abs(by_hand - 2 * (1 - 7 / 3) / 3) < 1e-14
assert np.imag(np.abs(stepped)).max() == 0
assert report.method == "central"
assert not report.passed

# %% [markdown]
# ## From a number to an array
#
# A layer takes arrays and returns an array, and its backward pass is given `dy`, the gradient of the loss with respect
# to `y`. So make a loss that has exactly that gradient, $\sum dy \cdot y$, and ask for its slope along a direction $v$:
# each entry in turn, or a random $v$, which costs one call for the whole tensor. It must be $\sum dx \cdot v$.


# %%
def slope_along(forward, x, dy, v, h=1e-30):
    y, _ = forward(x + 1j * h * v)
    return (dy * y).sum().imag / h


rng = np.random.default_rng(0)
x, v, dy = rng.standard_normal((3, 2, 5))
y, cache = layers.softmax_forward(x)
(dx,) = layers.softmax_backward(dy, cache)

ours = slope_along(layers.softmax_forward, x, dy, v)
theirs = slope(lambda moved: (dy * layers.softmax_forward(moved["x"])[0]).sum(), {"x": x}, {"x": v}, "complex")
print(f"backward      {(dx * v).sum():.4f}")
print(f"complex step  {ours:.4f}")
print(f"the library's {theirs:.4f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs((dx * v).sum() - ours) < 1e-13
assert abs(ours - theirs) < 1e-13

# %% [markdown]
# ## Why dy must be random
#
# It is tempting to sum the output and call that the loss: `dy` is then all ones. But a row of softmax sums to one,
# whatever `x` is, so the right gradient of that sum is zero, and a backward pass that returns nothing but zeros
# passes. The check has checked nothing. In `check_pair` one cannot ask for ones: it draws `dy` itself.


# %%
def lazy_backward(dy, cache):
    return (np.zeros_like(dy),)


ones = np.ones_like(x)
for name, upstream in (("ones", ones), ("random", dy)):
    print(f"{name:6} dy: slope {abs(slope_along(layers.softmax_forward, x, upstream, v)):.4f}, the lazy one 0")

report = check_pair(layers.softmax_forward, lazy_backward, {"x": x}, name="softmax, the lazy way")
show(report)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(slope_along(layers.softmax_forward, x, ones, v)) < 1e-14 < 1e-2 < abs(ours)
assert not report.passed
assert "zero everywhere" in str(report)

# %% [markdown]
# ## How wrong is it? Per tensor, not per entry
#
# A common measure divides each entry's error by that entry's size. In attention there is a tensor for which this cries
# wolf: the key bias. Add $c$ to all keys, and the score of query $i$ and key $j$ becomes
#
# $$q_i \cdot (k_j + c) = q_i \cdot k_j + q_i \cdot c$$
#
# The last term is the same for every $j$, and softmax does not see what is added to a whole row. So the gradient of the
# key bias is **exactly zero**. Two correct programs both find rounding errors there, different ones, and relative to
# themselves they disagree entirely.
#
# So one number per tensor: the largest difference, divided by the largest expected entry of the tensor, but by no less
# than a thousandth of the largest in the whole check.

# %%
case = next(case for case in cases.pair_cases() if case.name == "multi_head")
report = case.check()
key_bias = next(result for result in report.results if result.name == "dbk")
yours, expected = key_bias.yours, key_bias.expected
per_entry = (abs(yours - expected) / np.maximum(abs(yours) + abs(expected), 1e-300)).max()

print("dbk, largest entry of either: below 1e-13")
print("worst, relative to itself: over 1 % off")
print("relative to the largest gradients:", "right" if key_bias.passed else "wrong")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(abs(yours).max(), abs(expected).max()) < 1e-13
assert per_entry > 0.01
assert FLOOR == 1e-3
assert key_bias.error < 1e-10
assert report.passed

# %% [markdown]
# ## The whole of it: check_pair
#
# A table of words; each word of a text looks up its row. Both backward passes below look right, but only one is.
#
# For the other, the report names the tensor, its worst entry, and what such a mistake usually is. The picture says the
# same: the error of every entry, on a logarithmic scale. "The" stands twice in the text; its row is wrong, no other.

# %%
words = "the ferry left bay at noon tide gull".split()
ids = np.array([words.index(word) for word in "the ferry left the bay at noon".split()])


def lookup_forward(table, ids):
    return table[ids], (table.shape, ids)


def one_backward(dy, cache):
    shape, ids = cache
    dtable = np.zeros(shape)
    np.add.at(dtable, ids, dy)
    return dtable, None


def other_backward(dy, cache):
    shape, ids = cache
    dtable = np.zeros(shape)
    dtable[ids] = dy
    return dtable, None


arguments = {"table": rng.standard_normal((8, 6)), "ids": ids}
right = check_pair(lookup_forward, one_backward, arguments, name="one")
wrong = check_pair(lookup_forward, other_backward, arguments, name="other")
print("one:", "right" if right.passed and right.error < 1e-14 else "wrong", end="\n\n")
show(wrong)

(result,) = wrong.results
plots.gradient_errors(result.yours, result.expected, rows=words, title="errors of dtable, by the other")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert right.passed
assert right.error < 1e-14
assert not wrong.passed
assert "only rows [0] are wrong" in str(wrong)

# %% [markdown]
# ## The whole model
#
# The same question, for all parameters of a tiny ALBERT and both of its losses together. On the command line,
# `minalbert gradcheck "all shared"` asks it, of the plain pairs and of the fused ones; in Python it is a call. Sizes
# all differ, so that nothing fits transposed; three layers share one block; words repeat; two of three texts are
# padded. Each of 510 numbers is moved by itself.

# %%
case = next(case for case in cases.model_cases() if case.name == "model, all shared")
report = case.check()
numbers = sum(result.expected.size for result in report.results)
print(f"{case.name}: {len(report.results)} tensors, {numbers} numbers")
print(f"largest relative error {report.error:.0e}")
for row in report.rows()[:4]:
    print(f"  {row['tensor']:22} {row['entries']:4}   {'right' if row['passed'] else 'WRONG'}")
print("  ...")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert report.passed
assert (len(report.results), numbers, case.config.num_hidden_layers) == (32, 510, 3)

# %% [markdown]
# This is what right looks like. The word table is used twice, to read words and to predict them, and gets a gradient
# from both ends; what is left are rounding errors. Where the picture is empty, the two agree in every bit.

# %%
table = next(result for result in report.results if result.name == "embeddings.word")
plots.gradient_errors(table.yours, table.expected, title="errors of the model's word table")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert table.error < 1e-12

# %% [markdown]
# ## Next
#
# In exercise 1 you build this check: both kinds of derivative, the error, and the verdict.
#
#     minalbert exercise start ex01
