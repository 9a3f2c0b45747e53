"""Tier 2: the model. It knows the parameters' names, and is the only place that writes `grads[name] += ...`.

A pair here is `y, cache = f_forward(x, params, ...)` and `dx = f_backward(dy, cache, grads)`: the gradient
of an activation is returned, the gradient of a parameter is added. The addition is all that ALBERT's
sharing needs: a layer that is applied L times adds L times into one tensor.

Read in this order: embeddings, encoder, heads, pretraining, albert.
"""
