"""Three tables added: which word, where, and in which segment.

    y[b, t] = word[ids[b, t]] + position[t] + token_type[types[b, t]]

Backward. A row of a table gets the sum of dy over every place that looked it up. The same word comes
many times in a batch, so its gradients are added (scatter-add); assigning would keep only the last.

    dword[ids[b, t]] += dy[b, t]     dposition[t] = Σ_b dy[b, t]     dtoken_type[types[b, t]] += dy[b, t]

ids, types: (B, T) integers   word: (V, E)   position: (M, E), M ≥ T   token_type: (2, E)   y: (B, T, E)
cache: ids, types and the three table shapes; no activations at all
"""

from ..backend import array_module, scatter_add


def embedding_forward(ids, types, word, position, token_type):
    T = ids.shape[1]
    y = word[ids]                                    # (B, T, E)
    y += position[:T]
    y += token_type[types]
    return y, (ids, types, word.shape, position.shape, token_type.shape)


def embedding_backward(dy, cache):
    ids, types, word_shape, position_shape, type_shape = cache
    T = ids.shape[1]

    dtoken_type = scatter_add(type_shape, types, dy)          # forward: y += token_type[types]
    dposition = array_module(dy).zeros(position_shape, dy.dtype)
    dposition[:T] = dy.sum(axis=0)                            # forward: y += position[:T]
    dword = scatter_add(word_shape, ids, dy)                  # forward: y = word[ids]
    return None, None, dword, dposition, dtoken_type
