# %% [markdown]
# # 3. What does LayerNorm throw away, and what does GELU let through?
#
# Two small functions occur everywhere in a transformer. LayerNorm takes a token's row of numbers and gives it a
# standard length; GELU takes each number and lets it through, or not. Both are a line or two forwards. Each has a trap
# in its backward pass: LayerNorm has three paths where one expects one, and GELU has a factor 3 that is easily
# forgotten.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import math
import textwrap

import numpy as np

from minalbert import layers, plots
from minalbert.gradcheck import check_pair

# %% [markdown]
# ## LayerNorm, forwards
#
# Take the mean $\mu$ and the variance $\sigma^2$ of a row $x$ of $H$ numbers (Ba, Kiros and Hinton, 2016). Then
#
# $$\begin{gathered}
# \hat x_i = r\,(x_i - \mu) \qquad r = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \\[1em]
# y_i = \mathrm{gain}_i\,\hat x_i + \mathrm{bias}_i
# \end{gathered}$$
#
# $\varepsilon = 10^{-12}$ keeps a row of equal numbers from dividing by zero. Gain and bias are learnt, and the same
# for all tokens.
#
# Two things about a row are lost: add one number to all its entries, or multiply them all by one positive number, and
# $y$ stays as it was. In pictures: every $\hat x$ has $\sum_i \hat x_i = 0$ and $\sum_i \hat x_i^2 = H$, so all tokens
# lie on one sphere of radius $\sqrt H$, in a space of $H - 1$ dimensions.


# %%
def layer_norm_forward(x, gain, bias, eps=1e-12):
    centred = x - x.mean(axis=-1, keepdims=True)
    r = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    xhat = r * centred
    return gain * xhat + bias, (xhat, r, gain)


rng = np.random.default_rng(3)
H = 16
x = 3 + 2 * rng.standard_normal((4, H))  # four tokens
x[0, 5] = 11.0  # in the first, a number that sticks out
gain, bias = 1 + 0.5 * rng.standard_normal(H), 0.5 * rng.standard_normal(H)

y, (xhat, r, _) = layer_norm_forward(x, gain, bias)
lengths = np.sqrt((xhat**2).sum(axis=-1))
print("sums of xhat   ", np.round(abs(xhat.sum(axis=-1)), 4))
print("lengths of xhat", np.round(lengths, 4))
print("the root of H is", math.sqrt(H))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(y - layers.layer_norm_forward(x, gain, bias)[0]).max() < 1e-13
assert abs(xhat.sum(axis=-1)).max() < 1e-13
assert abs(lengths - math.sqrt(H)).max() < 1e-10
assert abs(y - layer_norm_forward(7 * x + 100, gain, bias)[0]).max() < 1e-10

# %% [markdown]
# The first token, from stage to stage, all on one scale; the band behind the bars reaches one standard deviation to
# each side of the mean. What is left after the division is the row's shape: which numbers are above the mean, and by
# how many standard deviations.

# %%
plots.stages(
    {
        "x": x[0],
        "less its mean": x[0] - x[0].mean(),
        "divided by its deviation": xhat[0],
        "times gain, plus bias": y[0],
    },
    "what LayerNorm does to a token's vector",
)

# %% [markdown]
# ## LayerNorm, backwards
#
# How does $\hat x_i$ change with $x_j$? In three ways: directly if $i = j$; through $\mu$; and through $r$. Of the
# last two,
#
# $$\begin{gathered}
# \frac{\partial\mu}{\partial x_j} = \frac1H \qquad
# \frac{\partial\sigma^2}{\partial x_j} = \frac2H (x_j - \mu) \\[1em]
# \frac{\partial r}{\partial x_j} = -\tfrac12\,r^3\,\frac{\partial\sigma^2}{\partial x_j} = -\frac{r^2}{H}\,\hat x_j
# \end{gathered}$$
#
# ($\sigma^2$ depends on $x_j$ through $\mu$, too; but that term is $-\frac2H \sum_i (x_i - \mu) \cdot \frac1H$, and the
# differences from a mean sum to zero.) All three together, with $\delta_{ij}$ one where $i = j$ and else zero, are
#
# $$\frac{\partial\hat x_i}{\partial x_j} = r\,\Bigl(\delta_{ij} - \frac1H - \frac1H\,\hat x_i\,\hat x_j\Bigr)$$
#
# Is that so? Ask the function: one complex step for each $j$.


# %%
def xhat_of(row):
    return layer_norm_forward(row, 1.0, 0.0)[0]


row, h = x[0], 1e-30
asked = np.stack([np.imag(xhat_of(row + 1j * h * one)) / h for one in np.eye(H)], axis=1)  # (i, j)
derived = r[0] * (np.eye(H) - 1 / H - np.outer(xhat[0], xhat[0]) / H)
print(f"entry (5, 5): asked {asked[5, 5]:.4f}, derived {derived[5, 5]:.4f}")
print(f"entry (5, 6): asked {asked[5, 6]:.4f}, derived {derived[5, 6]:.4f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(asked - derived).max() < 1e-13

# %% [markdown]
# ## The two mean terms are projections
#
# Call $a$ the vector whose entries are all $1/\sqrt H$, and $b = \hat x/\sqrt H$. Both have length one, and they are at
# right angles, because the entries of $\hat x$ sum to zero. In terms of them the matrix is
#
# $$r\,\Pi \qquad \Pi = I - a a^\top - b b^\top$$
#
# $a a^\top g$ is the part of $g$ along $a$, so $\Pi$ takes a vector and **removes its parts along $a$ and $b$**. These
# are the two directions in which the row may change while $y$ does not: along $a$ a row is shifted, along $b$ it is
# stretched. Where $y$ does not change, no gradient comes back.
#
# Removing them twice does no more than once, $\Pi\, \Pi = \Pi$; and $H - 2$ directions are left. (With a large
# $\varepsilon$, $b$ is a little shorter than one: stretching the row then does change $y$.)

# %%
Pi = derived / r[0]
a, b = np.full(H, 1 / math.sqrt(H)), xhat[0] / math.sqrt(H)
print(f"‖a‖ {np.linalg.norm(a):.4f}   ‖b‖ {np.linalg.norm(b):.4f}   a·b {abs(a @ b):.4f}")
print(f"‖Π a‖ {np.linalg.norm(Pi @ a):.4f}   ‖Π b‖ {np.linalg.norm(Pi @ b):.4f}")
print(f"largest entry of Π Π − Π: {abs(Pi @ Pi - Pi).max():.4f}")
print("directions left:", round(np.trace(Pi)), "of", H)  # the trace of a projection counts them


xhat_large_eps = layer_norm_forward(row, 1.0, 0.0, eps=0.1)[0]
shorter = np.linalg.norm(xhat_large_eps) / math.sqrt(H)
print(f"‖b‖ if eps is 0.1: {shorter:.3f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(abs(a @ b), np.linalg.norm(Pi @ a), np.linalg.norm(Pi @ b), abs(Pi @ Pi - Pi).max()) < 1e-10
assert abs(np.linalg.norm(b) - 1) < 1e-10
assert abs(np.trace(Pi) - (H - 2)) < 1e-10
assert 0.98 < shorter < 0.999

# %% [markdown]
# Backward multiplies by the transpose of the matrix; but $\Pi$ is symmetric, so that is $\Pi$ again. And the matrix
# need not be built. With $g = dy \cdot \mathrm{gain}$, the gradient with respect to $\hat x$, the part along $a$ is a
# mean, and the part along $b$ is a mean times $\hat x$:
#
# $$\begin{gathered}
# dx = r\,\Bigl(g - \mathrm{mean}(g) - \hat x\;\mathrm{mean}(g\,\hat x)\Bigr) \\[1em]
# d\mathrm{gain} = \sum_\text{rows} dy\,\hat x \qquad d\mathrm{bias} = \sum_\text{rows} dy
# \end{gathered}$$


# %%
def layer_norm_backward(dy, cache):
    xhat, r, gain = cache
    g = dy * gain
    along_a = g.mean(axis=-1, keepdims=True)
    along_b = xhat * (g * xhat).mean(axis=-1, keepdims=True)
    return r * (g - along_a - along_b), (dy * xhat).sum(axis=0), dy.sum(axis=0)


dy = rng.standard_normal(x.shape)
ours = layer_norm_backward(dy, (xhat, r, gain))
theirs = layers.layer_norm_backward(dy, layers.layer_norm_forward(x, gain, bias)[1])

report = check_pair(layer_norm_forward, layer_norm_backward, {"x": x, "gain": gain, "bias": bias}, {"eps": 0.1})
print("three gradients, each entry:", "right" if report.passed else report)
print(f"first token's dx along a {abs(ours[0][0] @ a):.4f}, b {abs(ours[0][0] @ b):.4f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(abs(our - their).max() for our, their in zip(ours, theirs, strict=True)) < 1e-12
assert report.passed
assert max(abs(ours[0][0] @ a), abs(ours[0][0] @ b)) < 1e-10

# %% [markdown]
# ## GELU, a gate that opens smoothly
#
# $$y = x\,\Phi(x) \qquad \Phi(x) = \tfrac12\bigl(1 + \mathrm{erf}(x/\sqrt2)\bigr)$$
#
# $\Phi(x)$ is the probability that a standard normal number lies below $x$: a gate that is open for large $x$, shut for
# very negative ones, and half open at zero (Hendrycks and Gimpel, 2016). When erf was slow, another form was used in
# its place, and ALBERT's released weights were trained with that:
#
# $$\begin{aligned}
# y &= \tfrac12 x\,(1 + \tanh u) \\
# u &= \sqrt{2/\pi}\,(x + 0.044715\,x^3)
# \end{aligned}$$
#
# How far are they apart? At most $4.7\cdot10^{-4}$, at $x = \pm2.70$. That is little, but neighbouring float32 numbers
# are some two thousand times closer there, and the difference occurs again in every layer. A released model must be run
# with its own form.

# %%
C, A = math.sqrt(2 / math.pi), 0.044715


def gelu(x):
    return 0.5 * x * (1 + np.tanh(C * (x + A * x**3)))


def gelu_erf(x):
    return 0.5 * x * (1 + np.array([math.erf(number / math.sqrt(2)) for number in x]))


z = np.linspace(-5, 5, 10001)
difference = gelu(z) - gelu_erf(z)
most, least = difference.argmax(), difference.argmin()
lowest = gelu(z).argmin()
print("tanh form less erf form:")
for place in (most, least):
    print(f"  {difference[place]:9.2e} at +-{abs(z[place]):.2f}")
print(f"GELU is least at {z[lowest]:.2f}: {gelu(z)[lowest]:.3f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(gelu(z) - layers.gelu_forward(z)[0]).max() < 1e-14
assert abs(gelu_erf(z) - layers.gelu_erf_forward(z)[0]).max() < 1e-14
assert abs(abs(difference).max() - 4.73e-4) < 1e-6
assert abs(abs(z[most]) - 2.70) < 0.01
assert 1900 < abs(difference).max() / np.spacing(np.float32(2.7)) < 2100
assert abs(gelu(z)[lowest] + 0.170) < 1e-3
assert abs(z[lowest] + 0.75) < 0.01

# %% [markdown]
# ## The way back, and the factor 3
#
# A product of two factors that both depend on $x$; the second one needs the chain rule:
#
# $$\begin{gathered}
# \frac{dy}{dx} = \tfrac12(1 + \tanh u) + \tfrac12 x\,(1 - \tanh^2 u)\,u' \\[1em]
# u' = \sqrt{2/\pi}\,(1 + 3 \cdot 0.044715\,x^2)
# \end{gathered}$$
#
# The 3 comes from $x^3$. Forget it, and the slope is off by up to 0.030, near $x = \pm1.6$; but at $x = 0.02$ only by
# $3\cdot10^{-7}$, a few steps of float32. With such small inputs a check in float32 finds nothing. So check where a
# function bends, with numbers of size one, and in float64. (In a model GELU's inputs are larger than 0.02. A fresh
# ALBERT-base multiplies the 768 numbers of a normalised row, of mean square 1, by weights with standard deviation
# 0.0176. The inputs then have one of $0.0176\,\sqrt{768} = 0.49$.)


# %%
def gelu_forward(x):
    return gelu(x), x


def gelu_backward(dy, x, three=3):
    t = np.tanh(C * (x + A * x**3))
    du = C * (1 + three * A * x**2)
    return (dy * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * du),)


def forgetful_backward(dy, x):
    return gelu_backward(dy, x, three=1)


ones = np.ones_like(z)
(slope,), (forgetful,) = gelu_backward(ones, z), forgetful_backward(ones, z)
off = abs(slope - forgetful)
small = np.interp(0.02, z, off)
print(f"steepest at {z[slope.argmax()]:.2f}: {slope.max():.3f}")
print(f"without the 3: off by {off.max():.3f} at +-{abs(z[off.argmax()]):.1f},")
print(f"by {small:.0e} at 0.02")
report = check_pair(gelu_forward, forgetful_backward, {"x": np.array([1.5])}, name="without the 3")
print(*(textwrap.fill(line, 42, subsequent_indent="      ") for line in str(report).splitlines()), sep="\n")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(slope - layers.gelu_backward(ones, (z,))[0]).max() < 1e-14
assert abs(off.max() - 0.030) < 1e-3
assert abs(abs(z[off.argmax()]) - 1.585) < 0.01
assert 2.5e-7 < small < 3.5e-7
assert 3 < small / np.spacing(np.float32(0.5)) < 7
assert round(0.0176 * math.sqrt(768), 2) == 0.49
assert check_pair(gelu_forward, gelu_backward, {"x": 1.5 * x - 4}).passed
assert not check_pair(gelu_forward, forgetful_backward, {"x": 1.5 * x - 4}).passed

# %% [markdown]
# GELU follows ReLU far out, and bends where ReLU has a corner; left of zero it dips to $-0.17$ before it shuts. Just
# right of where it opens it is steeper than one, 1.129 at most.

# %%
plots.curves(
    z,
    {
        "GELU\nand what it resembles": {"GELU": gelu(z), "ReLU": np.maximum(z, 0)},
        "tanh form less erf form\nin ten-thousandths": {"difference": 1e4 * difference},
        "slope of GELU\nin the tanh form": {"right": slope, "without the 3": forgetful},
    },
)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(slope.max() - 1.129) < 1e-3

# %% [markdown]
# ## Next
#
# Exercise 3 is LayerNorm, checked down to the numbers PyTorch gives; exercise 4 is GELU.
#
#     minalbert exercise start ex03
#     minalbert exercise start ex04
