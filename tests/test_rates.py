"""Is bf16 faster here? Measured once, and said in one line where it is not; the clock is a pretended one."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from minalbert import PRESETS, Albert, commands, compute
from minalbert.errors import SlowWarning
from minalbert.kernels.cpu import bf16, rates

SENTENCE = ("precision 'bf16' is no faster here: its products take 2.5 times as long as float32's (100 against 250 "
            "GFLOP/s); precision 'full' is also more exact")  # fmt: skip


@pytest.fixture(autouse=True)
def _measured_anew(monkeypatch):
    """oneDNN may be missing here: its product is NumPy's, and what it takes is pretended."""
    monkeypatch.setattr(bf16, "missing", lambda: None)
    monkeypatch.setattr(bf16, "rounded", lambda x: x)
    for function in (rates.bf16_is_slower, compute.warn_where_bf16_is_slower):
        function.cache_clear()
    yield
    for function in (rates.bf16_is_slower, compute.warn_where_bf16_is_slower):
        function.cache_clear()


def pretend(monkeypatch, half, full):
    """So many GFLOP/s in bf16 and in float32. Returns the products made, in order."""
    now, made = [0.0], []

    def product(name, rate):
        def multiply(a, b, *, out):
            made.append(name)
            slow = 3 if len(made) in (1, 2, 5, 6) else 1  # the first of each, and one more, take longer
            now[0] += slow * 2 * len(a) * b.shape[0] * b.shape[1] / (1e9 * rate)

        return multiply

    monkeypatch.setattr(rates.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(bf16, "gemm", product("bf16", half))
    monkeypatch.setattr(np, "matmul", product("full", full))
    return made


def model(precision="bf16"):
    return Albert.init(PRESETS["tiny"], kernels="fused", precision=precision)


def test_the_rate_is_that_of_the_fastest_product_after_the_first(monkeypatch):
    made = pretend(monkeypatch, 100, 250)
    assert rates.product_rate("bf16") == pytest.approx(100e9)
    assert rates.product_rate("full") == pytest.approx(250e9)
    assert made == ["bf16"] * 4 + ["full"] * 4


def test_where_bf16_is_slower_a_library_user_is_warned_once(monkeypatch):
    made = pretend(monkeypatch, 100, 250)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        first = model()
        first.copy()
        model()
    assert [(str(warning.message), warning.category) for warning in told] == [(SENTENCE, SlowWarning)]
    assert len(made) == 8


@pytest.mark.parametrize(("precision", "products"), [("bf16", 8), ("full", 0)])
def test_nobody_is_warned_where_bf16_is_faster_or_not_asked_for(precision, products, monkeypatch):
    made = pretend(monkeypatch, *((250, 100) if precision == "bf16" else (100, 250)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(precision)
    assert len(made) == products


def test_equally_fast_is_no_reason_for_fewer_bits(monkeypatch):
    pretend(monkeypatch, 100, 100)
    assert "take 1.0 times as long" in rates.bf16_is_slower()


@pytest.mark.parametrize("slower", [True, False])
def test_a_command_prints_one_line_without_a_warning(slower, monkeypatch, capsys):
    pretend(monkeypatch, *((100, 250) if slower else (250, 100)))
    module = type(sys)("a_command")
    module.add_arguments = lambda parser: None
    module.run = lambda options: print(len([model(), model()])) or 0
    monkeypatch.setitem(sys.modules, "a_command", module)
    monkeypatch.setitem(commands.COMMANDS, "try-it", ("a_command", "make two models"))
    assert commands.main(["try-it"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "2\n"
    assert captured.err == (f"minalbert try-it: {SENTENCE}\n" if slower else "")


def test_other_warnings_of_a_command_are_pythons(monkeypatch, capsys):
    module = type(sys)("a_command")
    module.add_arguments = lambda parser: None
    module.run = lambda options: warnings.warn("something else", UserWarning, stacklevel=1) or 0
    monkeypatch.setitem(sys.modules, "a_command", module)
    monkeypatch.setitem(commands.COMMANDS, "try-it", ("a_command", "warn"))
    with pytest.raises(UserWarning, match="something else"):  # an error, as for all tests
        commands.main(["try-it"])


@pytest.mark.skipif(bf16.missing() is not None, reason=f"no bf16 here: {bf16.missing()}")
def test_on_this_machine_it_takes_a_moment():
    script = ("import time, minalbert.kernels.cpu.rates as rates; start = time.perf_counter()\n"
              "print(rates.bf16_is_slower(), time.perf_counter() - start)")  # fmt: skip
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert float(found.split()[-1]) < 5
