"""Everything that shapes an instance, checked once, before anything is read."""

import dataclasses
from dataclasses import dataclass
from functools import partial

from .. import arguments
from ..errors import DataError, named_fields

CHOICES = {
    "pairs": ("sop", "nsp", "none"),
    "policy": ("clean", "released"),
    "nsp_negatives": ("other_topic", "uniform", "same_topic"),
    "truncate": ("front", "back", "either"),
}
HELP = {
    "max_length": "tokens of an instance",
    "max_predictions": "tokens to predict, at most",
    "mask_fraction": "share of the tokens to predict",
    "max_ngram": "words masked together, at most",
    "favor_shorter": "a span of n words with p ~ 1/n",
    "pairs": "what the second segment is about",
    "policy": "'released': as the released script does, with all its settings",
    "nsp_negatives": "the source of a segment that is not the next",
    "short_fraction": "share of instances that are made shorter",
    "truncate": "which end of a segment is cut",
    "special_replacements": "control tokens among the random replacements",
    "spans_cross_segments": "spans that continue after a [SEP]",
    "static_masks": "0: new masks each epoch; n: n different ones",
}
MOST = {"max_length": 2**20, "max_predictions": 2**20, "max_ngram": 1000}
LEAST = {"max_predictions": 1, "max_ngram": 1, "static_masks": 0}
SHARES = ("mask_fraction", "short_fraction")


HABITS = ("special_replacements", "spans_cross_segments")                 # peculiarities of the released script


whole_number, number, one_of = (
    partial(check, error=DataError) for check in (arguments.whole, arguments.number, arguments.one_of)
)


@named_fields(DataError)
@dataclass(frozen=True)
class Recipe:
    """The defaults are the paper's description; None is what the policy says. `Recipe.released()` is the released
    script as it comes, with instances of 512 tokens."""

    max_length: int = 128                            # tokens of an instance, [CLS] and [SEP] included
    max_predictions: int = 20                        # released: 20 for lengths of 512 too, which masks 3.9 % of them
    mask_fraction: float = 0.15
    max_ngram: int = 3                               # words of a span; lengths are drawn with p(n) ∝ 1 / n
    favor_shorter: bool = True                       # False: those weights in reverse
    pairs: str = "sop"                               # "nsp": is the second segment the next? "none": one segment
    policy: str = "clean"                            # "released": chunks and pairs as the released script makes them
    nsp_negatives: str = "other_topic"               # clean NSP: where a second segment that is not the next is from
    short_fraction: float = 0.1                      # of instances (released: of documents) with a shorter target
    truncate: str = "either"                         # which end of a segment loses what does not fit
    special_replacements: bool | None = None         # may a random replacement be a control token? released: yes
    spans_cross_segments: bool | None = None         # may a span continue after a [SEP]? released: yes
    static_masks: int = 0                            # 0: new draws each epoch; n: epoch n repeats epoch 0

    @classmethod
    def released(cls, **changes):
        return cls(**({"policy": "released", "max_length": 512} | changes))

    def __post_init__(self):
        for name, choices in CHOICES.items():
            one_of(name, getattr(self, name), choices)
        for name, least in (LEAST | {"max_length": self.control_tokens + self.segments}).items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least, MOST.get(name, 2**63)))
        for name in SHARES:
            number(name, getattr(self, name), least=0, most=1)
        for habit in HABITS:
            if getattr(self, habit) is None:
                object.__setattr__(self, habit, self.policy == "released")
        for field in dataclasses.fields(self):
            if field.type in (bool, bool | None):
                arguments.flag(field.name, getattr(self, field.name), DataError)

    @property
    def segments(self):
        return 1 if self.pairs == "none" else 2

    @property
    def control_tokens(self):
        """[CLS] and one [SEP] after each segment."""
        return 1 + self.segments

    @property
    def room(self):
        """Tokens of text that an instance can hold."""
        return self.max_length - self.control_tokens

    def replace(self, **changes):
        if "policy" in changes:
            changes = dict.fromkeys(HABITS) | changes
        return dataclasses.replace(self, **changes)
