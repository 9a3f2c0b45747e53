"""Two gradients of one tensor side by side, and the report a reader gets.

The error of a tensor is max|yours - expected| / max(max|expected|, floor). The floor, a thousandth of the
largest gradient in the check, is for tensors whose gradient is zero by theory (the key bias of attention):
relative to themselves, their rounding errors would look like bugs.
"""

from dataclasses import dataclass, field

import numpy as np

from .diagnose import guess

LIMITS = {"complex": 1e-10, "central": 1e-6}
FLOOR = 1e-3


class GradientError(AssertionError):
    """A gradient that is not the derivative of its function."""


@dataclass
class TensorResult:
    """One tensor's gradient, ours (`yours`) and the numeric one (`expected`).

    Where a random direction was checked in place of every entry, both are that direction's slope.
    """

    name: str
    yours: np.ndarray
    expected: np.ndarray
    error: float = 0.0
    passed: bool = True
    notes: list = field(default_factory=list)

    @property
    def worst(self):
        return np.unravel_index(np.argmax(abs(self.yours - self.expected)), self.expected.shape)

    def explain(self):
        """What is wrong, in lines a person can act on."""
        if self.notes:
            return [f"  {self.name}: {note}" for note in self.notes]
        worst = tuple(int(i) for i in self.worst)
        yours, expected = float(self.yours[worst]), float(self.expected[worst])
        ratio = f"{yours / expected:.6g}" if expected else "none, expected is 0"
        lines = [
            f"  {self.name}: relative error {self.error:.1e}",
            f"    worst entry {list(worst)}   yours {yours:.8g}   expected {expected:.8g}   ratio {ratio}",
        ]
        cause = guess(self.yours, self.expected)
        return [*lines, f"    looks like: {cause}"] if cause else lines


@dataclass
class Report:
    case: str
    method: str                                      # "complex" or "central"
    entries: bool                                    # every entry, or one random direction per tensor
    seed: int
    results: list

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
                "worst": [int(i) for i in result.worst] if result.expected.ndim else [],
                "method": self.method if self.entries else f"{self.method}, one direction",
                "passed": result.passed,
            }
            for result in self.results
        ]

    def explain(self):
        wrong = [line for result in self.results if not result.passed for line in result.explain()]
        return "\n".join([f"gradient check of {self.case} failed (seed {self.seed}, {self.method}):", *wrong])

    def check(self):
        __tracebackhide__ = True                     # pytest shows the message, not our lines
        if not self.passed:
            raise GradientError(self.explain())
        return self

    def __str__(self):
        if not self.passed:
            return self.explain()
        return f"{self.case}: {len(self.results)} gradients right, largest relative error {self.error:.1e}"


def judge(results, limit):
    """Fill in error and verdict of each, now that the largest gradient of all is known."""
    sizes = [np.abs(result.expected).max(initial=0.0) for result in results]
    floor = FLOOR * max(sizes, default=0.0) or 1.0
    for result, size in zip(results, sizes, strict=True):
        if result.notes:
            result.passed = False
            continue
        difference = np.abs(result.yours - result.expected).max(initial=0.0)
        result.error = float(difference / max(size, floor))
        result.passed = bool(result.error <= limit)  # a NaN fails
    return results
