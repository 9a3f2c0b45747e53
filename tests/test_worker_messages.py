"""What a worker and the grader tell each other: values as bytes, and what became of the arguments."""

import functools
import math
import time

import exercise_files
import msgpack
import numpy as np
import pytest
from msgpack import ExtType

from minalbert_course import marking
from minalbert_course.catalogue import find
from minalbert_course.given import Given
from minalbert_course.grade import codec, fenced, inside
from minalbert_course.grade.fenced import Fenced
from minalbert_course.grade.steps import differing, opened
from minalbert_course.lesson import Lesson
from minalbert_course.values import OnDevice, Opaque, Stopped


def test_the_function_that_a_name_has_now_is_called():
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {}, {"one": lambda: 1}
    host, question = inside.HereByBytes(worker.made), {"steps": [step("one")], "goes on": True}
    answers = worker.answer(host, question)["answers"]
    worker.namespace["one"] = lambda: 2
    answers += worker.answer(host, question)["answers"]
    assert [codec.unpacked(answer)["result"] for answer in answers] == [1, 2]


def test_an_argument_that_is_passed_by_its_place_may_have_the_name_of_another():
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {}, {}
    exec("def f(*args, mask=None):\n    args[0][0] = 5\ndef g(*args, mask=None):\n    pass", worker.namespace)
    steps = [step(name, np.ones(2), np.zeros(3), mask=np.ones(4)) for name in ("f", "g")]
    answers = worker.answer(inside.HereByBytes(worker.made), {"steps": steps, "goes on": True})["answers"]
    assert [codec.unpacked(answer)["written"] for answer in answers] == [["its argument args"], []]


def step(name, *args, **static):
    return name, codec.packed((args, static)), [], 0


@pytest.mark.parametrize(("writes", "same"), [("pass", True), ("x[0] = 5", False), ("more[1].pop()", False)])
def test_what_is_not_written_into_comes_back_byte_for_byte(writes, same):
    """Beside a generator and a cache, which the grader only describes."""
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {0: {"a": 1}}, {}
    exec(f"def f(x, rng, more, cache, *, mask):\n    {writes}\n    return rng.random()", worker.namespace)
    arguments = (np.arange(3.0), Given.of("rng", 3), [(1, "a"), [2.5, None]], Opaque(0)), {"mask": np.ones(2, bool)}
    args, static = arguments
    question = {"steps": [step("f", *args, **static)], "goes on": True}
    (answer,) = worker.answer(inside.HereByBytes(worker.made), question)["answers"]
    answer = codec.unpacked(answer)
    assert (answer["after"] is None) is same
    assert same or differing(arguments, codec.unpacked(answer["after"]))
    assert bool(answer["written"]) is not same


def test_many_calls_are_answered_up_to_the_one_that_stops(tmp_path):
    """In questions of sixteen calls; each call has its own result and its own report of what it wrote into."""
    code = "calls = []\ndef relative_error(x, n):\n    calls.append(n)\n    if n == 21: raise ValueError('no more')\n"
    code += "    if n == 3: x[0] = 5\n    return len(calls) * x.sum()\n"
    path = tmp_path / "ex01_finite_differences.py"
    path.write_text(f"{exercise_files.solution('ex01')}\n{code}", encoding="utf-8")
    with Fenced(find("ex01"), path) as host:
        answers = host.calls("relative_error", [((np.ones(2), n), {}) for n in range(40)], ())
        first = [next(answers) for _ in range(21)]
        with pytest.raises(Stopped, match="ValueError: no more"):
            next(answers)
    assert [result for result, _ in first] == [24 if n == 3 else 2 * (n + 1) for n in range(21)]
    assert [n for n, (_, written) in enumerate(first) if written] == [3]


def test_values_travel_and_nothing_else_does():
    arrays = np.arange(6.0).reshape(2, 3), np.array(2, np.float32), np.zeros(0, int)
    value = {"a": [1, 2.5, None, True, "ß"], "arrays": arrays, "lists": [[1, [2]], [], ([3], [(4,)])],
             "given": Given.of("rng", 3), "cache": Opaque(4), "gpu": OnDevice(np.ones(2))}  # fmt: skip
    message = codec.dumps(value)
    text, body = codec.sizes(message[: codec.HEAD.size])
    assert len(message) == codec.HEAD.size + text + body
    assert repr(back(message)) == repr(value)
    assert repr(back(codec.dumps({1, 2}))) == "a set"
    assert back(codec.dumps([range(2, 4), range(0)])) == [[2, 3], []]
    for scalar, plain in ((np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a")):
        assert back(codec.dumps(scalar)) == plain
    passed_on = back(codec.dumps(codec.packed(value)))
    assert type(passed_on) is codec.Packed
    assert repr(codec.unpacked(passed_on)) == repr(value)
    with pytest.raises(codec.CodecError, match="64 are allowed"):
        codec.sizes(codec.HEAD.pack(10, 2**40))


def extension(code, data):
    return msgpack.packb(ExtType(code, data))


ARRAYS = (
    b"<f8 3",
    b"O 1",
    b"<f8 -1",
    b"<f8 -1 -1",
    b"<f8 a",
    b"<f8 1.5",
    b"<f8 [1]",
    b"",
    b"what 1",
    b"<f8" + b" 1" * 999,
)
BROKEN = [
    b"\xc1", b"\x93\x01", b"\x01\x01", b"\x91" * 10**5,
    *(extension(codec.ARRAY, data) for data in ARRAYS),
    *(extension(codec.PACKED, data) for data in (b"9", b"-1", b"a")),
    extension(codec.BIG, b"a"), extension(codec.STRANGE, b"\xff"), extension(99, b""),
    msgpack.packb([codec.FIRST[codec.OPAQUE]]), msgpack.packb([codec.FIRST[codec.GIVEN]]),
    msgpack.packb([codec.FIRST[codec.DEVICE], 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_message_is_refused(text):
    with pytest.raises(codec.CodecError):
        codec.loads(text + b"12345678", len(text))


@pytest.mark.parametrize("value", [2**64, -(2**70), float("inf"), -0.0, "\ud800", True, {None: 1, 2.5: 2}, [[]], ()])
def test_numbers_and_texts_come_back_as_they_were(value):
    assert repr(back(codec.dumps(value))) == repr(value)


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab")])
def test_bytes_in_whatever_form_come_out_as_bytes(value):
    assert back(codec.dumps([value])) == [b"ab"]


class Deep:
    """A host whose functions return a list that is too deep for what looks at it."""

    stateless = False

    def call(self, *asked):
        return functools.reduce(lambda inside, _: [inside], range(900), 0), []

    def in_turn(self, steps):
        return map(self.call, steps)


def test_a_list_that_is_too_deep_costs_its_check_and_ends_nothing():
    lesson = Lesson("ex99", "deep lists", minutes=1, functions={"f": "y"})
    lesson.check(1, "ignored", of="f")(lambda yours, draw: yours.f(Given.of("rng", 1)))
    (found,) = marking.mark(lesson, Deep()).outcomes
    assert found.earned == 0
    assert found.seen.startswith("f returned something that cannot be checked (RecursionError")


@pytest.mark.parametrize("value", ["\ud800", {"a"}, 1j, object(), np.array(["a"]), type("Tiny", (int,), {})(3)])
def test_what_has_no_place_comes_out_as_strange(value):
    assert isinstance(back(codec.dumps([value]))[0], codec.Strange) == (type(value) is not str)


@pytest.mark.parametrize("text", [
    extension(codec.ARRAY, b"<f8 " + b"9" * 100),
    extension(codec.ARRAY, b"<f8" + 700 * b" 1"),
    b"\xdd\x00\x10\x00\x00" * 800_000,              # lists in lists, each with room for a million
])  # fmt: skip
def test_a_short_answer_takes_no_memory(text):
    resource = pytest.importorskip("resource", reason="this system does not say how much memory was used")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(codec.CodecError):
        codec.loads(text, len(text))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_long_lists_and_dicts_are_refused():
    rows, keys = codec.ITEMS["max_array_len"], codec.ITEMS["max_map_len"]
    assert len(back(codec.dumps(rows * [0]))) == rows
    assert len(back(codec.dumps(dict.fromkeys(range(keys))))) == keys
    for longer in ((rows + 1) * [0], dict.fromkeys(range(keys + 1))):
        with pytest.raises(codec.CodecError):
            back(codec.dumps(longer))


@pytest.mark.parametrize("key", [(1, 2), b"a", Opaque(1), 1j, Given.of("rng", 1)])
def test_a_dict_whose_keys_are_neither_numbers_nor_text_comes_out_as_strange(key):
    assert repr(back(codec.dumps([{key: 1, "a": 2}, 3]))) == "[a dict with a key that is no number and no text, 3]"


@pytest.mark.parametrize("key", [lambda i: i * (2**61 - 1), lambda i: math.ldexp(1 + (i % 52) / 2**52, 61 * (i % 16))])
def test_keys_that_have_one_hash_by_the_hundred_are_refused(key):
    """Each of them would take as long as all before it."""
    few, many = ({key(i): 0 for i in range(count)} for count in (50, 832))
    assert back(codec.dumps(few)) == few
    with pytest.raises(codec.CodecError):
        back(codec.dumps(many))


def test_time_to_unpack_answers_is_counted(tmp_path, monkeypatch):
    def slowly(answer, opened=fenced.opened):
        time.sleep(0.2)
        return opened(answer)

    monkeypatch.setattr(fenced, "opened", slowly)
    path = tmp_path / "ex01_finite_differences.py"
    path.write_text(exercise_files.solution("ex01"), encoding="utf-8")
    with Fenced(find("ex01"), path) as host:
        before = host.clock
        host.call("relative_error", (np.ones(2), np.ones(2)), {}, ())
        assert host.clock - before > 0.2


def test_a_time_comes_out_as_a_number():
    """MessagePack has a kind of its own for it, which no check knows."""
    text = msgpack.packb(msgpack.Timestamp(3))
    assert codec.loads(text, len(text)) == 3.0


def test_a_shape_of_many_numbers_is_refused_before_it_is_read():
    with pytest.raises(codec.CodecError, match="too many letters"):
        codec.layout(b"<f8" + 900 * b" 1")


def back(message):
    text, _ = codec.sizes(message[: codec.HEAD.size])
    return codec.loads(message[codec.HEAD.size :], text)


def test_answers_of_one_message_make_no_more_objects_than_one_may(monkeypatch):
    many = codec.packed([{}] * 100)
    monkeypatch.setattr(codec, "MOST_TEXT", 150)
    codec.check_text([many, {"error": "stopped", "text": "why"}])
    with pytest.raises(codec.CodecError, match="many answers"):
        codec.check_text([many, many])


@pytest.mark.parametrize("text", [[np.ones(3)] * 9, None, 7])
def test_an_error_whose_text_is_none_is_no_answer(text):
    with pytest.raises(codec.CodecError, match="no text"):
        opened({"error": "stopped", "text": text})
