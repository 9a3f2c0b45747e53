# %% [markdown]
# # Exercise 7: counting, or what sharing saves
#
# ALBERT saves parameters in two places: words are E wide, and a projection takes them to the H of the layers; and all
# layers share one set of weights. You count what each saves, and find something that neither does.
#
# Letters: V words, E and H as above, M positions, F the width within the feed-forward part, L layers, T tokens in a
# sequence. Everything is a whole number, each result too, which may have more digits than a float holds: use integers.
# No argument, no result and no intermediate value of the formulas below exceeds $2^{63} - 1$, so `int64` is right as
# well. Do not write into arguments.
#
# ## Parameters
#
# **Embedding**, all of it E wide: a table of V words, one of M positions, one of 2 token types, and a norm (a gain
# and a bias); then the projection from E to H, a matrix and a bias. Where E = H there is no projection.
#
# **Layer**: query, key, value and output, each H to H; a norm; up from H to F, down from F to H; a norm. Each of the
# six has a matrix and a bias, each norm a gain and a bias, H wide.
#
# **Model**: embedding, layers, and the pooler, H to H with a bias; no heads. With `shared` there is one layer's set of
# weights, without it L.

# %%
def embedding_parameters(V, E, H, M):
    """Returns how many numbers the embedding learns, with its norm and the projection to H."""
    ### HINT Three tables, a norm, a projection. How wide is each? What does E = H change?
    ### HINT Tables: (V + M + 2) E. Norm: 2 E. Projection: E H + H, unless E = H.
    ### HINT Add (V + M + 2) * E and 2 * E; then, if E != H, E * H + H.
    ### BEGIN SOLUTION
    tables = V * E + M * E + 2 * E
    norm = 2 * E
    projection = E * H + H if E != H else 0
    return tables + norm + projection
    ### END SOLUTION


def layer_parameters(H, F):
    """Returns how many numbers one layer learns."""
    ### HINT Six matrices with their biases, and two norms.
    ### HINT Attention: 4 (H H + H). Feed-forward: H F + F and F H + H. Norms: 2 H each.
    ### HINT Add up 4 * (H * H + H), H * F + F, F * H + H, and twice 2 * H.
    ### BEGIN SOLUTION
    attention = 4 * (H * H + H)
    feed_forward = H * F + F + F * H + H
    norms = 2 * 2 * H
    return attention + feed_forward + norms
    ### END SOLUTION


def albert_parameters(config, shared):
    """config: a dict with the keys of the released config files, of which you need vocab_size, embedding_size,
    hidden_size, max_position_embeddings, intermediate_size and num_hidden_layers   shared: True or False

    Returns how many numbers the model learns, without heads.
    """
    ### HINT The two functions above, and the pooler. What does `shared` change?
    ### HINT embedding + (1 or L) layers + H H + H.
    ### HINT embedding_parameters once; layer_parameters times 1 or L; the pooler is H by H, with a bias.
    ### BEGIN SOLUTION
    H, F = config["hidden_size"], config["intermediate_size"]
    V, E, M = config["vocab_size"], config["embedding_size"], config["max_position_embeddings"]
    embedding = embedding_parameters(V, E, H, M)
    sets = 1 if shared else config["num_hidden_layers"]
    pooler = H * H + H
    return embedding + sets * layer_parameters(H, F) + pooler
    ### END SOLUTION


# %% [markdown]
# ALBERT-base (V 30000, E 128, H 768, M 512, F 3072, L 12) has 11,683,584. The paper rounds, to 12M.
#
# ## What machines exchange
#
# Several machines split a batch. After the backward pass they add up their gradients: each hands over one float32 (four
# bytes) for each parameter of the model as counted above. How many bytes does one machine hand over?

# %%
def gradient_bytes(config, shared):
    """config, shared: as above   Returns the bytes of one machine's gradients."""
    ### HINT A shared tensor has one gradient, however many layers added to it.
    ### HINT Four bytes times the number of parameters.
    ### HINT Call albert_parameters with both arguments: it knows what `shared` does. A float32 has 4 bytes.
    ### BEGIN SOLUTION
    return 4 * albert_parameters(config, shared)
    ### END SOLUTION


# %% [markdown]
# ## Operations
#
# A product of (m, k) and (k, n) takes 2 m k n operations: each of its m n numbers needs k multiplications, and as many
# additions. Count the products of the L layers in a forward pass over one sequence of T tokens, and nothing else:
#
# * query, key, value and output: (T, H) by (H, H);
# * in each of N heads, D = H / N wide, the scores: (T, D) by (D, T), and the context: (T, T) by (T, D);
# * up, (T, H) by (H, F), and down, (T, F) by (F, H).
#
# Then divide by T: operations for each token.

# %%
def flops_per_token(H, F, L, T):
    """Returns the operations of the layers' products in a forward pass, for each of T tokens."""
    ### HINT Eight products a layer. Where does N go in the two that heads do? Does it matter whose weights they are?
    ### HINT For a layer and a token: 4 times 2 H H; scores and context 2 T H each, as N D = H; up and down 2 H F each.
    ### HINT L times the sum of 4 * 2 * H * H, 2 * 2 * T * H and 2 * 2 * H * F.
    ### BEGIN SOLUTION
    projections = 4 * 2 * H * H
    attention = 2 * 2 * T * H
    feed_forward = 2 * 2 * H * F
    return L * (projections + attention + feed_forward)
    ### END SOLUTION


# %% [markdown]
# ## How narrow must words be?
#
# A table of V words that are H wide has $V H$ numbers; one that is E wide, and a matrix from E to H, have $V E + E H$
# (3.9 million against 23 million in ALBERT-base). No biases here. Up to which E is that less?

# %%
def break_even(V, H):
    """Returns the largest whole number E, at least 0, for which V E + E H is less than V H."""
    ### HINT Where are both the same? And must E be below that, or may it be there?
    ### HINT E < V H / (V + H). If that is a whole number, E is one less; if not, E is its floor.
    ### HINT In whole numbers: one less than V * H, divided by V + H with //.
    ### BEGIN SOLUTION
    return (V * H - 1) // (V + H)
    ### END SOLUTION


# %% [markdown]
# Two checks ask others. The paper's tables 1 and 3 say 12M for ALBERT-base, 18M for large, 10M, 16M and 31M for E of
# 64, 256 and 768. For BERT they say 108M and 334M, without the pooler, so embedding and layers alone are compared.
# (The paper's 60M and 235M for xlarge and xxlarge no one can count from the released code: it has 58.7M and 222.6M.)
# And transformers counts its own `AlbertModel`.
#
# ## Question
#
# ALBERT-xxlarge has two thirds of BERT-large's parameters, and the paper reports that it runs through its data at less
# than a third of BERT-large's speed. Use your functions (xxlarge: E 128, H 4096, F 16384, L 12; BERT-large: E = H 1024,
# F 4096, L 24; both V 30000, M 512, T 512) to explain both. Name one resource that sharing does save in training, and
# one that it does not, and say why.
