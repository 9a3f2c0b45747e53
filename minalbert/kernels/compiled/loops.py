"""The elementwise kernels as the loops that they are, compiled by numba.

NumPy makes an array of every line of a formula. Here a number goes through all lines before the next is fetched.

    gelu            y = x s    s = ½ (1 + tanh u) = 1 / (1 + exp(-2u))    du = dy (s + x s (1 - s) 2u')
    norm            as in `norm`, a row at a time
    softmax         probs = exp(scores / √D + mask - lse)    dscores = probs (dprobs - inner) / √D
    words           logits = products + bias, their largest and Σ exp(logits - largest); p share
    embed           as in `embedding`, a token at a time

u, y, dy: (R, F)   h, residual, factors, dh: (R, H)   scores, dprobs: (b, n, keys, queries)   mask: (b, keys)
lse, inner: (b, n, queries)   logits: (words, K)   top, total, shares: (K,)   ids, types: (B, T)   tables: (rows, E)

Signatures say f4 where the formula has an exponential, which is good for float32 and no more: other numbers are
refused. The loops for gelu, softmax and words are compiled when this module is first imported, the others when they
are first called; what is made is kept in __pycache__ beside this file. All let other threads run.
"""

import math

import numpy as np
from numba import njit

from ..layers.gelu import A, C

BLOCK = 64                                           # rows that are summed up by themselves; columns that stay in L1
CONTRACT = {"contract"}                              # a product added to in one rounding
IN_ANY_ORDER = {"contract", "reassoc", "nsz"}        # and a sum along the memory several at a time
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}

F = np.float32                                       # a float of Python would make float64 of all that it meets
ONE = F(1)
LOWEST, HIGHEST = F(-87), F(88)                      # in between exp is a normal number
LOG2_E, LN2 = F(1 / math.log(2)), math.log(2)
LN2_HIGH = F(round(LN2 * 2**9) / 2**9)               # of so few bits that n LN2_HIGH is exact
LN2_LOW = F(LN2 - round(LN2 * 2**9) / 2**9)
TO_INTEGER = F(1.5 * 2**23)                          # what is added to it loses its bits behind the point
EXPONENT, ONE_BITS = 23, 127 << 23                   # where a float32 has n of 2ⁿ, and the bits of 1.0
C2, C3, C4, C5, C6, C7 = (F(1 / math.factorial(k)) for k in range(2, 8))
U1, U3 = F(-2 * C), F(-2 * C * A)                    # -2u = U1 x + U3 x³


def loops(*signature, fastmath=CONTRACT):
    return njit(*signature, fastmath=fastmath, **OPTIONS)


@njit("f4(f4)", fastmath=CONTRACT, forceinline=True, **OPTIONS)
def exp(x):
    """eˣ = 2ⁿ eʳ, x = n ln 2 + r, |r| ≤ ½ ln 2: Taylor's series, whose first term left out is r⁸/8! < 2⁻²⁷."""
    vanishes = x < LOWEST
    x = LOWEST if vanishes else HIGHEST if x > HIGHEST else x        # NaN is neither, and stays
    shifted = x * LOG2_E + TO_INTEGER                # its last bits are n
    n = shifted - TO_INTEGER
    r = x - n * LN2_HIGH - n * LN2_LOW
    series = ONE + r * (ONE + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * C7))))))
    power = np.int32((F(shifted).view(np.int32) << EXPONENT) + ONE_BITS).view(F)
    return F(0) if vanishes else series * power


@loops("(f4[:, ::1], f4[::1], f4[:, ::1])")
def gelu_forward(u, bias, y):
    for row in range(len(u)):
        u_row, y_row = u[row], y[row]
        for j in range(len(bias)):
            x = u_row[j] + bias[j]
            y_row[j] = x / (ONE + exp(x * (U1 + U3 * (x * x))))


@loops("(f4[:, ::1], f4[:, ::1], f4[::1], f4[::1])")
def gelu_backward(dy, u, bias, dbias):
    """dy becomes du, u becomes y, dbias adds Σ_rows du"""
    for start in range(0, len(u), BLOCK):
        sums = np.zeros_like(bias)
        for row in range(start, min(start + BLOCK, len(u))):
            u_row, dy_row = u[row], dy[row]
            for j in range(len(bias)):
                x = u_row[j] + bias[j]
                e = exp(x * (U1 + U3 * (x * x)))
                s = ONE / (ONE + e)
                y = x * s
                du = dy_row[j] * (s - y * (e * s) * (U1 + F(3) * U3 * (x * x)))       # e s is 1 - s, to all digits
                u_row[j], dy_row[j] = y, du
                sums[j] += du
        for j in range(len(bias)):
            dbias[j] += sums[j]


@loops(fastmath=IN_ANY_ORDER)
def norm_forward(h, bias, factors, residual, gain, beta, eps, y, rstd):
    """h becomes xhat; bias, factors and residual may be None"""
    real, H = h.dtype.type, h.shape[1]
    for row in range(len(h)):
        z, y_row = h[row], y[row]
        if bias is not None:
            for j in range(H):
                z[j] += bias[j]
        if factors is not None:
            f_row = factors[row]
            for j in range(H):
                z[j] *= f_row[j]
        if residual is not None:
            r_row = residual[row]
            for j in range(H):
                z[j] += r_row[j]
        total = squares = real(0)
        for j in range(H):
            total += z[j]
        mean = total * real(1 / H)
        for j in range(H):
            z[j] -= mean
            squares += z[j] * z[j]
        r = real(1) / np.sqrt(squares * real(1 / H) + real(eps))
        rstd[row] = r
        for j in range(H):
            z[j] *= r
            y_row[j] = z[j] * gain[j] + beta[j]


@loops(fastmath=IN_ANY_ORDER)
def norm_backward(dy, xhat, rstd, gain, factors, dgain, dbeta, dbias, dh):
    """dy becomes dz, and dh = dz factors; without factors dh is dz; factors and dbias may be None"""
    real, H = dy.dtype.type, dy.shape[1]
    for start in range(0, len(dy), BLOCK):
        dgains, dbetas, dbiases = np.zeros_like(gain), np.zeros_like(gain), np.zeros_like(gain)
        for row in range(start, min(start + BLOCK, len(dy))):
            g, x, r = dy[row], xhat[row], rstd[row]
            total = product = real(0)
            for j in range(H):
                dbetas[j] += g[j]
                dgains[j] += g[j] * x[j]
            for j in range(H):
                g[j] *= gain[j]
                total += g[j]
                product += g[j] * x[j]
            total *= real(1 / H)
            product *= real(1 / H)
            for j in range(H):
                g[j] = r * (g[j] - total - x[j] * product)
            if factors is not None:
                dz, f_row, g = g, factors[row], dh[row]
                for j in range(H):
                    g[j] = dz[j] * f_row[j]
            if dbias is not None:
                for j in range(H):
                    dbiases[j] += g[j]
        for j in range(H):
            dgain[j] += dgains[j]
            dbeta[j] += dbetas[j]
        if dbias is not None:
            for j in range(H):
                dbias[j] += dbiases[j]


@loops("(f4[:, :, :, ::1], f4[:, ::1], f4, f4[:, :, :])")
def softmax_forward(scores, mask, scale, lse):
    """scores become probs"""
    examples, heads, keys, queries = scores.shape
    top, total = np.empty(queries, F), np.empty(queries, F)
    for b in range(examples):
        for n in range(heads):
            for start in range(0, queries, BLOCK):
                end = min(start + BLOCK, queries)
                t, s = top[start:end], total[start:end]
                t[:], s[:] = F(-np.inf), F(0)
                for key in range(keys):
                    row, masked = scores[b, n, key, start:end], mask[b, key]
                    for j in range(len(row)):
                        row[j] = row[j] * scale + masked
                        t[j] = row[j] if row[j] > t[j] else t[j]
                for key in range(keys):
                    row = scores[b, n, key, start:end]
                    for j in range(len(row)):
                        row[j] = exp(row[j] - t[j])
                        s[j] += row[j]
                for j in range(len(s)):
                    lse[b, n, start + j] = np.log(s[j]) + t[j]
                    s[j] = ONE / s[j]
                for key in range(keys):
                    row = scores[b, n, key, start:end]
                    for j in range(len(row)):
                        row[j] *= s[j]


@loops("(f4[:, :, :, ::1], f4[:, :, :, ::1], f4[:, ::1], f4, f4[:, :, :], f4[:, :, :])")
def softmax_backward(scores, dprobs, mask, scale, lse, inner):
    """scores become probs, dprobs become dscores"""
    examples, heads, keys, queries = scores.shape
    for b in range(examples):
        for n in range(heads):
            log_sums, inners = lse[b, n].copy(), inner[b, n].copy()  # side by side, as the loop needs them
            for key in range(keys):
                row, d_row, masked = scores[b, n, key], dprobs[b, n, key], mask[b, key]
                for j in range(queries):
                    row[j] = exp(row[j] * scale + masked - log_sums[j])
                    d_row[j] = row[j] * (d_row[j] - inners[j]) * scale


@loops("(f4[:, ::1], f4[::1], f4[::1], f4[::1])")
def words_forward(logits, bias, top, total):
    """top: the largest logit so far; total: Σ exp(logits - top) so far"""
    words, K = logits.shape
    for start in range(0, K, BLOCK):
        end = min(start + BLOCK, K)
        t, s = top[start:end], total[start:end]
        before = t.copy()
        for word in range(words):
            row, b = logits[word, start:end], bias[word]
            for j in range(len(row)):
                row[j] += b
                t[j] = row[j] if row[j] > t[j] else t[j]
        for j in range(len(s)):
            s[j] *= exp(before[j] - t[j])            # what was summed under a lower top
        for word in range(words):
            row = logits[word, start:end]
            for j in range(len(row)):
                s[j] += exp(row[j] - t[j])


@loops("(f4[:, ::1], f4[::1], f4[::1], f4[::1], f4[::1])", fastmath=IN_ANY_ORDER)
def words_backward(logits, bias, lse, shares, dbias):
    """logits become p share, dbias adds Σ_k p share; the labels' own share is still to be taken off"""
    for word in range(len(logits)):
        row, b, total = logits[word], bias[word], F(0)
        for k in range(len(lse)):
            row[k] = exp(row[k] + b - lse[k]) * shares[k]
            total += row[k]
        dbias[word] += total


@loops()
def embed_forward(ids, types, word, position, token_type, y):
    B, T = ids.shape
    for b in range(B):
        for t in range(T):
            row, w, p, kind = y[b * T + t], word[ids[b, t]], position[t], token_type[types[b, t]]
            for j in range(len(row)):
                row[j] = w[j] + p[j] + kind[j]


@loops()
def embed_backward(dy, ids, types, dword, dposition, dtoken_type):
    B, T = ids.shape
    for b in range(B):
        kinds = np.zeros_like(dtoken_type)
        for t in range(T):
            row, dw, dp, kind = dy[b * T + t], dword[ids[b, t]], dposition[t], kinds[types[b, t]]
            for j in range(len(row)):
                dw[j] += row[j]
                dp[j] += row[j]
                kind[j] += row[j]
        dtoken_type += kinds
