"""A bad call of a public function ends in a MinalbertError of one sentence; other arguments, as they were, in none."""

import random

from bad_calls import failures

CALLS = 1000


def test_bad_calls_end_in_a_sentence(tmp_path):
    """Others each time. Again with these: python tests/bad_calls.py --count 1000 --seed SEED"""
    seed = random.SystemRandom().randrange(2**32)
    count, found = failures(CALLS, seed, tmp_path)
    assert (count, found) == (CALLS, []), f"seed {seed}"
