"""The program `minalbert`: what it prints, what it refuses, and with which exit code."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minalbert
from minalbert import PRESETS, commands
from minalbert.analysis import cost, memory, memory_for_time, parameters
from minalbert.analysis.report import one_model
from minalbert.commands.params_lines import readable

LARGE_IN_GROUPS = PRESETS["albert-large-v1"].replace(num_hidden_groups=4)
KINDS = {"this_model": lambda config: config, "all_shared": parameters.shared, "none_shared": parameters.unshared}


def printed(capsys, *argv):
    assert commands.main(list(argv)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *argv):
    """The sentence on stderr, however the program leaves."""
    try:
        code = commands.main(list(argv))
    except SystemExit as exit:
        code = exit.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


@pytest.mark.parametrize("batch", ["1", "32", "4096"])
@pytest.mark.parametrize("preset", PRESETS)
def test_screen_is_one_screen_with_the_totals(capsys, preset, batch):
    lines = printed(capsys, "params", "--preset", preset, "--batch", batch).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    text = "\n".join(lines)
    for total in parameters.totals(PRESETS[preset]).values():
        assert f"{total:,}" in text


def test_screen_says_what_sharing_saves_and_what_not(capsys):
    rows = {}
    for line in filter(None, printed(capsys, "params").splitlines()):
        name, *values = (cell.strip() for cell in line.split("  ") if cell)
        rows.setdefault(name, values)  # with recomputation, names come again
    assert rows["WHAT SHARING SAVES, AND WHAT IT DOES NOT"] == ["this model", "none shared"]
    assert rows["parameters"] == ["11,813,810", "89,780,402"]
    assert rows["weights, gradients, two moments (Adam, LAMB)"] == ["189.0 MB", "1,436 MB"]
    assert rows["gradients that machines add up in each step"] == ["47.3 MB", "359.1 MB"]
    assert rows["FLOPs per token, forward"] == ["190.1 million", "190.1 million"]
    assert rows["FLOPs per token, forward and backward"] == ["570.4 million", "570.4 million"]
    assert len(set(rows["activations kept for backward"])) == 1
    assert rows["embedding: V×E + E×H, not V×H"] == ["3,938,304", "23,040,000", "5.9 times fewer"]
    assert rows["layers: shared, not one set each"] == ["7,087,872", "85,054,464", "12.0 times fewer"]


def test_screen_says_what_memory_costs_in_time(capsys):
    lines = iter(printed(capsys, "params", "--batch", "8", "--length", "128").splitlines())
    heading = next(line for line in lines if line.startswith("MEMORY FOR TIME"))
    assert heading.split()[3:] == ["fused", "plain", "this", "model", "none", "shared", "FLOPs"]
    rows = {line[:31].strip(): line[31:].split() for line in (next(lines) for _ in range(5))}
    config = PRESETS["albert-base-v2"]
    weights = [sum(cost.optimiser_bytes(model).values()) for model in (config, parameters.unshared(config))]
    for row in memory_for_time.table(config, 8, 128):
        fused, plain = row["activation_bytes"], row["plain_bytes"]
        whole = [(fused or plain) + size + (row["gradients"] - 1) * size // 4 for size in weights]
        shown = " ".join("-" if size is None else readable("bytes", [size])[0] for size in (fused, plain, *whole))
        assert rows[row["name"]] == [*shown.split(), f"{row['operations']:.2f}"]


def test_docs_have_the_screens_figures_of_memory_for_time(capsys):
    text = (Path(__file__).parent.parent / "docs" / "memory.md").read_text(encoding="utf-8")
    lines = printed(capsys, "params").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("MEMORY FOR TIME"))
    for line in lines[start + 1 : start + 6]:
        name, figures = line[:31].strip(), re.findall(r"[\d.]+(?: [GM]B)?|-", line[31:])
        rows = re.findall(rf"^\| {name}[^|]*\| (.*) \|$", text, re.MULTILINE)
        assert " | ".join(figures) in rows


def test_screen_compares_with_the_models_this_one_is_not(capsys):
    def heading(*argv):
        return next(line for line in printed(capsys, "params", *argv).splitlines() if line.startswith("WHAT SHARING"))

    assert heading("--preset", "bert-base").endswith("this model     all shared")
    assert heading("--sharing", "ffn").endswith("this model     all shared    none shared")
    assert heading("--groups", "12").endswith("this model     all shared")


def test_screen_explains_the_papers_numbers(capsys):
    assert "235M" in printed(capsys, "params", "--preset", "albert-xxlarge-v2")
    assert "60M" in printed(capsys, "params", "--preset", "albert-xlarge-v1")
    assert "30522" in printed(capsys, "params", "--preset", "bert-large")
    assert "235M" not in printed(capsys, "params", "--preset", "albert-xxlarge-v2", "--sharing", "none")


def test_words_for_a_larger_table(capsys):
    text = printed(capsys, "params", "--embedding-size", "1024")
    assert "times more" in text
    assert "the same" in printed(capsys, "params", "--embedding-size", "768")


@pytest.mark.parametrize(
    ("argv", "config", "length", "batch"),
    [
        ([], PRESETS["albert-base-v2"], 512, 32),
        (["--preset", "bert-base", "--vocab-size", "30522"], PRESETS["bert-base"].replace(vocab_size=30522), 512, 32),
        (
            ["--preset", "mini", "--embedding-size", "16", "--sharing", "ffn", "--length", "48", "--batch", "3"],
            PRESETS["mini"].replace(embedding_size=16, sharing="ffn"), 48, 3,
        ),
        (["--preset", "albert-large-v1", "--groups", "4"], LARGE_IN_GROUPS, 512, 32),
    ],
    ids=["default", "bert", "mini", "groups"],
)  # fmt: skip
def test_json_holds_what_the_functions_say(capsys, argv, config, length, batch):
    found = json.loads(printed(capsys, "params", "--json", *argv))
    assert (found["length"], found["batch"]) == (length, batch)
    assert type(config)(**found["config"]) == config
    assert found["totals"] == parameters.totals(config)
    assert found["word_embedding"] == parameters.word_embedding(config)
    assert sum(part["parameters"] for part in found["parts"]) == found["totals"]["everything"]
    operations = sum(product["operations_per_token"] for product in found["products"])
    assert operations == pytest.approx(cost.forward_operations(config, length) / length)
    layer = sum(kept["bytes"] for kept in found["layer_keeps"])
    assert layer == memory.layer_bytes(config, batch, length)
    assert found["memory_for_time"] == memory_for_time.table(config, batch, length)
    for kind, change in KINDS.items():
        model = change(config)
        assert found[kind] == {
            "parameters": parameters.totals(model)["everything"],
            "layer_parameters": parameters.layer_weights(model),
            "optimiser_bytes": sum(cost.optimiser_bytes(model).values()),
            "all_reduced_bytes": cost.all_reduced_bytes(model),
            "forward_operations_per_token": cost.forward_operations(model, length) / length,
            "training_operations_per_token": cost.training_operations(model, length) / length,
            "training_operations_per_token_recomputing": (
                cost.training_operations(model, length, recompute=True) / length
            ),
            "activation_bytes": memory.activation_bytes(model, batch, length),
            "activation_bytes_recomputing": memory.activation_bytes(model, batch, length, recompute=True),
        }


def test_json_has_stable_keys(capsys):
    assert list(json.loads(printed(capsys, "params", "--json"))) == [
        "preset", "config", "length", "batch", "sizes", "paper_millions", "parts", "totals", "word_embedding",
        "products", "layer_keeps", "memory_for_time", "this_model", "all_shared", "none_shared",
    ]  # fmt: skip


def test_list_has_every_model(capsys):
    text = printed(capsys, "params", "--list")
    assert max(map(len, text.splitlines())) <= 100
    rows = {line[:24].strip(): line for line in text.splitlines()}
    models = {**PRESETS, **parameters.variants()}
    for name, config in models.items():
        for total in parameters.totals(config).values():
            assert f" {total:,}" in rows[name]
    assert rows["E=128 sharing=attention"].endswith("64M")

    found = json.loads(printed(capsys, "params", "--list", "--json"))
    assert list(found) == list(models)
    assert found["albert-base-v2"]["trunk"] == 11_092_992
    assert found["tiny"]["paper_millions"] is None


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--preset", "albert-bass"], ["preset", "'albert-bass'", "did you mean 'albert-base'?"]),
        (["--sharing", "some"], ["sharing", "'some'", "all, attention, ffn, none"]),
        (["--groups", "13"], ["num_hidden_groups", "13", "12 layers"]),
        (["--groups", "0"], ["num_hidden_groups", "0", "at least 1"]),
        (["--groups", "2", "--preset", "bert-base"], ["groups", "2", "none", "all, attention, ffn"]),
        (["--embedding-size", "0"], ["embedding_size", "0", "at least 1"]),
        (["--vocab-size", "many"], ["--vocab-size", "'many'"]),
        (["--length", "513"], ["length", "513", "512"]),
        (["--length", "0"], ["length", "0", "1"]),
        (["--batch", "0"], ["batch", "0", "at least 1"]),
        (["--colour"], ["--colour"]),
        (["--vocb-size=3"], ["--vocb-size=3", "did you mean --vocab-size?"]),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_sentence(capsys, argv, words):
    sentence = refused(capsys, "params", *argv)
    for word in ["minalbert", *words]:
        assert word in sentence


def test_the_nearest_option_is_one_of_the_command_typed(capsys):
    assert "--workrs; did you mean --workers?" in refused(capsys, "data", "build", "--out", "x", "--workrs")


def test_a_preset_without_a_version_says_which_it_is(capsys):
    assert commands.main(["params", "--preset", "albert-base"]) == 0
    short = capsys.readouterr().out.splitlines()
    assert commands.main(["params", "--preset", "albert-base-v2"]) == 0
    assert short == ["albert-base is albert-base-v2", *capsys.readouterr().out.splitlines()]


def test_unknown_command_is_one_sentence(capsys):
    sentence = refused(capsys, "parms")
    assert "'parms'" in sentence
    assert "params" in sentence


@pytest.mark.parametrize("argv", [[], ["--help"]], ids=["nothing", "--help"])
def test_help_names_every_command(capsys, argv):
    with pytest.raises(SystemExit) as exit:
        commands.main(argv)
    assert exit.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, (_, purpose) in commands.COMMANDS.items():
        assert name in text
        assert purpose in text


@pytest.mark.parametrize("command", commands.COMMANDS)
def test_every_command_has_help(capsys, command):
    with pytest.raises(SystemExit) as exit:
        commands.main([command, "--help"])
    assert exit.value.code == 0
    assert f"usage: minalbert {command}" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as exit:
        commands.main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"minalbert {minalbert.__version__}\n"


def test_plain_letters_where_the_terminal_has_no_others(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def shown(self):
            self.flush()
            return self.buffer.getvalue().decode(self.encoding)

    screens = {}
    for encoding in ("ascii", "utf-8"):
        screens[encoding] = Terminal(io.BytesIO(), encoding)
        monkeypatch.setattr(sys, "stdout", screens[encoding])
        assert commands.main(["params"]) == 0
    assert "VxE + ExH" in screens["ascii"].shown()
    assert "V×E + E×H" in screens["utf-8"].shown()


def python_m(*argv):
    root = Path(minalbert.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", "minalbert", *argv],
        capture_output=True, text=True, encoding="utf-8", timeout=60,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


def test_python_m_minalbert_is_the_program():
    right = python_m("params", "--preset", "tiny", "--json")
    config = PRESETS["tiny"]
    assert (right.returncode, right.stderr) == (0, "")
    assert json.loads(right.stdout) == one_model("tiny", config, config.max_position_embeddings, 32)

    wrong = python_m("params", "--preset", "huge")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr


def test_help_imports_no_command():
    root = Path(minalbert.__file__).parents[1]
    script = (
        "import sys; from minalbert import commands\n"
        "try: commands.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([module for module, _ in commands.COMMANDS.values() if module in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "[]\n")


def test_a_reader_that_goes_away_gets_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "minalbert", "params"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    process.stderr.close()


def test_a_mistyped_command_gets_the_nearest_name(capsys):
    with pytest.raises(SystemExit) as stop:
        commands.main(["pretain", "runs/a"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "minalbert: there is no command 'pretain'; did you mean 'pretrain'?\n"


class Point:
    """An entry point of another package."""

    value = "others:TABLE"

    def __init__(self, table):
        self.table = table

    def load(self):
        if self.table is None:
            raise ImportError("no module named others")
        return self.table


def test_other_packages_add_commands_and_cannot_replace_or_break_ours(monkeypatch, capsys):
    points = [Point({"greet": ("others.greet", "greet Ada"), "demo": ("others.demo", "another demo")}), Point(None)]
    monkeypatch.setattr(commands, "entry_points", lambda group: points)
    table = commands.all_commands()
    assert table["greet"] == ("others.greet", "greet Ada")
    assert table["demo"] == commands.COMMANDS["demo"]
    assert list(table)[: len(commands.COMMANDS)] == list(commands.COMMANDS)
    assert "the commands of others:TABLE cannot be loaded: no module named others" in capsys.readouterr().err
