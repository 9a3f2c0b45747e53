"""Two gradients of one tensor side by side, and the report a reader gets.

The error of a tensor is max|yours - expected| / max(max|expected|, floor). The floor, a thousandth of the
largest gradient in the check, is for tensors whose gradient is zero by theory (the key bias of attention):
relative to themselves, their rounding errors would look like bugs.
"""

from dataclasses import dataclass, field

import numpy as np

from ..errors import MinalbertError
from .diagnose import digits, guess, guess_model, in_words

LIMITS = {"complex": 1e-10, "central": 1e-6}
FLOOR = 1e-3
SHOWN = 5                                            # tensors explained, of many that are wrong


class GradientError(MinalbertError, AssertionError):
    """A gradient that is not the derivative of its function, or a pair that breaks its contract."""


@dataclass
class TensorResult:
    """One tensor's gradient, ours (`yours`) and the numeric one (`expected`).

    Where a random direction was checked in place of every entry, both are that direction's slope, and
    `size` is what it would be if nothing in it cancelled.
    """

    name: str
    yours: np.ndarray
    expected: np.ndarray
    size: float = 0.0
    notes: list = field(default_factory=list)        # what is wrong beside numbers
    error: float = 0.0
    passed: bool = True

    @classmethod
    def broken(cls, name, note):
        return cls(name, np.zeros(()), np.zeros(()), notes=[note], passed=False)

    @property
    def worst(self):
        return [int(i) for i in np.unravel_index(np.argmax(abs(self.yours - self.expected)), self.expected.shape)]

    def explain(self):
        """Describe what is wrong, in lines a person can act on."""
        if self.notes:
            return [f"  {self.name}: {note}" for note in self.notes]
        yours, expected = (float(x[tuple(self.worst)]) for x in (self.yours, self.expected))
        ratio = digits(yours / expected) if expected else "none, expected is 0"
        lines = [f"  {self.name}: relative error {self.error:.1e}",
                 f"    worst entry {self.worst}   yours {yours:.8g}   expected {expected:.8g}   ratio {ratio}"]
        cause = guess(self.yours, self.expected)
        return [*lines, f"    {in_words(cause)}"] if cause else lines


@dataclass
class Report:
    case: str
    method: str                                      # "complex" or "central"
    entries: bool                                    # every entry, or one random direction per tensor
    seed: int
    results: list
    remark: str = ""

    @property
    def passed(self):
        return all(result.passed for result in self.results)

    @property
    def error(self):
        return max((result.error for result in self.results), default=0.0)

    def rows(self):
        """One dict per tensor, for tables and JSON."""
        return [
            {
                "case": self.case,
                "tensor": result.name,
                "entries": int(result.expected.size),
                "error": float(result.error),
                "worst": result.worst,
                "method": self.method if self.entries else f"{self.method}, one direction",
                "passed": result.passed,
            }
            for result in self.results
        ]

    def explain(self):
        wrong = [result for result in self.results if not result.passed]
        lines = [f"gradient check of {self.case} failed (seed {self.seed}, {self.method}):"]
        lines += [f"  {self.remark}"] if self.remark else []
        if len(wrong) > SHOWN:
            right = [result.name for result in self.results if result.passed]
            lines.append(f"  {len(wrong)} of {len(self.results)} gradients are wrong; the first {SHOWN}:")
            if cause := guess_model([result.name for result in wrong], right):
                lines.insert(1, f"  looks like: {cause}")
        return "\n".join(lines + [line for result in wrong[:SHOWN] for line in result.explain()])

    def check(self):
        __tracebackhide__ = True                     # pytest shows the message, not our lines
        if not self.passed:
            raise GradientError(self.explain())
        return self

    def __str__(self):
        if not self.passed:
            return self.explain()
        text = f"{self.case}: {len(self.results)} gradients right, largest relative error {self.error:.1e}"
        return f"{text} ({self.remark})" if self.remark else text


def judge(results, limit):
    """Fill in error and verdict of each, now that the largest gradient of all is known."""
    for result in results:
        result.size = max(result.size, float(np.abs(result.expected).max(initial=0.0)))
    floor = FLOOR * max((result.size for result in results), default=0.0) or 1.0
    for result in results:
        difference = np.abs(result.yours - result.expected).max(initial=0.0)
        result.error = float(difference / max(result.size, floor))
        result.passed = not result.notes and bool(result.error <= limit)     # a NaN fails
    return results
