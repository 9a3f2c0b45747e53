"""A bad command line ends with code 2 and one sentence, in a moment, and writes nothing."""

import os
import re
import subprocess
import sys
import time

import pytest
from bad_lines import failures

from minalbert import capacity
from minalbert.commands import main
from minalbert.errors import ConfigError

LINES, SEED = 500, 2026
HUGE = 10**9


def refused(capsys, *argv):
    """The sentence on stderr."""
    try:
        code = main([str(word) for word in argv])
    except SystemExit as exit:
        code = exit.code
    said = capsys.readouterr()
    assert (code, said.err.count("\n")) == (2, 1), said.err
    return said.err


@pytest.mark.slow
def test_bad_lines_end_in_a_sentence(tmp_path):
    """Other lines: python tests/bad_lines.py --count 500"""
    assert failures(LINES, SEED, tmp_path) == (LINES, [])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data") / "corpus"
    assert main(["data", "build", "--tiny-worlds", "60", "--out", str(directory), "--json"]) == 0
    return directory


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--num-hidden-layers", HUGE], "num_hidden_layers is 1000000000; it must be a whole number, from 1 to 10000"),
        (["--hidden-size", HUGE, "--num-attention-heads", 4], "EB of memory; this machine has"),
        (["--num-hidden-layers", 9999, "--sharing", "none", "--hidden-size", 4096], "TB of memory"),
        (["--vocab-size", 2 * HUGE], "TB of memory"),
        (["--max-position-embeddings", 2 * HUGE, "--max-length", 10**6], "TB of memory"),
        (["--batch", 2**30, "--micro-batch", 2**30], "the corpus has only"),
        (["--rate", 0], "rate is 0.0; it must be from 1e-12"),
        (["--mask-fraction", 0], "mask_fraction is 0; in training it must be above 0"),
        (["--seed", -1], "seed is -1"),
        (["--step", 5], "unrecognized arguments: --step 5; did you mean --steps?"),
        (["--pass-over", f"0:{10**30}"], "pass_over is"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_anything_is_made(capsys, corpus, tmp_path, options, words):
    assert words in refused(capsys, "pretrain", tmp_path / "run", "--corpus", corpus, *options)
    assert not (tmp_path / "run").exists()


def test_batches_are_passed_over_at_once(corpus, tmp_path, capsys):
    begin, small = time.monotonic(), ["--steps", "1", "--batch", "4", "--micro-batch", "4", "--workers", "1"]
    options = ["--pass-over", "0:99999999999999", "--evaluate-instances", "8", "--held-out-share", "0.2"]
    assert main(["pretrain", str(tmp_path / "run"), "--corpus", str(corpus), *small, *options]) == 0
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    "argv",
    [["pretrain", ""], ["demo", "--out", ""], ["corpus", "generate", "--stories", "2", "--out", ""], ["plot", ""],
     ["data", "build", "", "--out", "x"], ["fill", "the [MASK] .", "--model", ""], ["eval", ""]],
)  # fmt: skip
def test_an_empty_path_is_not_the_current_directory(capsys, tmp_path, monkeypatch, argv):
    monkeypatch.chdir(tmp_path)
    assert "it is empty" in refused(capsys, *argv)
    assert list(tmp_path.iterdir()) == []


def test_a_config_nested_too_deeply_is_one_sentence(capsys, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 5000 + "]" * 5000)
    assert "nested too deeply" in refused(capsys, "pretrain", tmp_path / "run", "--config", path)


def test_a_figure_says_its_form(capsys, corpus, tmp_path):
    assert "it must be a file that ends in .png" in refused(capsys, "data", "stats", corpus, "--plot", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_vocabulary_is_no_word_list(capsys, tmp_path):
    argv = ["tokenizer", "train", __file__, "--vocab-size", 99, "--out", tmp_path / "t.json"]
    assert "ends in .json, as word lists do" in refused(capsys, *argv)


def test_memory_is_judged_by_the_machine(monkeypatch):
    monkeypatch.setattr(capacity, "machine_bytes", lambda: 16 * 10**9)
    capacity.check_memory("these weights", 16 * 10**9)
    with pytest.raises(ConfigError, match="these weights need 40 TB of memory; this machine has 16 GB"):
        capacity.check_memory("these weights", 40 * 10**12)


def program(*argv, **options):
    return subprocess.Popen([sys.executable, "-m", "minalbert", *argv], stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["params"], ["--help"], ["pretrain", "--help"], ["--version"]], ids=" ".join)
def test_an_output_that_cannot_be_written_is_one_sentence(words):
    with open("/dev/full", "w") as full:
        child = program(*words, stdout=full)
        said = child.communicate(timeout=60)[1]
    assert (child.returncode, said.count("\n")) == (2, 1), said
    assert re.search(r"the output could not be (read or )?written \(No space left on device\)", said)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows closes no standard output")
def test_a_closed_output_is_one_sentence():
    closed = f"exec {sys.executable} -m minalbert params >&-"
    found = subprocess.run(["sh", "-c", closed], stderr=subprocess.PIPE, text=True, timeout=60)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1), found.stderr
    assert "standard output is closed" in found.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals")
@pytest.mark.parametrize("module", ["numpy", "argparse", "minalbert.errors"])
def test_ctrl_c_while_the_program_begins_is_one_sentence(module):
    """Whatever it is importing. Before its first line, Python itself answers."""
    script = f"""import sys
class Interrupted:
    def find_spec(self, name, *more):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
for name in ("argparse", "numpy"):
    sys.modules.pop(name, None)
sys.argv = ["minalbert", "params"]
from minalbert.__main__ import main
sys.exit(main())"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (130, "")
    assert found.stderr.startswith("minalbert")
    assert found.stderr.endswith(": interrupted\n")
    assert found.stderr.count("\n") == 1


def test_ctrl_c_before_the_programs_first_line_is_one_sentence():
    """Between the call of main and what it does first."""
    script = """import runpy, sys
def interrupt(frame, event, _):
    if event == "call" and frame.f_code.co_name == "main":
        sys.setprofile(None)
        raise KeyboardInterrupt
sys.setprofile(interrupt)
runpy.run_module("minalbert", run_name="__main__")"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "minalbert: interrupted\n")
