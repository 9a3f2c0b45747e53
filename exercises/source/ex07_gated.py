# %% [markdown]
# # Exercise 7: counting, for a changed model
#
# Models that came after ALBERT save in other places: rare words are narrower than common ones, several heads share one
# key and one value, biases are left out, and layers share in groups. The feed-forward part has grown: it has a gate.
# You count what that makes of parameters, of a training run's memory, of a text that is written word by word, and of
# operations.
#
# Letters: C common words, E wide, and R rare ones, S wide; H the width of the layers; N heads with K keys and values
# (K divides N), each D wide; F the width within the feed-forward part; L layers, T tokens in a sequence. N D need not
# be H, and S may be larger than E. Everything is a whole number, each result too, which may have more digits than a
# float holds: use integers. No argument, no result and no intermediate value of the formulas below exceeds
# $2^{63} - 1$, so `int64` is right as well. Do not write into arguments.
#
# ## Parameters
#
# **Embedding**: a table of the C common words and a matrix from E to H; a table of the R rare words and a matrix from S
# to H. No biases, no positions (they are a rotation, which learns nothing), no norm. Where R = 0 there is neither the
# second table nor its matrix.
#
# **Layer**: query, from H to N D; key and value, from H to K D each; output, from N D to H. Gate and up, from H to F;
# down, from F to H. Query, key and value have biases, the other four matrices have none. Two norms, each with a gain, H
# wide, and no bias.
#
# **Model**: embedding, layers, and a last norm, again a gain alone; no pooler, no heads. The L layers are in
# `num_hidden_groups` groups: the layers of a group share one set of weights, and each group has its own.

# %%
def embedding_parameters(C, R, E, S, H):
    """Returns how many numbers the embedding learns."""
    ### HINT Two tables, two matrices. What does R = 0 change?
    ### HINT C E + E H for common words; R S + S H for rare ones, if there are any.
    ### HINT Add up C * E and E * H; then, if R > 0, R * S and S * H.
    ### BEGIN SOLUTION
    common = (C + H) * E
    rare = (R + H) * S if R > 0 else 0
    return common + rare
    ### END SOLUTION


def layer_parameters(H, F, N, K, D):
    """Returns how many numbers one layer learns."""
    ### HINT Seven matrices, three biases, two norms. How wide is what the heads are given, and what the keys are?
    ### HINT Query: H N D + N D. Key, value: H K D + K D each. Output: N D H. Feed-forward: 3 H F. Norms: H each.
    ### HINT (H + 1) * N * D, twice (H + 1) * K * D, N * D * H, three times H * F, twice H.
    ### BEGIN SOLUTION
    attention = (H + 1) * D * (N + 2 * K) + H * N * D
    feed_forward = 3 * F * H
    norms = 2 * H
    return attention + feed_forward + norms
    ### END SOLUTION


def model_parameters(config):
    """config: a dict with common_words, rare_words, wide_size (E), narrow_size (S), hidden_size, intermediate_size,
    num_attention_heads, num_key_value_heads, head_dim, num_hidden_layers and num_hidden_groups, in any order

    Returns how many numbers the model learns.
    """
    ### HINT The two functions above, and the last norm. How many sets of a layer's weights are there?
    ### HINT embedding + num_hidden_groups layers + H.
    ### HINT embedding_parameters once, layer_parameters times the groups, and hidden_size for the norm's gain.
    ### BEGIN SOLUTION
    H = config["hidden_size"]
    words = [config[name] for name in ("common_words", "rare_words", "wide_size", "narrow_size")]
    heads = [config[name] for name in ("num_attention_heads", "num_key_value_heads", "head_dim")]
    one_set = layer_parameters(H, config["intermediate_size"], *heads)
    return embedding_parameters(*words, H) + config["num_hidden_groups"] * one_set + H
    ### END SOLUTION


# %% [markdown]
# ## What a training run keeps
#
# W machines train one model. Each of them has all weights and all gradients in bfloat16, two bytes a number. LAMB needs
# three float32 numbers more for each parameter, a copy of the weight and two moments, four bytes each; these the
# machines divide among themselves by whole parameters, as evenly as they can. How many bytes has a machine that got the
# most?

# %%
def training_bytes(parameters, W):
    """parameters: how many the model learns   W: machines   Returns the bytes of a machine that got the most."""
    ### HINT What has each machine for all parameters, and what for its share? What if W does not divide them?
    ### HINT 2 (2 P) + 3 · 4 ⌈P / W⌉ for P parameters.
    ### HINT 4 bytes for each parameter, 12 for each of its share; -(-a // b) rounds up.
    ### BEGIN SOLUTION
    share = (parameters + W - 1) // W
    return 4 * parameters + 12 * share
    ### END SOLUTION


# %% [markdown]
# ## What a text keeps
#
# A model that writes a text word by word keeps the keys and the values of all T tokens so far, of every layer, in
# bfloat16: the next word's queries meet them again.

# %%
def cache_bytes(config, T):
    """config: as above   Returns the bytes of the keys and values of T tokens."""
    ### HINT Do two layers that share their weights have the same keys, too?
    ### HINT 2 bytes for each of 2 L K D T numbers.
    ### HINT Keys and values: twice num_key_value_heads times head_dim, for each layer and each token.
    ### BEGIN SOLUTION
    width = config["num_key_value_heads"] * config["head_dim"]
    return 2 * 2 * T * width * config["num_hidden_layers"]
    ### END SOLUTION


# %% [markdown]
# ## Operations
#
# A product of (m, k) and (k, n) takes 2 m k n operations. Count the products of the L layers in a forward pass over one
# sequence of T tokens: the seven matrices, and in each of the N heads the scores, (T, D) by (D, T), and the context,
# (T, T) by (T, D). Nothing else: no biases, norms, or the gate's product of two numbers. Then divide by T.

# %%
def flops_per_token(H, F, L, N, K, D, T):
    """Returns the operations of the layers' products in a forward pass, for each of T tokens."""
    ### HINT Which products become fewer with K < N, and which do not?
    ### HINT In a layer, 2 H N D for query and output, 2 H K D for key and value, 2 T N D for two, 2 H F for three.
    ### HINT L times the sum of 4 * H * N * D, 4 * H * K * D, 4 * T * N * D and 6 * H * F.
    ### BEGIN SOLUTION
    projections = 4 * H * D * (N + K)
    products = 4 * T * D * N
    feed_forward = 3 * 2 * F * H
    return L * (projections + products + feed_forward)
    ### END SOLUTION


# %% [markdown]
# ## How wide is a fair gate?
#
# A feed-forward part without a gate, as ALBERT's, has 2 H F + F + H numbers with its biases. One with a gate has three
# matrices and no biases. Which width F' of the gate costs no more?

# %%
def gated_width(H, F):
    """Returns the largest whole number F' for which 3 H F' is at most 2 H F + F + H."""
    ### HINT Where are both the same? May F' be there?
    ### HINT F' ≤ (2 H F + F + H) / (3 H); its floor.
    ### HINT Whole numbers alone: ALBERT's count, divided by 3 * H with //.
    ### BEGIN SOLUTION
    plain = F * (2 * H + 1) + H
    return plain // (3 * H)
    ### END SOLUTION


# %% [markdown]
# One check asks transformers: its `Qwen2Model` has such layers, each with weights of its own. Qwen2.5-0.5B (H 896,
# F 4864, N 14, K 2, D 64, L 24) has 357,898,112 numbers beside its table of words.
#
# ## Question
#
# Take C 4000, R 26000, E 256, S 64, H 768, F 2048, N 12, K 4, D 64, L 12, T 512, and 1, 3 and 12 groups. Use your
# functions for the parameters, the bytes of a training run on 1 and on 8 machines, the cache, and the operations. Which
# of these change with the number of groups, which with K, and which with W? Which one saving costs something that none
# of your functions counts?
