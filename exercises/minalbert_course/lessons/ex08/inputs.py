"""The checks that both forms of exercise 8 have."""

from .masked_words import check_labels, check_positions, check_rates
from .sentences import check_layout, check_outside, check_too_long

ASSEMBLE, MASK_TOKENS = "input_ids, token_type_ids", "masked_ids, positions, labels"


INPUTS = (                                           # title, function, formula, check
    ("layout", "assemble", "[CLS] a [SEP] b [SEP], types 0 up to the first [SEP], then 1", check_layout),
    ("too long", "assemble", "the longer part loses its last token, of equals the second, until all fits",
     check_too_long),
    ("as tokenizers", "assemble", "Hugging Face's tokenizers, truncation longest_first", check_outside),
    ("positions", "mask_tokens", "max(1, round(0.15 n)) of the n ordinary tokens, sorted, each only once",
     check_positions),
    ("labels", "mask_tokens", "labels = input_ids[positions], as they were", check_labels),
    ("80/10/10", "mask_tokens", "80 % [MASK], 10 % as they are, 10 % any of 5..vocab_size-1", check_rates),
)  # fmt: skip


def add_inputs(lesson, points=(1.5, 1, 0.5, 1, 1, 1)):
    """points: of the six checks, in their order"""
    for each, (title, of, formula, run) in zip(points, INPUTS, strict=True):
        lesson.check(each, title, of, formula)(run)
