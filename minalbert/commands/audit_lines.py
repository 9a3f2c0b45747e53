"""The findings of an audit as text."""

from ..data.audit import LIMITS


def lines(findings):
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
