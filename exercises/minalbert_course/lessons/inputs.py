"""The checks that both forms of exercise 8 have."""

from .masked_words import check_labels, check_positions, check_rates
from .sentences import check_layout, check_outside, check_too_long

ASSEMBLE, MASK_TOKENS = "input_ids, token_type_ids", "masked_ids, positions, labels"


def add_inputs(lesson):
    of, layout = "assemble", "[CLS] a [SEP] b [SEP], types 0 up to the first [SEP], then 1"
    lesson.check(1.5, "layout", of, layout)(check_layout)
    lesson.check(1, "too long", of, "the longer part loses its last token, of equals the second, until all fits")(
        check_too_long)  # fmt: skip
    lesson.check(0.5, "as tokenizers", of, "Hugging Face's tokenizers, truncation longest_first")(check_outside)
    of, split = "mask_tokens", "80 % [MASK], 10 % as they are, 10 % any of 5..vocab_size-1"
    lesson.check(1, "positions", of, "max(1, round(0.15 n)) of the n ordinary tokens, sorted, each only once")(
        check_positions)  # fmt: skip
    lesson.check(1, "labels", of, "labels = input_ids[positions], as they were")(check_labels)
    lesson.check(1, "80/10/10", of, split)(check_rates)
