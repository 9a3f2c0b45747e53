"""What a student's functions return, unpacked by name; where an interrupt found one of them."""

import pytest

from minalbert_course.compare import Wrong
from minalbert_course.ending import where
from minalbert_course.yours import unpacked


@pytest.mark.parametrize("more", [(), (None,), (None, None)])
def test_a_backward_function_may_return_none_for_constants_too(more):
    assert unpacked("loss_backward", (1.5, None, *more), ("dlogits", "dlabels")) == (1.5, None)


@pytest.mark.parametrize(("name", "result"), [("loss_backward", (1.5, None, 2.0)), ("loss_backward", (1.5,)),
                                              ("loss_forward", (1.5, None, None))])  # fmt: skip
def test_other_values_are_too_many_or_too_few(name, result):
    with pytest.raises(Wrong, match=rf"{name} returned {len(result)} values; it must return 2: \(dlogits, dlabels\)"):
        unpacked(name, result, ("dlogits", "dlabels"))


def test_an_interrupt_says_where_it_found_a_function():
    assert where(KeyboardInterrupt()) == ""
    stopped = "gelu_forward stopped at line 2 of ex04_gelu.py"
    assert where(KeyboardInterrupt(f"{stopped}: KeyboardInterrupt: ")) == f" ({stopped})"
