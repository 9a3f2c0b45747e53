"""The order in which a run meets its data. Where it stands is one whole number."""

from itertools import count, islice


def micro_batches(instances, size, first=0):
    """Micro-batches without end, from number `first` on. The last instances of an epoch, if too few, are left out."""
    in_epoch = len(instances) // size
    begin, first = divmod(first, in_epoch)
    for epoch in count(begin):
        yield from islice(instances.batches(size, epoch, first), in_epoch - first)
        first = 0
