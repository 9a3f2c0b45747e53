"""Counts and findings about a corpus as text."""

from ..data.audit import LIMITS
from .printing import bar


def corpus(found):
    yield (f"{found['documents']:,} documents, {found['sentences']:,} sentences, {found['tokens']:,} tokens, "
           f"each one of {found['vocab_size']:,} pieces")
    plural = "s" if found["shards"] > 1 else ""
    yield f"{found['shards']:,} shard{plural}, {found['token_bytes'] / 1e6:,.1f} MB of tokens"


def instances(found):
    yield (f"{found['instances']:,} instances in an epoch; {found['looked_at']:,} of epoch {found['epoch']} "
           "were looked at")
    if found["documents_left_out"]:
        yield f"{found['documents_left_out']:,} documents have too few sentences to give an instance"
    yield tokens_read(found["tokens"])
    yield ""
    yield f"{'':18}{'':18}{'found':>7}{'asked for':>11}{'of':>11}"
    previous = None
    for row in found["shares"]:
        group = "" if row["group"] == previous else row["group"]
        previous = row["group"]
        yield (f"{group:18} {row['name']:17}{row['share']:>7.1%}{row['asked_for']:>11.1%}{row['of']:>11,} "
               f"{bar(row['share'], 12)}").rstrip()
    yield from span_lengths(found["shares"])


def tokens_read(shares):
    """How much of the corpus an epoch reads, and what becomes of the rest."""
    rest = [f"{shares[name]:.1%} {what}" for name, what in (
        ("cut_off", "are cut off where sentences do not fit, other tokens in each epoch"),
        ("in_documents_left_out", "are in documents left out"),
    ) if shares[name] >= 0.0005]  # fmt: skip
    return "; ".join([f"an epoch reads {shares['read']:.1%} of the corpus's tokens", *rest])


def span_lengths(shares):
    """What the table says of the spans, in a sentence."""
    rows = [row for row in shares if row["group"] == "spans"]
    if len(rows) == 1:
        return
    found, asked = (sum(n * row[key] for n, row in enumerate(rows, 1)) for key in ("share", "asked_for"))
    yield f"a span has {found:.2f} words on average; asked for were {asked:.2f}"
    if found < asked:
        yield "(one that does not fit what is left to predict is shortened; one that would overlap another is left out)"


def side_by_side(histograms, width):
    """Histograms side by side, as many as there is room for."""
    blocks = [list(histogram(name, found)) for name, found in histograms.items()]
    beside = max(1, (width + 3) // 36)
    for first in range(0, len(blocks), beside):
        some = blocks[first : first + beside]
        for i in range(max(map(len, some))):
            yield "   ".join(f"{block[i] if i < len(block) else '':33}" for block in some).rstrip()
        if first + beside < len(blocks):
            yield ""


def histogram(name, found):
    yield name
    yield f"mean {found['mean']:,.1f}, longest {found['largest']:,}"
    counts = found["counts"]
    most, total = max(counts, default=1), max(1, sum(counts))
    for name, count in zip(found["names"], counts, strict=True):
        yield f"{name:>11} {count / total:>6.1%} {bar(count / most, 13)}"


def audit(findings):
    """A table of the findings, and a sentence on the leaks."""
    table = [f"{'probe':<18}{'accuracy':>9}  verdict"]
    for f in findings:
        table.append(f"{f.probe:<18}{f.accuracy:>9.3f}  {verdict(f)}" + (f" ({f.detail})" if f.detail else ""))
    tested, bound = findings[0].tested, findings[0].bound
    table.append(f"tested on {tested:,} pairs; by chance an accuracy exceeds {bound:.3f} once in a thousand times")
    leaks = ", ".join(f.probe for f in findings if f.leaks)
    fine = "no leak was found; order signals are what a model is to learn"
    table.append(f"the labels leak: {leaks}" if leaks else fine)
    return table


def verdict(finding):
    if finding.leaks:
        return f"LEAK, above {finding.limit:.3f}"
    if finding.limit is None:
        return "an order signal" if finding.accuracy > finding.bound else "chance"
    if LIMITS.get(finding.probe, 1) < finding.accuracy <= finding.bound:
        return "too few pairs to decide: use more, with --sample, or more text"
    return "chance" if finding.accuracy <= finding.bound else "clean"


def tasks(written):
    for task in written:
        yield (f"{task.name:12}{task.train:>7,} to train on, {task.dev:>5,} to test on, up to {task.words:>2} words:  "
               f"{task.question}")  # fmt: skip
