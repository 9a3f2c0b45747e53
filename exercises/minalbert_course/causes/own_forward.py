"""A backward function beside its own forward function: is it the derivative of that, at least?

A mistake in X_forward spoils the numbers of X_backward, too. Where X_forward is nearly right, a check of X_backward is
run once more, and there each gradient may also be the derivative of the student's own X_forward, if it is near the
right one. Derivatives are slopes along random directions. The i-th gradient belongs to the i-th argument of X_forward.
"""

import numpy as np

from ..compare import OwnGradient
from ..small_changes import at, replaced
from ..values import NotWritten, Opaque, Stopped
from ..yours import Yours

STEP = 1e-5
CLOSE = 1e-5                                         # relative to the gradient's length
DIRECTIONS = 2
NEAR = 0.95                                          # cosine between what X_forward returned and what is right


def pairs_to_judge(lesson, outcomes):
    """{name of a backward function: its forward function}, where that returned numbers that are nearly right."""
    found = {}
    for forward in lesson.functions:
        backward = forward.removesuffix("_forward") + "_backward"
        near = [outcome.near for outcome in outcomes if outcome.of == forward and outcome.near is not None]
        if forward.endswith("_forward") and backward in lesson.functions and near and min(near) >= NEAR:
            found[backward] = forward
    return found


class YoursByOwnForward(Yours):
    def __init__(self, lesson, host, pairs, causes):
        super().__init__(lesson, host)
        self._pairs, self._causes = pairs, causes

    def _took(self, name, *answer):
        result = super()._took(name, *answer)
        if name not in self._pairs:
            return result
        dy, cache = self.made[-1].args
        forward = next(call for call in self.made if any(part is cache for _, part in self._caches(call)))
        several = len(self._lesson.functions[name]) > 1
        gradients = [self._judged(gradient, (i,), forward, dy)
                     for i, gradient in enumerate(result if several else (result,))]  # fmt: skip
        return tuple(gradients) if several else gradients[0]

    def _judged(self, gradient, path, forward, dy):
        """The gradient, or those in it, as an `OwnGradient`, of the argument at the end of the path."""
        if isinstance(gradient, dict):
            return {key: self._judged(part, (*path, key), forward, dy) for key, part in gradient.items()}
        if isinstance(gradient, list | tuple):
            return [self._judged(part, (*path, i), forward, dy) for i, part in enumerate(gradient)]
        if not isinstance(gradient, np.ndarray) or gradient.dtype.kind != "f" or not gradient.any():
            return gradient
        try:
            x = at(forward.args, path)
            right = isinstance(x, np.ndarray) and x.shape == gradient.shape and x.dtype.kind == "f" and all(
                self._fits(gradient, path, forward, dy, direction) for direction in directions(x.shape))
        except (LookupError, TypeError, ValueError, NotWritten, Stopped):
            return gradient
        return OwnGradient.of(gradient, right, self._causes)

    def _fits(self, gradient, path, forward, dy, direction):
        x = at(forward.args, path)
        ends = [self._value(forward, replaced(forward.args, path, x + step * direction)) for step in (STEP, -STEP)]
        slope = (dy * (ends[0] - ends[1])).sum() / (2 * STEP)
        return abs((gradient * direction).sum() - slope) <= CLOSE * np.sqrt((gradient * gradient).sum())

    def _value(self, forward, args):
        result, _ = self.host.call(forward.name, args, forward.static, self._lesson.opaque(forward.name))
        return np.asarray(next(part for part in result if not isinstance(part, Opaque)), float)


def directions(shape):
    rng = np.random.default_rng(17)
    return [rng.standard_normal(shape) for _ in range(DIRECTIONS)]
