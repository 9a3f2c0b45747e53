r"""A sum in one fixed order.

    level 2              s0123
                       /       \
    level 1         s01         s23              s01 = g0 + g1, ...
                   /   \       /   \
    level 0      g0     g1   g2     g3           the gradients of four slices

Floating-point sums depend on their order, so the order is part of what a run computes: a balanced binary tree over
the slices. Who computes which slice, and when, changes no bit. A tree of G slices needs no more than log2(G) + 1
vectors at a time, because a slice is added as soon as its neighbour is there.
"""


class TreeSum:
    def __init__(self, add):
        """add(left, right) -> their sum; it may reuse both."""
        self.add, self.count, self.waiting = add, 0, []

    def push(self, node):
        """Two nodes of one height are added as soon as both are there."""
        self.count += 1
        height = self.count
        while height % 2 == 0:
            node = self.add(self.waiting.pop(), node)
            height //= 2
        self.waiting.append(node)

    def total(self):
        """Adds what is left over, from the last."""
        node = self.waiting.pop()
        while self.waiting:
            node = self.add(self.waiting.pop(), node)
        return node
