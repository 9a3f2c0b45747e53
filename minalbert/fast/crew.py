"""Workers that share a batch. Each part is one worker's from beginning to end, with an engine of its own."""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import accumulate, pairwise

from .precision import engine_for
from .threads import blas_threads, threads

SMALL = 2**18                                        # numbers in a layer's input for which a part is worth while: with
                                                     # fewer, BLAS's own threads bring more


class Crew:
    def __init__(self, model, workers=0):
        """workers: 0 stands for as many as there are cores. A GPU shares a batch among its own: it has one worker."""
        self.config, self.params, self.how = model.config, model.params, model.how
        self.workers = 1 if model.params.device == "cuda" else workers or os.cpu_count() or 1
        self._idle = []                              # engines that nobody uses
        self.spare = []                              # gradients that nobody uses
        self._pool = ThreadPoolExecutor(self.workers) if self.workers > 1 else None

    def close(self):
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work, parts):
        """work(engine, part, first example) for each part, in order; as many at a time as there are workers.

        Whoever asks for no more results, or meets an error, waits for the work that has begun.
        """
        firsts = accumulate((len(part.input_ids) for part in parts[:-1]), initial=0)
        jobs = list(zip(parts, firsts, strict=True))
        if self._pool is None or len(parts) == 1:
            yield from (self._with_engine(work, *job) for job in jobs)
            return
        begun = deque()
        try:
            for job in jobs:
                begun.append(self._pool.submit(self._with_engine, work, *job))
                if len(begun) > self.workers:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for job in begun:
                job.cancel()
            wait(begun)

    @contextmanager
    def cut(self, batch):
        """Parts for `map`: as many as BLAS would use threads, which meanwhile uses one in each of them."""
        parts = cut(batch, min(threads(), self.workers), self.config)
        with blas_threads(1 if len(parts) > 1 else None):
            yield parts

    def _with_engine(self, work, part, first):
        try:
            engine = self._idle.pop()
        except IndexError:
            engine = engine_for(self.config, self.params, self.how)
        try:
            return work(engine, part, first)
        finally:
            self._idle.append(engine)


def cut(batch, count, config):
    """So many parts of nearly the same size, or as many as are worth a thread each."""
    count = max(1, min(count, len(batch.input_ids), batch.input_ids.size * config.hidden_size // SMALL))
    places = [len(batch.input_ids) * i // count for i in range(count + 1)]
    return [type(batch)(*(array[first:end] for array in batch)) for first, end in pairwise(places)]
