"""A bad call of a public function ends in a MinalbertError of one sentence; other arguments, as they were, in none."""

from bad_calls import failures

CALLS, SEED = 1000, 2026


def test_bad_calls_end_in_a_sentence(tmp_path):
    """Other calls: python tests/bad_calls.py --count 1000"""
    assert failures(CALLS, SEED, tmp_path) == (CALLS, [])
