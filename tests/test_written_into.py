"""What a function wrote into: its own arguments, or through its cache those of forward and what that had returned."""

import numpy as np
import pytest

from minalbert_course.given import array
from minalbert_course.here import Here
from minalbert_course.shared_memory import EARLIER, MEMORY_OF
from minalbert_course.values import Opaque


def scale_forward(x, weights, factors):
    y = x * weights["w"] * factors[0]
    return y, (x, weights, factors, y)


def written_by(backward):
    host = Here({"scale_forward": scale_forward, "scale_backward": backward})
    given = np.array([1.0, np.nan, 3.0]), {"w": np.ones(3)}, [np.full(3, 2.0)]
    (_, cache), written = host.call("scale_forward", given, {}, [1])
    assert written == []
    return host.call("scale_backward", (np.ones(3), cache), {}, [])[1]


def into_x(dy, cache):
    x = cache[0]
    x *= 0
    return 2 * dy


def into_a_nan(dy, cache):
    np.nan_to_num(cache[0], copy=False)
    return 2 * dy


def into_weights(dy, cache):
    cache[1]["w"] += dy
    return 2 * dy


def into_names(dy, cache):
    cache[1].pop("w")
    return 2 * dy


def into_none(dy, cache):
    cache[1]["w"] = None
    return 2 * dy


def into_a_list(dy, cache):
    cache[2][0] = None
    return 2 * dy


def into_y(dy, cache):
    y = cache[3]
    y *= y
    return 2 * dy


def into_dy(dy, cache):
    dy *= 2
    return 2 * dy


@pytest.mark.parametrize(
    ("backward", "what"),
    [
        (into_x, "x, an argument of scale_forward"),
        (into_a_nan, "x, an argument of scale_forward"),
        (into_weights, "weights, an argument of scale_forward"),
        (into_names, "weights, an argument of scale_forward"),
        (into_none, "weights, an argument of scale_forward"),
        (into_a_list, "factors, an argument of scale_forward"),
        (into_y, "what scale_forward had returned"),
        (into_dy, "its argument dy"),
    ],
)
def test_backward_is_seen_to_write(backward, what):
    assert written_by(backward) == [what]


def test_backward_may_write_into_arrays_of_its_own():
    def backward(dy, cache):
        x = cache[0].copy()
        x *= dy
        return x

    assert written_by(backward) == []


def test_a_function_that_returns_one_array_again_and_again_is_seen():
    buffer = np.zeros(3)

    def double(x):
        np.multiply(x, 2, out=buffer)
        return buffer

    host = Here({"double": double})
    same = f"{MEMORY_OF}{EARLIER}"
    seen = [host.call("double", (np.full(3, i),), {}, [])[1] for i in (1.0, 1.0, 2.0)]
    assert seen == [[], [same], [EARLIER, same]]


@pytest.mark.parametrize(
    ("backward", "what"),
    [
        (lambda dy, cache: dy, "its argument dy"),
        (lambda dy, cache: dy[::-1], "its argument dy"),
        (lambda dy, cache: np.frombuffer(dy), "its argument dy"),
        (lambda dy, cache: np.lib.stride_tricks.as_strided(dy), "its argument dy"),
        (lambda dy, cache: (2 * dy, cache[0].reshape(1, 3)), "x, an argument of scale_forward"),
        (lambda dy, cache: {"w": cache[1]["w"]}, "weights, an argument of scale_forward"),
        (lambda dy, cache: cache[3], "what scale_forward had returned"),
        (lambda dy, cache: [dy + 1] * 2, "another of its results"),
    ],
    ids=[
        "dy",
        "dy from its end",
        "dy as a buffer",
        "dy strided",
        "x in another shape",
        "a weight",
        "y",
        "one array twice",
    ],
)
def test_memory_that_a_result_shares_is_seen(backward, what):
    assert written_by(backward) == [f"{MEMORY_OF}{what}"]


def test_two_halves_of_one_array_share_no_memory():
    def split(both):
        doubled = 2 * both
        return doubled[:3], doubled[3:]

    host = Here({"split": split})
    assert host.call("split", (np.ones(6),), {}, [])[1] == []


def test_a_forward_that_wrote_is_blamed_and_its_backward_is_not():
    def forward(x):
        x += 1
        return 2 * x, x

    host = Here({"add_forward": forward, "add_backward": lambda dy, cache: 2 * dy})
    (_, cache), written = host.call("add_forward", (np.ones(3),), {}, [1])
    assert written == ["its argument x"]
    assert isinstance(cache, Opaque)
    assert host.call("add_backward", (np.ones(3), cache), {}, [])[1] == []


@pytest.mark.parametrize("names", [["no", "yes", "maybe"], [3, 2.5, 1], {"b": 1, "a": ["no"]}, [("b", 1), ("a", None)]])
def test_texts_and_numbers_in_a_list_or_dict_are_seen_to_change(names):
    def sort(names):
        if isinstance(names, dict):
            names["a"][0] = "yes"
        else:
            names.sort()
        return 0

    assert Here({"sort": sort}).call("sort", (names,), {}, []) == (0, ["its argument names"])
    assert Here({"look": lambda names: len(names)}).call("look", (names,), {}, []) == (len(names), [])


def test_what_is_neither_a_number_nor_a_text_is_left_alone():
    class Own:
        """Equal to nothing, as some objects are."""

        __eq__ = None
        __hash__ = None

    given = [Own(), float("nan"), None]
    assert Here({"look": lambda given: 0}).call("look", (given,), {}, []) == (0, [])


def test_a_list_that_holds_itself_ends():
    def double(x):
        answer = []
        answer.append(answer)
        return answer

    with pytest.raises(RecursionError):
        Here({"double": double}).call("double", (np.ones(2),), {}, [])


def test_a_list_that_holds_itself_does_not_go_on_for_ever():
    kept = [1]
    kept.append(kept)
    with pytest.raises(RecursionError):
        Here({"numbers": lambda x: kept}, own_results=()).call("numbers", ([1],), {}, [])


@pytest.mark.parametrize("way", ["column by column", "with gaps"])
def test_an_array_that_cannot_be_written_into_stays_so(way):
    numbers = np.arange(24.0).reshape(2, 3, 4)
    made, other = array(numbers, way, writeable=False), array(numbers, way, writeable=True)
    assert (made == numbers).all()
    assert made.strides == other.strides != numbers.strides
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
        made.flags.writeable = True
