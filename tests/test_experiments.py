"""The paper's claims: how they are judged, how their runs are made, and that the page says what the results say."""

import json
import math
import re
import signal
import subprocess
import sys
import time
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from minalbert import Albert, commands, train
from minalbert.data import TinyWorlds
from minalbert.experiments import cells, counts, report, results, running, tables
from minalbert.experiments.experiment import Arm, Column, Experiment, Rule
from minalbert.experiments.intervals import interval_of, judge
from minalbert.train.evaluation import evaluate

ROOT = Path(__file__).parents[1]
TRAINED = [name for name, experiment in tables.TABLES.items() if experiment.exact is None]


# How results are judged


def test_an_interval_is_students():
    """Five fills of bottles, from a textbook of statistics by hand: mean 3, s = 1.5811, t = 2.776, √5."""
    found = interval_of([1, 2, 3, 4, 5])
    assert found.mean == 3
    assert found.half == pytest.approx(2.776 * 1.58113883 / 5**0.5, rel=1e-6)
    assert found.seeds == 5
    assert math.isinf(interval_of([1.0]).half)


def scores(first, second):
    return {seed: {"a": {"x": x}, "b": {"x": y}} for seed, (x, y) in enumerate(zip(first, second, strict=True))}


LARGER = Rule("a has more than b", lambda arms: arms["a"]["x"] - arms["b"]["x"])


def test_what_a_seed_does_to_both_arms_drops_out():
    """Seeds differ by 10, and the arms by 0.1 in each of them."""
    assert judge(LARGER, scores([10.1, 20.1, 30.11], [10.0, 20.0, 30.0])).word == "shows"
    assert judge(LARGER, scores([10.0, 20.0, 30.0], [10.1, 20.1, 30.11])).word == "shows the opposite"
    assert judge(LARGER, scores([10.1, 20.1, 29.9], [10.0, 20.0, 30.0])).word == "does not show"


def test_two_seeds_are_no_verdict_and_a_seed_without_an_arm_counts_for_none():
    found = scores([1.1, 1.2, 1.15], [1.0, 1.0, 1.0])
    del found[2]["b"]
    assert judge(LARGER, found).word == "too few seeds (2 of 3)"


# What is counted


def test_all_but_one_of_the_papers_counts_fit_wide_positions():
    found = counts.exact()
    assert {name for name, millions in counts.PAPER.items() if round(found[name]["wide"]) != millions} == {
        "ALBERT-xxlarge"
    }


# How runs are made: a table of two arms with a model of 16


def measure(model, held_out):
    found = evaluate(model, held_out.batch(50))
    return {"loss": found.mlm_loss, "first": float(model.params.flat[0])}


def headless(config, seed, before):
    return (before or Albert.init(config, seed)).with_heads(("mlm",))


SMALL = Experiment(
    name="small", tables="Table 0", claim="None.", paper={"one": {"tasks": 1.0}}, columns={"loss": Column("loss")},
    paper_columns={"tasks": Column("tasks")}, rules=(Rule("one is worse", lambda arms: arms["one"]["loss"]),),
    changed="the start", equal="the rest", means="Nothing.",
    arms={"one": Arm(), "two": Arm({"rate": 0.002}, start=headless, after="one")},
    settings=train.Settings().change(
        hidden_size=16, embedding_size=8, num_attention_heads=2, num_hidden_layers=2, intermediate_size=32,
        max_length=24, max_predictions=4, steps=12, batch=8, micro_batch=4, every=4, evaluate_every=6,
        evaluate_instances=20, hidden_dropout_prob=0.1,
    ),
    worlds=TinyWorlds(), stories=40, measure=measure, seeds=1, tried=({"rate": 0.01}, {"rate": 0.02}), 
    tried_for=("one",), quick={"steps": 4},
)  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(tables.TABLES, "small", SMALL)
    monkeypatch.setattr("minalbert.experiments.worlds.HELD_OUT", 30)
    monkeypatch.setattr(running, "HELD_OUT", 30)


class Killed(BaseException):
    pass


class KillAt(running.Hearer):
    """Ends the process, as it were, in the middle of a run, so that nothing is saved."""

    def __init__(self, step):
        self.last = step

    def step(self, step, losses, tokens_per_second):
        if step == self.last:
            raise Killed


def shown(outcome):
    return {line["arm"]: line["scores"] for line in outcome.lines}


def test_a_table_that_was_killed_goes_on_with_the_same_bits(small, tmp_path):
    whole = running.run_table("small", tmp_path / "whole")
    assert (whole.missing, whole.code) == (0, 0)
    for step in (3, 7):  # before and after a checkpoint, of the first arm and then of the second
        with pytest.raises(Killed):
            running.run_table("small", tmp_path / "killed", hearer=KillAt(step))
    assert shown(running.run_table("small", tmp_path / "killed")) == shown(whole)


def test_a_signal_between_two_runs_stops_the_other_processes_too(small, tmp_path, monkeypatch):
    asked = []
    other = SimpleNamespace(terminate=lambda: asked.append("terminate"), join=lambda: asked.append("join"))
    monkeypatch.setattr(running, "start_another", lambda *_: other)

    class Signal(running.Hearer):
        def run_begins(self, text):
            signal.raise_signal(signal.SIGTERM)

    outcome = running.run_table("small", tmp_path, jobs=2, hearer=Signal())
    assert (outcome.code, outcome.missing, asked) == (75, 2, ["terminate", "join"])
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_nothing_is_run_twice(small, tmp_path, monkeypatch):
    first = running.run_table("small", tmp_path)
    monkeypatch.setattr(running, "pretrain", None)
    assert running.run_table("small", tmp_path).lines == first.lines


def test_a_result_with_other_settings_is_no_result_of_the_cell(small, tmp_path):
    lines = running.run_table("small", tmp_path).lines
    cell = cells.cells_of(SMALL)[0]
    assert results.found(cell, lines) == lines[0]
    assert results.found(cell._replace(settings=cell.settings.change(rate=0.5)), lines) is None
    assert results.found(cell._replace(stories=41), lines) is None


def test_a_cell_that_another_process_finished_meanwhile_is_left_out(small, tmp_path, monkeypatch):
    """Between the look for results and the lock."""
    runs, pretrain = [], running.pretrain
    monkeypatch.setattr(running, "pretrain", lambda *given, **more: runs.append(given[1]) or pretrain(*given, **more))
    monkeypatch.setattr(running, "claimed", lambda held, place, cell: running.run_cell(place, cell, running.Hearer()))
    running.run_table("small", tmp_path)
    assert len(runs) == len(set(runs)) == 2


def test_an_arm_begins_with_the_model_of_the_one_before(small, tmp_path):
    running.run_table("small", tmp_path)
    one, two = (train.open_trained(tmp_path / "runs" / "small" / f"full_{arm}_seed-100" / "run").model
                for arm in ("one", "two"))  # fmt: skip
    start = Albert.from_pretrained(tmp_path / "runs" / "small" / "full_two_seed-100" / "start")
    assert (start.params.flat == one.with_heads(("mlm",)).params.flat).all()
    assert not (start.params.flat == two.params.flat).all()
    assert "sop.b" not in two.params


def test_a_result_says_what_its_bits_depend_on(small, tmp_path):
    line, _ = running.run_table("small", tmp_path).lines
    assert line["settings"]["steps"] == 12
    assert line["settings"]["seed"] == line["seed"] == line["worlds"]["seed"] == 100
    assert not {"corpus", "held_out", "weights", "workers", "kernels"} & set(line["settings"])
    assert line["kernels"] == ("compiled" if find_spec("numba") else "fused")
    assert {"NumPy", "BLAS", "minalbert", "processor"} <= set(line["environment"])
    assert line["tokens"] == 12 * 8 * 24
    assert str(tmp_path) not in json.dumps(line)


def test_what_chooses_a_rate_is_no_seed_and_no_story_that_is_judged():
    for name in TRAINED:
        tried = cells.cells_of(tables.TABLES[name], cells.TRYING)
        judged = cells.cells_of(tables.TABLES[name])
        assert not seeds_of(tried) & seeds_of(judged)
        assert not {cell.held_out("").seed for cell in tried} & {cell.held_out("").seed for cell in judged}
        assert len({cell.name for cell in judged + tried}) == len(judged) + len(tried)


def seeds_of(found):
    return {seed for cell in found for seed in (cell.seed, cell.key["settings"]["seed"])}


def test_quick_is_judged_by_few():
    for name in TRAINED:
        assert {cell.held_out("").most for cell in cells.cells_of(tables.TABLES[name], cells.QUICK)} == {128}


def test_the_cells_of_another_process_are_left_to_it(small, tmp_path):
    cell = cells.cells_of(SMALL)[0]
    with running.ExitStack() as held, running.ExitStack() as other:
        assert running.claimed(held, tmp_path, cell)
        assert not running.claimed(other, tmp_path, cell)


# What is stored, and the page that is made of it


@pytest.mark.parametrize("name", TRAINED)
def test_stored_results_are_those_of_the_files_as_they_are(name):
    experiment = tables.TABLES[name]
    lines = results.stored(experiment.name)
    seeds = 1 + max((line["seed"] for line in lines if line["size"] != cells.TRYING), default=-1)
    found = cells.cells_of(experiment, cells.TRYING) + cells.cells_of(experiment, seeds=seeds - cells.FIRST_SEED)
    for line in lines:
        own = [cell for cell in found if (cell.arm, cell.seed) == (line["arm"], line["seed"])]
        assert any(results.found(cell, [line]) for cell in own), line


@pytest.mark.parametrize("name", TRAINED)
def test_the_page_has_every_number_and_verdict_as_stored_results_give_it(name):
    """Without the code that wrote it: means and intervals by NumPy alone."""
    import numpy as np

    page, table = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8"), report.measured(name)
    t = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
    section = re.split(rf"\n## .*: {name}\n", page)[1].split("\n## ")[0] if table.lines else ""
    assert section or name in page.split("Not run yet: ")[1]
    for arm in table.experiment.arms:
        for measure, column in table.experiment.columns.items():
            lines = [line for line in table.lines if line["arm"] == arm and measure in line["scores"]]
            numbers = np.array([line["scores"][measure] for line in lines])
            if len(numbers) > 1:
                half = t[len(numbers)] * numbers.std(ddof=1) / np.sqrt(len(numbers))
                assert f"{column.form.format(numbers.mean())} ± {column.form.format(half)}" in section


def test_the_page_is_what_the_stored_results_make():
    assert (ROOT / "docs" / "paper.md").read_text(encoding="utf-8") == report.page()


def test_the_contents_of_the_page_lead_to_its_sections():
    page = report.page()
    titles = {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in re.findall("## (.*)", page)}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) == titles


# The command


def said(capsys, *words):
    assert commands.main(["reproduce", *words]) == 0
    return capsys.readouterr().out


def test_the_command_lists_runs_and_shows(small, tmp_path, capsys):
    assert "Table 5" in said(capsys, "list")
    run = said(capsys, "run", "small", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert "size quick: no verdicts" in run
    assert "shows" not in run
    assert json.loads(said(capsys, "show", "counts", "--json"))["verdicts"]
    said(capsys, "report", "--page", str(tmp_path / "page.md"))
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == report.page()


def test_results_of_a_directory_are_stored_and_reported(small, tmp_path, monkeypatch, capsys):
    (tmp_path / "stored").mkdir()
    monkeypatch.setattr(results, "STORED", tmp_path / "stored")
    running.run_table("small", tmp_path)
    said(capsys, "report", "--store", "--out", str(tmp_path), "--page", str(tmp_path / "page.md"))
    assert results.stored(SMALL.name) == results.own(tmp_path, SMALL)
    assert "## Table 0: small" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_a_table_that_lacks_runs_is_stored_with_its_tries_alone(small, tmp_path, monkeypatch, capsys):
    """And what was stored of it before stays."""
    (tmp_path / "stored").mkdir()
    monkeypatch.setattr(results, "STORED", tmp_path / "stored")
    for size in (cells.TRYING, cells.QUICK, cells.FULL):
        running.run_table("small", tmp_path, size)
    (result,) = results.place_of(tmp_path, SMALL).glob("full_two*")
    (tmp_path / "kept").mkdir()
    result.rename(tmp_path / "kept" / result.name)
    words = ["report", "--store", "--out", str(tmp_path), "--page", str(tmp_path / "page.md")]
    assert "small lacks 1 run: only its tries are stored" in said(capsys, *words)
    assert [line["size"] for line in results.stored("small")] == ["tried", "tried"]
    (tmp_path / "kept" / result.name).rename(result)
    assert "only its tries" not in said(capsys, *words)
    whole = results.stored("small")
    assert [line["size"] for line in whole] == ["full", "full", "tried", "tried"]
    result.unlink()
    said(capsys, *words)
    assert results.stored("small") == whole


def test_a_table_that_is_not_there_is_one_sentence(capsys):
    with pytest.raises(SystemExit):
        commands.main(["reproduce", "show", "sop"])
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", TRAINED)
def test_a_chosen_rate_has_the_lowest_mean_of_those_tried_with_most_seeds(name):
    experiment, found = tables.TABLES[name], {}
    lines = results.stored(experiment.name)
    for cell in cells.cells_of(experiment, cells.TRYING):
        if line := results.found(cell, lines):
            choice = frozenset((key, value) for key, value in cell.choice.items() if key not in ("steps", "seed"))
            found.setdefault(cell.arm, {}).setdefault(choice, []).append(line["scores"]["mlm loss"])
    for arm, losses in found.items():
        assert sum(map(len, losses.values())) == len(experiment.tried)
        most = max(map(len, losses.values()))
        best = min((sum(tried) / most, sorted(choice)) for choice, tried in losses.items() if len(tried) == most)
        settings = cells.cell_of(experiment, cells.FULL, arm, 0).key["settings"]
        assert dict(best[1]).items() <= settings.items(), losses


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_rule_can_be_judged_from_what_the_arms_measure(name):
    """Numbers that are all alike: no rule asks for an arm or a measure that there is not."""
    experiment = tables.TABLES[name]
    columns = dict.fromkeys(experiment.columns, 0.5)
    arms = experiment.exact() if experiment.exact else {arm: columns for arm in experiment.arms}
    assert all(math.isfinite(rule.value(arms)) for rule in experiment.rules)
    assert set(experiment.paper) <= set(experiment.arms or experiment.paper)
    assert {panel.ours for panel in experiment.panels if panel.ours} <= set(experiment.columns)


# Slow: real kills, several processes, all tables


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_what_another_goes_on_with(tmp_path):
    """SIGKILL in the middle of a run, once and again; scores and weights are those of runs that nobody disturbed."""
    command = [sys.executable, "-m", "minalbert", "reproduce", "run", "sharing", "--quick", "--jobs", "1", "--json"]
    whole = json.loads(subprocess.check_output([*command, "--out", str(tmp_path / "whole")]))
    for arm in ("all", "ffn"):
        process = subprocess.Popen([*command, "--out", str(tmp_path / "killed")], stdout=subprocess.DEVNULL)
        run = tmp_path / "killed" / "runs" / "sharing" / f"quick_E-64,_{arm}_seed-100" / "run"
        while process.poll() is None and not list(run.glob("step-*2")):
            time.sleep(0.05)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    again = json.loads(subprocess.check_output([*command, "--out", str(tmp_path / "killed")]))
    assert weights_below(tmp_path / "killed") == weights_below(tmp_path / "whole")
    assert [line["scores"] for line in again["sharing"]] == [line["scores"] for line in whole["sharing"]]


def weights_below(place):
    """{path: SHA-256} of all checkpoints of a directory."""
    found = {str(file.relative_to(place)): sha256(file.read_bytes()).hexdigest() for file in place.rglob("model.*")}
    assert len(found) >= 8
    return found


@pytest.mark.slow
def test_every_table_runs_quickly_on_two_processes(tmp_path, capsys):
    """`minalbert reproduce run all --quick`, the same code as the real runs, with no verdicts."""
    stories = TinyWorlds().documents(0, 80)
    (tmp_path / "text.txt").write_text("\n\n".join("\n".join(story.sentences) for story in stories), encoding="utf-8")
    text = ["--text", str(tmp_path / "text.txt"), "--layout", "lines"] if find_spec("sentencepiece") else []
    words = ["reproduce", "run", "all", "--quick", "--jobs", "2", "--json", "--out", str(tmp_path), *text]
    assert commands.main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(TRAINED) - set(found) == (set() if text else {"real_text"})
    for name in set(TRAINED) & set(found):
        experiment = tables.TABLES[name]
        assert {line["arm"] for line in found[name]} == set(experiment.arms)
        assert set(experiment.columns) == {measure for line in found[name] for measure in line["scores"]} & set(
            experiment.columns
        )
