"""Layer normalisation over the last axis (Ba et al., 2016, arXiv:1607.06450).

    xhat = (x - mean(x)) rstd        rstd = 1 / √(var(x) + eps)        y = gain xhat + bias

Backward. Write g = dy gain. Three paths lead back to x: directly, through the mean, through the
variance. They add up to

    dx = rstd (g - mean(g) - xhat mean(g xhat))          dgain = Σ_rows dy xhat          dbias = Σ_rows dy

Remember it as a projection: dx is g with its component along the constant vector and along xhat taken
out, for the forward pass made y blind to a shift and a scale of x.

x, y: (..., H)   gain, bias: (H,)   cache: xhat (..., H), rstd (..., 1), gain

The variance is the biased one, mean((x - mean)²). `np.var` would take |·|² and lose the imaginary part
that the complex-step check lives on. Half precision is widened where x is squared: 256² overflows it.
"""

from ..backend import array_module, at_least_float32


def layer_norm_forward(x, gain, bias, eps=1e-12):
    xp = array_module(x)
    centred = at_least_float32(x)
    centred = centred - centred.mean(axis=-1, keepdims=True)
    rstd = 1.0 / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    xhat = centred
    xhat *= rstd                                     # (..., H), mean 0 and variance 1
    xhat = xhat.astype(x.dtype, copy=False)

    y = xhat * gain
    y += bias
    return y, (xhat, rstd, gain)


def layer_norm_backward(dy, cache):
    xhat, rstd, gain = cache
    rows = tuple(range(dy.ndim - 1))

    dbias = dy.sum(axis=rows)                        # forward: y += bias
    g_xhat = dy * xhat
    dgain = g_xhat.sum(axis=rows)                    # forward: y = xhat gain

    g_xhat *= gain
    g = dy * gain                                    # forward: xhat = (x - mean) rstd
    dx = g - g.mean(axis=-1, keepdims=True)
    dx -= xhat * g_xhat.mean(axis=-1, keepdims=True)
    dx *= rstd
    return dx.astype(dy.dtype, copy=False), dgain, dbias
