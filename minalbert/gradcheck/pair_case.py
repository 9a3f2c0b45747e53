"""A pair of functions, and the arguments at which the gradient check looks at it."""

from dataclasses import dataclass, field

from .checks import check_pair


@dataclass
class PairCase:
    name: str
    forward: object
    backward: object
    args: dict
    static: dict = field(default_factory=dict)
    constants: tuple = ()

    def check(self, entries=True, method="complex", seed=0):
        pair = self.forward, self.backward, self.args, self.static, self.constants
        return check_pair(*pair, self.name, entries, method, seed)
