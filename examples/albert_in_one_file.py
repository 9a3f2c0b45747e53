"""ALBERT in one file: text, masks, layers, every gradient, LAMB and training. It needs NumPy and nothing else.

    python examples/albert_in_one_file.py        # some 35 seconds. minalbert derives each line, by the same names

ALBERT (A Lite BERT, arXiv:1909.11942) reads two segments of text and answers two questions. Which words are hidden
(MLM, masked language modelling)? Are the segments in order or swapped (SOP, sentence-order prediction)? Two things make
it lite. A table of V×E numbers and a matrix of E×H replace a table of V×H, and one layer is applied L times.

    B  sequences in a batch     V  words in the vocabulary     L  layers        P  parameters, {name: array}
    T  tokens in a sequence     E  width of an embedding       N  heads         G  gradients, by the same names
    R  rows of a batch, B T     H  width of a hidden state     D  H / N         K  hidden words in a batch
"""

import numpy as np

# 1  Text. A story follows a ring of steps and begins anywhere on it, so that no word reveals which of two sentences
#    comes first: only the two together do. The rings are some of minalbert's tiny worlds; | separates alternatives.

STEPS = """\
ploughed|furrowed|turned the field|plot|acre with the oxen|horses|mules
sowed|scattered|planted the barley|wheat|clover in rows|furrows|drills
watered|sprinkled|soaked the seedlings|sprouts|shoots at dusk|noon|daybreak
guarded|fenced|netted the crop|ears|stalks from the crows|rabbits|deer
reaped|mowed|scythed the barley|wheat|clover along the hedge|brook|ridge
carried|dragged|rolled the boxes|sacks|barrels to the shed|cart|cellar

loaded|guided|waved the wagons|carts|cattle onto the ramp|planks|deck
collected|clipped|inspected the tickets|coins|tolls from the farmers|pedlars|drovers
blew|pulled|sounded the whistle|horn|hooter at the captain|helmsman|crew
dodged|fought|crossed the current|rapids|eddies with the rudder|tiller|wheel
unloaded|helped|released the passengers|pilgrims|riders beside the inn|chapel|tollhouse
carried|dragged|rolled the boxes|sacks|barrels to the shed|cart|cellar

lit|trimmed|lifted the lamp|lantern|candle by the window|stairs|door
logged|spotted|signalled the ships|steamers|schooners near the reef|strait|cape
sounded|tested|muffled the foghorn|siren|gong for the sailors|pilots|whalers
wrote|noted|copied the date|hour|weather in a notebook|ledger|diary
watched|admired|awaited the storm|squall|sunrise from the balcony|railing|deck
dimmed|quenched|shaded the beam|flame|glow with the shutters|blinds|curtains"""
RINGS = [[[words.split("|") for words in step.split()] for step in ring.split("\n")] for ring in STEPS.split("\n\n")]
NAMES = "ada bela cora dina edda fern gwen hilda abel boris carl dirk emil felix gus hugo".split()
WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", ".", *NAMES, *sorted({*STEPS.replace("|", " ").split()})]
IDS = {word: id for id, word in enumerate(WORDS)}

def pick(options, rng):
    return options[rng.integers(len(options))]

def tell(rng):
    """Two or three successive sentences about one person, each a list of words."""
    ring, name = pick(RINGS, rng), pick(NAMES, rng)
    first, count = rng.integers(len(ring)), rng.integers(2, 4)
    steps = [ring[(first + i) % len(ring)] for i in range(count)]
    return [[name, *(pick(words, rng) for words in step), "."] for step in steps]


# 2  Two questions. SOP: a story is cut between two sentences, and half of the pairs are swapped. MLM: 15 % of tokens
#    are hidden, in spans of n = 1, 2 or 3 words, with a probability proportional to 1 / n.

def make_example(story, rng):
    cut, swapped = rng.integers(1, len(story)), int(rng.random() < 0.5)
    halves = (story[cut:], story[:cut]) if swapped else (story[:cut], story[cut:])
    first, second = ([word for sentence in half for word in sentence] for half in halves)
    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    places = choose_places(tokens, rng)
    words = [tokens[place] for place in places]
    for place in places:
        chance = rng.random()
        if chance < 0.8:
            tokens[place] = "[MASK]"
        elif chance >= 0.9:
            tokens[place] = pick(WORDS[4:], rng)
    return tokens, types, places, words, swapped

def choose_places(tokens, rng):
    """Spans that begin anywhere, end within their segment, and do not overlap."""
    left, places = max(1, round(0.15 * len(tokens))), set()
    for start in rng.permutation([place for place, token in enumerate(tokens) if token[0] != "["]):
        n = pick((1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3), rng)
        span = range(start, min(start + n, start + left, tokens.index("[SEP]", start)))
        if places.isdisjoint(span):
            places.update(span)
            left -= len(span)
        if not left:
            break
    return sorted(places)

def make_batch(stories, rng):
    """ids, types: (B, T)   masked: (K,) of the R rows   words: (K,) those hidden there   swapped: (B,)"""
    tokens, types, places, words, swapped = zip(*(make_example(story, rng) for story in stories), strict=True)
    T = max(map(len, tokens))
    ids = [[IDS[token] for token in row] + [0] * (T - len(row)) for row in tokens]
    types = [row + [0] * (T - len(row)) for row in types]
    masked = [b * T + place for b, row in enumerate(places) for place in row]
    words = [IDS[word] for row in words for word in row]
    return tuple(np.array(each) for each in (ids, types, masked, words, swapped))


# 3  Layers. Each is a pair. Forward returns its result and a cache, which is named after the layer. Backward takes dy,
#    the loss's gradient for the result, returns the one for the input, and adds those of the parameters to G.

def linear(x, P, name):
    """x: (R, I)   w: (I, O)   b: (O,)   ->   (R, O)"""
    w, b = P[name + ".w"], P[name + ".b"]
    return x @ w + b, (x, w, name)

def linear_backward(dy, cache, G):
    x, w, name = cache
    G[name + ".w"] += x.T @ dy
    G[name + ".b"] += dy.sum(0)
    return dy @ w.T

def layer_norm(x, P, name):
    """Mean 0 and variance 1 in each row; then a gain and a bias for each column."""
    centred = x - x.mean(1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-12)
    xhat = centred * rstd
    return xhat * P[name + ".gain"] + P[name + ".bias"], (xhat, rstd, P[name + ".gain"], name)

def layer_norm_backward(dy, cache, G):
    """A row that is shifted or scaled gives the same result: dx has no component along 1 or xhat."""
    xhat, rstd, gain, name = cache
    G[name + ".gain"] += (dy * xhat).sum(0)
    G[name + ".bias"] += dy.sum(0)
    g = dy * gain
    return rstd * (g - g.mean(1, keepdims=True) - xhat * (g * xhat).mean(1, keepdims=True))

C, A = (2 / np.pi) ** 0.5, 0.044715
def gelu(x):
    """x times the probability that a normal number is below x, approximated by a tanh."""
    tanh = np.tanh(C * (x + A * x * x * x))
    return 0.5 * x * (1 + tanh), (x, tanh)

def gelu_backward(dy, cache):
    x, tanh = cache
    du = C * (1 + 3 * A * x * x)
    return dy * 0.5 * (1 + tanh + x * (1 - tanh * tanh) * du)

def attention(x, real, P):
    """Each token compares its query with every key, and takes a weighted mean of the values. real: (B, T)"""
    q, to_q = linear(x, P, "encoder.attention.query")
    k, to_k = linear(x, P, "encoder.attention.key")
    v, to_v = linear(x, P, "encoder.attention.value")
    q, k, v = (split(y, len(real)) for y in (q, k, v))
    scores = q @ k.swapaxes(2, 3) * q.shape[3] ** -0.5                                # (B, N, T, T)
    scores = np.where(real[:, None, None, :], scores, -1e30)                          # padding has no weight
    probs = np.exp(scores - scores.max(3, keepdims=True))
    probs /= probs.sum(3, keepdims=True)
    y, output = linear(merge(probs @ v), P, "encoder.attention.output")
    return y, (q, k, v, probs, to_q, to_k, to_v, output)

def attention_backward(dy, cache, G):
    q, k, v, probs, to_q, to_k, to_v, output = cache
    dcontext = split(linear_backward(dy, output, G), len(q))
    dv = probs.swapaxes(2, 3) @ dcontext
    dprobs = dcontext @ v.swapaxes(2, 3)
    dscores = probs * (dprobs - (dprobs * probs).sum(3, keepdims=True)) * q.shape[3] ** -0.5
    dq = dscores @ k
    dk = dscores.swapaxes(2, 3) @ q
    return sum(linear_backward(merge(d), cache, G) for d, cache in ((dq, to_q), (dk, to_k), (dv, to_v)))

def split(x, B):
    return x.reshape(B, len(x) // B, N, -1).swapaxes(1, 2)                            # (R, H) -> (B, N, T, D)

def merge(x):
    return x.swapaxes(1, 2).reshape(-1, x.shape[1] * x.shape[3])                      # and back

def cross_entropy(logits, labels):
    """The mean of -log softmax(logits)[label], and its gradient. logits: (K, V) or (B, 2)"""
    shifted = logits - logits.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    onehot = np.arange(logits.shape[1]) == labels[:, None]
    return -log_p[onehot].mean(), (np.exp(log_p) - onehot) / len(labels)


# 4  The model. Its encoder is a loop: L passes use the same parameters and add to the same gradients.

V, E, H, L, N = len(WORDS), 32, 64, 2, 4
TABLES = {"embeddings.word": (V, E), "embeddings.position": (32, E), "embeddings.token_type": (2, E)}
LINEAR = {"embeddings.projection": (E, H), "encoder.ffn.up": (H, 4 * H), "encoder.ffn.down": (4 * H, H)}
LINEAR |= {f"encoder.attention.{name}": (H, H) for name in ("query", "key", "value", "output")}
LINEAR |= {"mlm.dense": (H, E), "pooler": (H, H), "sop": (H, 2)}
NORMS = {"embeddings.norm": E, "encoder.attention.norm": H, "encoder.ffn.norm": H, "mlm.norm": E}

def init(rng):
    P = {name: rng.normal(0, H**-0.5, shape) for name, shape in TABLES.items()} | {"mlm.bias": np.zeros(V)}
    for name, (I, O) in LINEAR.items():
        P |= {f"{name}.w": rng.normal(0, H**-0.5, (I, O)), f"{name}.b": np.zeros(O)}  # ALBERT: 0.02, as H ≥ 768
    for name, width in NORMS.items():
        P |= {f"{name}.gain": np.ones(width), f"{name}.bias": np.zeros(width)}
    return P

def block(x, real, P):
    """Attention, then a feed-forward network: each is added to its input, and the sum normed."""
    y, attended = attention(x, real, P)
    x, norm1 = layer_norm(x + y, P, "encoder.attention.norm")
    y, up = linear(x, P, "encoder.ffn.up")
    y, act = gelu(y)
    y, down = linear(y, P, "encoder.ffn.down")
    x, norm2 = layer_norm(x + y, P, "encoder.ffn.norm")
    return x, (attended, norm1, up, act, down, norm2)

def block_backward(dx, cache, G):
    attended, norm1, up, act, down, norm2 = cache
    dx = layer_norm_backward(dx, norm2, G)
    dx = dx + linear_backward(gelu_backward(linear_backward(dx, down, G), act), up, G)
    dx = layer_norm_backward(dx, norm1, G)
    return dx + attention_backward(dx, attended, G)

def albert(P, batch):
    """The two losses, their logits, and every gradient."""
    ids, types, masked, words, swapped = batch
    B, T = ids.shape
    x = P["embeddings.word"][ids] + P["embeddings.position"][:T] + P["embeddings.token_type"][types]
    x, embedded = layer_norm(x.reshape(B * T, E), P, "embeddings.norm")               # (R, E)
    x, projected = linear(x, P, "embeddings.projection")                              # (R, H)
    blocks = []
    for _ in range(L):
        x, cache = block(x, ids > 0, P)
        blocks.append(cache)

    y, dense = linear(x[masked], P, "mlm.dense")                                      # (K, E)
    y, act = gelu(y)
    y, norm = layer_norm(y, P, "mlm.norm")
    word_logits = y @ P["embeddings.word"].T + P["mlm.bias"]                          # (K, V)
    pooled, pooler = linear(x[::T], P, "pooler")                                      # (B, H), the rows of [CLS]
    pooled = np.tanh(pooled)
    order_logits, sop = linear(pooled, P, "sop")                                      # (B, 2)
    mlm_loss, dwords = cross_entropy(word_logits, words)
    sop_loss, dorders = cross_entropy(order_logits, swapped)

    dx, G = np.zeros_like(x), {name: np.zeros_like(w) for name, w in P.items()}
    dpooled = linear_backward(dorders, sop, G)
    dx[::T] = linear_backward(dpooled * (1 - pooled * pooled), pooler, G)
    G["embeddings.word"] += dwords.T @ y             # the table of words is used here and at the beginning
    G["mlm.bias"] += dwords.sum(0)
    dy = layer_norm_backward(dwords @ P["embeddings.word"], norm, G)
    dx[masked] = linear_backward(gelu_backward(dy, act), dense, G)
    for cache in reversed(blocks):
        dx = block_backward(dx, cache, G)
    dx = layer_norm_backward(linear_backward(dx, projected, G), embedded, G).reshape(B, T, E)
    np.add.at(G["embeddings.word"], ids, dx)         # a word may stand in several places
    np.add.at(G["embeddings.token_type"], types, dx)
    G["embeddings.position"][:T] += dx.sum(0)
    return (mlm_loss, sop_loss), (word_logits, order_logits), G


# 5  Is it right? Along a random direction d, the slope of the loss must be the sum of G d.

def check_gradients(P, batch, rng, h=1e-5):
    d = {name: rng.normal(size=w.shape) for name, w in P.items()}
    up, down = (sum(albert({name: w + s * d[name] for name, w in P.items()}, batch)[0]) for s in (h, -h))
    slope = sum((g * d[name]).sum() for name, g in albert(P, batch)[2].items())
    print(f"slope of the loss: {slope:.6f} by the gradients, {(up - down) / (2 * h):.6f} by a difference\n")


# 6  LAMB: Adam's direction with decay; for each matrix, a step in proportion to its norm.

def lamb(P, G, M, rate):
    for name, w in P.items():
        g, (m, v) = G[name], M[name]
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        u = m / (np.sqrt(v) + 1e-6)
        if w.ndim == 2:                              # no bias, no gain
            u += 0.01 * w
            u *= np.linalg.norm(w) / np.linalg.norm(u)
        w -= rate * u


# 7  Training, and a test on new stories.

def train(stories, rng, steps=1000, size=64, peak=0.003):
    P = {name: w.astype(np.float32) for name, w in init(rng).items()}
    M = {name: (np.zeros_like(w), np.zeros_like(w)) for name, w in P.items()}
    for step in range(steps):
        (mlm_loss, sop_loss), _, G = albert(P, make_batch([pick(stories, rng) for _ in range(size)], rng))
        lamb(P, G, M, peak * min(step / 50, 1 - step / steps))
        if step % 100 == 0:
            print(f"step {step:4}   MLM loss {mlm_loss:.3f}   SOP loss {sop_loss:.3f}", flush=True)
    return P

def main(seed=0):
    rng = np.random.default_rng(seed)
    stories, others = ([tell(rng) for _ in range(count)] for count in (20_000, 1000))
    new = [story for story in others if story not in stories]
    check_gradients(init(rng), make_batch(new[:8], rng), rng)
    P = train(stories, rng)
    ids, _, masked, words, swapped = batch = make_batch(new, rng)
    guesses, orders = (logits.argmax(1) for logits in albert(P, batch)[1])
    for b in range(3):
        here = masked // ids.shape[1] == b
        print("\n" + " ".join(WORDS[id] for id in ids[b] if id))
        print("    guesses:", *(WORDS[id] for id in guesses[here]), ["(in order)", "(swapped)"][orders[b]])
        print("    truth:  ", *(WORDS[id] for id in words[here]), ["(in order)", "(swapped)"][swapped[b]])
    print(f"\nRight in {len(new)} new stories: {np.mean(guesses == words):.1%} of the hidden words,",
          f"{np.mean(orders == swapped):.1%} of the orders.")

if __name__ == "__main__":
    main()
