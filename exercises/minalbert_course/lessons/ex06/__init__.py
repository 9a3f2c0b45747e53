"""Exercise 6: shared layers. Variants: groups of layers, an FFN for each layer, dropout."""

from . import dropout, ffn, groups, sharing

LESSONS = [sharing.lesson, groups.variant, ffn.variant, dropout.variant]
