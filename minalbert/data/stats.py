"""What is in a corpus, and what a recipe makes of it: counted, and compared with what was asked for."""

from itertools import pairwise

import numpy as np

from .strip import KINDS, outcome

SAMPLE = 2000
BINS = 8
STANDS_THERE = {"[MASK]": 0.8, "a random piece": 0.1, "the token itself": 0.1}


def corpus_stats(corpus):
    """Counts, and how long sentences and documents are. Goes through the offsets of all shards, not the tokens."""
    sentences = [np.diff(shard.sentences) for shard in corpus.shards]
    documents = [np.diff(shard.documents) for shard in corpus.shards]
    whole = [np.diff(shard.sentences[shard.documents]) for shard in corpus.shards]
    return {
        **corpus.totals(),
        "vocab_size": corpus.vocab_size,
        "shards": len(corpus.shards),
        "token_bytes": sum(shard.tokens.nbytes for shard in corpus.shards),
        "histograms": {
            "tokens in a sentence": histogram(np.concatenate(sentences)),
            "sentences in a document": histogram(np.concatenate(documents)),
            "tokens in a document": histogram(np.concatenate(whole)),
        },
    }


def instance_stats(instances, sample=SAMPLE, epoch=0):
    """Shares among `sample` instances, evenly spread over an epoch, beside what the recipe asks for."""
    numbers = np.unique(np.linspace(0, len(instances) - 1, min(sample, len(instances))).astype(np.int64))
    details = [instances.detail(epoch, int(number)) for number in numbers]
    recipe = instances.recipe
    lengths = np.array([len(detail.input_ids) for detail in details])
    spans = [span.words for detail in details for span in detail.spans]
    masked = [(detail, place) for detail in details for span in detail.spans for place in span.positions]
    kinds = [outcome(detail, place) for detail, place in masked]
    weights = [1 / n for n in range(1, recipe.max_ngram + 1)][:: 1 if recipe.favor_shorter else -1]
    capped = np.minimum(recipe.max_predictions, np.maximum(1, np.rint(recipe.mask_fraction * lengths)))

    shares = []
    if recipe.pairs != "none":
        name = "swapped" if recipe.pairs == "sop" else "not the next"
        shares.append(share(name, sum(detail.label for detail in details), len(details), 0.5, "labels"))
    shares.append(share("tokens to predict", len(masked), int(lengths.sum()), capped.sum() / lengths.sum(), "masks"))
    for kind, (name, wanted) in zip(KINDS, STANDS_THERE.items(), strict=True):
        shares.append(share(name, kinds.count(kind), len(kinds), wanted, "what stands there"))
    for n, weight in enumerate(weights, 1):
        name = "1 word" if n == 1 else f"{n} words"
        shares.append(share(name, spans.count(n), len(spans), weight / sum(weights), "spans"))
    return {
        "instances": len(instances),
        "looked_at": len(numbers),
        "epoch": epoch,
        "documents_left_out": int(instances.table.left_out),
        "shares": shares,
        "histograms": {"tokens in an instance": histogram(lengths)},
    }


def share(name, count, total, wanted, group):
    return {"group": group, "name": name, "count": int(count), "of": int(total),
            "share": count / max(1, total), "asked_for": float(wanted)}  # fmt: skip


def histogram(values):
    """Counts in at most 8 steps of whole numbers; the last one takes all above."""
    if not len(values):
        return {"mean": 0.0, "median": 0.0, "largest": 0, "starts": [], "counts": []}
    low, high = int(values.min()), int(np.quantile(values, 0.99, method="higher"))
    step = next(size for power in range(20) for size in (10**power, 2 * 10**power, 5 * 10**power)
                if high // size - low // size < BINS)  # fmt: skip
    starts = np.arange(low // step, high // step + 1) * step
    which = np.minimum(values // step - low // step, len(starts) - 1).astype(np.int64)
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "largest": int(values.max()),
        "starts": starts.tolist(),
        "counts": np.bincount(which, minlength=len(starts)).tolist(),
    }


# As text.

def corpus_lines(found):
    yield (f"{found['documents']:,} documents, {found['sentences']:,} sentences, {found['tokens']:,} tokens, "
           f"each one of {found['vocab_size']:,} pieces")  # fmt: skip
    plural = "s" if found["shards"] > 1 else ""
    yield f"{found['shards']:,} shard{plural}, {found['token_bytes'] / 1e6:,.1f} MB of tokens"


def instance_lines(found):
    yield (f"{found['instances']:,} instances in an epoch; {found['looked_at']:,} of epoch {found['epoch']} "
           "were looked at")  # fmt: skip
    if found["documents_left_out"]:
        yield f"{found['documents_left_out']:,} documents have too few sentences to give an instance"
    yield ""
    yield f"{'':18}{'':18}{'found':>7}{'asked for':>11}{'of':>11}"
    previous = None
    for row in found["shares"]:
        group = "" if row["group"] == previous else row["group"]
        previous = row["group"]
        yield (f"{group:18} {row['name']:17}{row['share']:>7.1%}{row['asked_for']:>11.1%}{row['of']:>11,} "
               f"{bar(row['share'], 12)}").rstrip()  # fmt: skip
    yield "(spans are a little shorter than asked for: one that no longer fits the budget is shortened)"


def histogram_lines(histograms, width=100):
    """Histograms side by side, as many as there is room for."""
    blocks = [list(histogram_block(name, found)) for name, found in histograms.items()]
    beside = max(1, (width + 3) // 36)
    for first in range(0, len(blocks), beside):
        some = blocks[first : first + beside]
        for i in range(max(map(len, some))):
            yield "   ".join(f"{block[i] if i < len(block) else '':33}" for block in some).rstrip()
        if first + beside < len(blocks):
            yield ""


def histogram_block(name, found):
    yield name
    yield f"mean {found['mean']:,.1f}, longest {found['largest']:,}"
    counts = found["counts"]
    most, total = max(counts, default=1), max(1, sum(counts))
    for name, count in zip(step_names(found), counts, strict=True):
        yield f"{name:>11} {count / total:>6.1%} {bar(count / most, 13)}"


def step_names(found):
    """8-9, 10-11, ... and 12 or 12- for the last, which takes all above."""
    starts = found["starts"]
    names = [str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in pairwise(starts)]
    return [*names, f"{starts[-1]}" + "-" * (found["largest"] > starts[-1])] if starts else []


def bar(share, width):
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
