"""What goes wrong in training, and what to do about it.

A batch that gives a loss or a gradient which is not finite is refused: the weights stay as they are, the next batch
is taken. So is a batch whose loss or gradient norm lies far above those before it (mean + 6 standard deviations of
the last 128; of norms, which differ by factors, the logarithms): such a spike has ended runs. After several refusals
in a row the weights themselves are suspected, and the run goes back to a checkpoint, to take other batches from there.

All of it is a function of the losses and norms seen so far, which are part of a checkpoint, so that a run which was
stopped judges as one which was not.
"""

import math
import warnings
from contextlib import contextmanager
from statistics import fmean, pstdev
from typing import NamedTuple

from ..optim import first_bad
from ..parallel import ALONE

LEFT_PLATEAU = 0.95                                  # of the unigram entropy
ORDER_LEARNT = 0.60                                  # mean of both recalls; random and constant answers have half


@contextmanager
def without_numpy_warnings():
    """A context without NumPy's warnings from within the model: a SpikeWatch names what is not finite."""
    with warnings.catch_warnings():
        kinds = "(overflow|invalid value|divide by zero) encountered"
        warnings.filterwarnings("ignore", kinds, RuntimeWarning, r"(minalbert|numpy)\.")
        yield


class Verdict(NamedTuple):
    refused: bool
    event: str | None = None
    text: str | None = None


class SpikeWatch:
    def __init__(self, rules, memory=None):
        """rules: what to do, with .spikes, .spike_sigmas, .spike_window and .patience."""
        self.rules = rules
        self.losses, self.norms, self.refused = memory or ([], [], 0)    # norms as logarithms

    @property
    def memory(self):
        """All that its decisions depend on, for the checkpoint."""
        return [list(self.losses), list(self.norms), self.refused]

    def judge(self, loss, norm):
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.refused += 1
            return Verdict(True, "not finite", f"loss {loss}, gradient norm {norm}")
        size = math.log(max(norm, 1e-30))
        spike = self.spike(loss, self.losses, "loss") or self.spike(size, self.norms, "gradient norm", math.exp)
        for seen, value in ((self.losses, loss), (self.norms, size)):
            seen.append(value)                       # a spike, too: what stays high is no spike
            del seen[: -self.rules.spike_window]
        refused = bool(spike) and self.rules.spikes != "note"
        self.refused = self.refused + 1 if refused else 0
        return Verdict(refused, "spike" if spike else None, spike)

    @property
    def hopeless(self):
        """Is it time to go back?"""
        return self.refused >= (1 if self.rules.spikes == "rollback" else self.rules.patience)

    def spike(self, value, seen, name, shown=float):
        """A sentence if the value lies far above those seen before, else None."""
        window, sigmas = self.rules.spike_window, self.rules.spike_sigmas
        if len(seen) < window:
            return None
        limit = fmean(seen) + sigmas * pstdev(seen)
        if value > limit:
            value, limit = shown(value), shown(limit)
            return f"{name} {value:.4g} is above {limit:.4g}, {sigmas:g} deviations over its last {window}"
        return None


def locate_nonfinite(model, slices, grads, ranks=ALONE):
    """Say in a sentence where the first number is that is not finite. slices: this rank's."""
    if name := first_bad(model.params):
        return f"the weights {name} are not finite"
    bad = [layer for layer in ranks.gather(first_bad_layer(model, slices)) if layer is not None]
    if bad:
        return f"the first bad numbers are {f'the output of layer {bad[0]}' if bad[0] else 'the embeddings'}"
    if names := [name for name in ranks.gather(first_bad(grads)) if name]:
        return f"the first bad gradient is that of {names[0]}"
    return "the sum of the slices is not finite, though each tensor is"


def first_bad_layer(model, slices):
    """The layer whose output is the first that is not finite, 0 for the embeddings; None if all are."""
    for one in slices:
        states = model.hidden_states(one.input_ids, one.attention_mask, one.token_type_ids)
        for layer, state in enumerate(states):
            if not math.isfinite(float(abs(state).max())):
                return layer
    return None


def milestones(found, baselines, pairs="sop"):
    """Yield (event, text) for all that an Evaluation shows to be learnt."""
    entropy = baselines.unigram_entropy
    if found.mlm_loss is not None and found.mlm_loss < LEFT_PLATEAU * entropy:
        yield "left the plateau", (f"held-out MLM loss {found.mlm_loss:.2f} is below the {entropy:.2f} of guessing by "
                                   "frequency: the model reads the other words")
    recalls = found.sop_recall_in_order, found.sop_recall_swapped
    if pairs == "sop" and None not in recalls and sum(recalls) / 2 > ORDER_LEARNT:
        yield "order learnt", f"held-out SOP accuracy {found.sop_accuracy:.0%}, where random answers get 50 %"
