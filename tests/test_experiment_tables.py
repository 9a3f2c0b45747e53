"""What single tables of the paper compute besides losses: rules over a grid of rates, equal operations, fine-tuning."""

import json

import pytest

from minalbert import commands
from minalbert.data import TinyWorlds
from minalbert.experiments import (
    cells,
    depth_at_cost,
    fine_tuning,
    optimiser,
    report,
    results,
    running,
    same_time,
    sharing,
    speed,
    tables,
    width,
)
from minalbert.experiments.experiment import Arm, Experiment, Panel
from minalbert.experiments.labelled import fine_tuned
from minalbert.train import Settings

SETTINGS = Settings().change(
    hidden_size=16, embedding_size=8, num_attention_heads=2, num_hidden_layers=2, intermediate_size=32,
    max_position_embeddings=32, max_length=32, max_predictions=3, short_fraction=0.5, steps=4, batch=8, micro_batch=4,
    every=4, evaluate_every=4, evaluate_instances=20, log_every=1, optimiser="lamb",
)  # fmt: skip
TRAINED = Experiment(
    name="trained", tables="Table 0", claim="", paper={}, paper_columns={}, columns={}, rules=(), changed="", equal="",
    means="", arms={"one": Arm(), "two": Arm({"rate": 0.5})}, settings=SETTINGS, worlds=TinyWorlds(), stories=40,
    measure=lambda model, held_out: {"first": model.params.flat[0]}, seeds=1,
)  # fmt: skip
MEASURED = TRAINED._replace(name="measured", arms={"its": Arm(run_of=(TRAINED, "two"))},
                            measure=lambda model, held_out: {"last": model.params.flat[-1]})  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    for experiment in (TRAINED, MEASURED):
        monkeypatch.setitem(tables.TABLES, experiment.name, experiment)
    monkeypatch.setattr("minalbert.experiments.worlds.HELD_OUT", 30)
    monkeypatch.setattr(running, "HELD_OUT", 30)


# A table that measures the runs of another one


def test_a_run_of_another_table_is_measured_and_not_made_again(small, tmp_path):
    running.run_table("trained", tmp_path)
    model = running.open_trained(tmp_path / "runs" / "trained" / "full_two_seed-100" / "run").model
    made = sorted(tmp_path.rglob("model.safetensors"))
    (line,) = running.run_table("measured", tmp_path).lines
    assert line["scores"] == {"last": round(float(model.params.flat[-1]), 6)}
    assert (line["table"], line["arm"], line["settings"]["rate"]) == ("measured", "its", 0.5)
    assert sorted(tmp_path.rglob("model.safetensors")) == made


def test_such_a_run_is_made_if_it_is_not_there_and_then_serves_the_other_table(small, tmp_path, monkeypatch):
    running.run_table("measured", tmp_path)
    steps = []
    hearer = running.Hearer()
    hearer.step = lambda step, *more: steps.append(step)
    running.run_table("trained", tmp_path, hearer=hearer)
    assert steps == [1, 2, 3, 4], "only arm one was left to train"


# LAMB and AdamW


def grid(lamb_16, lamb_256, adamw_16, adamw_256):
    """Arms' losses at five rates each, and trust ratios."""
    arms = {}
    for name, batch, losses in (("LAMB", 16, lamb_16), ("LAMB", 256, lamb_256), ("AdamW", 16, adamw_16),
                                ("AdamW", 256, adamw_256)):  # fmt: skip
        for rate, loss in zip(optimiser.RATES[name], losses, strict=True):
            arms[optimiser.name_of(name, batch, rate)] = {"mlm loss": loss, "largest": 0.5, "smallest": 0.06}
    return arms


ARMS = grid([5.0, 4.0, 4.05, 4.3, 5.4], [5.3, 5.2, 4.5, 4.45, 4.54],
            [5.0, 4.4, 4.1, 4.0, 5.4], [5.3, 5.2, 5.0, 4.9, 5.4])  # fmt: skip


def test_the_rules_over_a_grid_of_rates():
    assert optimiser.best_rate(ARMS, "LAMB", 16) == 0.002
    assert optimiser.chosen(ARMS, "LAMB", 16) == 4.05, "that of 0.004, which another seed chose"
    assert optimiser.good(ARMS, "LAMB", 256) == 3
    assert optimiser.good(ARMS, "AdamW", 256) == 1
    assert optimiser.lost(ARMS, "AdamW") == pytest.approx(0.9)
    values = [rule.value(ARMS) for rule in optimiser.EXPERIMENT.rules]
    assert values == pytest.approx([0.45, -0.05, 0.4, 0.9, 0.5, 1.5, -0.5, 2, -0.1])


def test_the_chosen_rates_are_the_best_of_those_tried():
    lines = results.stored("optimiser")
    tried = {
        cell.arm: results.found(cell, lines)["scores"] for cell in cells.cells_of(optimiser.EXPERIMENT, cells.TRYING)
    }
    for pair, rate in optimiser.CHOSEN.items():
        assert optimiser.best_rate(tried, *pair) == rate


def test_what_is_told_of_the_rates_of_table_4_is_what_was_tried():
    tried = [line for line in results.stored("sharing") if line["size"] == cells.TRYING]
    losses = {rate: [line["scores"]["mlm loss"] for line in tried if line["settings"]["rate"] == rate]
              for rate in (0.003, 0.0045, 0.0068)}  # fmt: skip
    failed = {rate: sum(loss > 5 for loss in found) for rate, found in losses.items()}
    assert (failed, len(losses[0.0045]), len(losses[0.0068])) == ({0.003: 0, 0.0045: 1, 0.0068: 12}, 24, 24)
    one_arm = {rate: [line["scores"]["mlm loss"] for line in tried if line["arm"] == "E=64, all"
                      and line["settings"]["rate"] == rate] for rate in losses}  # fmt: skip
    assert (f"{one_arm[0.003][0]:.2f}", f"{sum(one_arm[0.0045]) / 3:.2f}") == ("3.89", "4.25")
    told = " ".join(sharing.EXPERIMENT.means.split())
    assert "of 24 tries with it one failed (E=64, all), of those with 0.0068 twelve" in told
    assert "for E=64, all it had 3.89 nats, and 0.0045 has a mean of 4.25" in told


def test_a_best_rate_two_steps_off_is_not_near_the_rule():
    far = grid([9, 4, 9, 9, 9], [9, 4, 9, 9, 9], [4, 9, 9, 9, 9], [9, 9, 9, 9, 4])
    assert optimiser.near_the_rule("LAMB")(far) == -0.5
    assert optimiser.near_the_rule("AdamW")(far) == -0.5


def test_trust_ratios_are_those_of_the_runs_second_half(small, tmp_path):
    running.run_table("trained", tmp_path)
    run = tmp_path / "runs" / "trained" / "full_one_seed-100" / "run"
    held_out = cells.cells_of(TRAINED)[0].held_out(tmp_path)._replace(run=run)
    found = optimiser.measure(running.open_trained(run).model, held_out)
    lines = [json.loads(text) for text in (run / "metrics.jsonl").read_text().splitlines()]
    third, fourth = (line["trust_ratios"] for line in lines if line.get("step") in (3, 4) and "trust_ratios" in line)
    middles = [(third[name] + fourth[name]) / 2 for name in third]
    assert (found["largest"], found["smallest"]) == pytest.approx((max(middles), min(middles)))


# What a page tells of the numbers


def test_conclusions_have_the_numbers_of_the_results():
    experiment = MEASURED._replace(
        means="{last.mean:.1f} nats, from {last.low:.2f} to {last.high:.2f}; at most {last.values[2]:.0f}.",
        facts={"last": lambda arms: arms["its"]["last"]},
    )  # fmt: skip
    scores = {seed: {"its": {"last": value}} for seed, value in enumerate((3, 1, 2))}
    assert report.conclusions(report.Measured(experiment, scores, [])) == "2.0 nats, from -0.48 to 4.48; at most 3."


def test_the_price_of_a_table_is_that_of_its_runs_and_of_measuring_others():
    line = {"arm": "own", "tokens": 2e6, "operations": 3e12, "seconds": 60, "measured_in": 0, "weights": 5,
            "date": "2026-11-23"}  # fmt: skip
    experiment = MEASURED._replace(arms={"own": Arm(), **MEASURED.arms})
    table = report.Measured(experiment, {}, [line, line | {"arm": "its", "measured_in": 90}])
    assert report.price(table) == (
        "1 runs of models with 5 weights: 2 million tokens, 3.0·10¹² operations; in all 1 minutes, each run on one "
        "busy core, 2026-11-23. 1 runs of trained, measured in 1.5 minutes of one busy core, 2026-11-23."
    )


# Equal operations


def test_both_models_of_table_6_are_given_the_same_operations():
    wide, narrow = (next(cell.operations for cell in cells.cells_of(same_time.EXPERIMENT) if cell.arm == arm)
                    for arm in (same_time.WIDE, same_time.NARROW))  # fmt: skip
    assert wide / narrow == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(("table", "usual"), [(width, "H=128"), (depth_at_cost, "12 layers")])
def test_arms_of_equal_operations_have_them_but_for_a_part_of_a_step(table, usual):
    found = {cell.arm: cell for cell in cells.cells_of(table.EXPERIMENT, seeds=1)}
    others = [cell for arm, cell in found.items() if ", operations of " in arm]
    assert len(others) == 3
    for cell in others:
        step = cell.operations / cell.settings.training.steps
        assert abs(cell.operations - found[usual].operations) <= 0.5 * step


# Fine-tuning


def test_an_interval_of_shares_is_drawn_from_0_to_1():
    arm = "12 layers, shared"
    scores = {seed: {arm: {"failed at 0.01": score, "best": 2.5}} for seed, score in enumerate((1.0, 0.0, 1.0))}
    panels = fine_tuning.EXPERIMENT.panels[-1], Panel("", ours="best", form="{:.1f}")
    table = report.Measured(fine_tuning.EXPERIMENT._replace(panels=panels), scores, [])
    failed, best = (panel["ours"][arm] for panel in report.panels(table))
    assert failed == ([1.0, 0.0, 1.0], 0.0, 1.0)
    assert best[1:] == (2.5, 2.5)


def test_a_fine_tuning_is_judged_by_the_sweep_that_users_have(small, tmp_path):
    """A rate of 1e-12 changes nothing, so that fresh weights guess; seeds choose other labels."""
    running.run_table("trained", tmp_path)
    run = tmp_path / "runs" / "trained" / "full_one_seed-100" / "run"
    held_out = cells.cells_of(TRAINED)[0].held_out(tmp_path)._replace(run=run)
    runs = fine_tuned(held_out, "topic", 32, [1e-12], seeds=(0, 1))
    assert [(found.rate, found.seed, found.step) for found in runs] == [(1e-12, 0, 10), (1e-12, 1, 10)]
    assert all(found.failed and found.score < 0.2 for found in runs)
    assert not list(tmp_path.glob("tmp*"))


def test_shares_of_failed_runs_are_means_over_rates_and_orders(monkeypatch):
    class Run:
        def __init__(self, rate, failed, score):
            self.rate, self.failed, self.score = rate, failed, score

    runs = [Run(rate, rate == 0.01 and seed < 2, 0.9 - rate) for rate in fine_tuning.RATES for seed in range(3)]
    monkeypatch.setattr(fine_tuning, "fine_tuned", lambda *given: runs)
    found = fine_tuning.measure(None, None)
    assert found["failed at 0.01"] == pytest.approx(2 / 3)
    assert found["failed"] == pytest.approx(1 / 6)
    assert found["best"] == pytest.approx(0.8997)


# Larger models


def test_a_larger_table_has_wider_models_and_more_steps_and_verdicts_of_its_own(small, tmp_path):
    size = cells.Larger(2)
    (line,) = running.run_table("trained", tmp_path, size, seeds=1).lines[:1]
    assert line["size"] == "2 times, cpu"
    found, before = line["settings"], cells.cells_of(TRAINED)[0].settings
    assert (found["hidden_size"], found["embedding_size"], found["num_attention_heads"]) == (32, 16, 4)
    assert found["steps"] == 2 * before.training.steps
    assert found["rate"] == pytest.approx(before.peak_rate / 2**0.5)
    assert found["device"] == "cpu"
    assert report.measured("trained", [line], size).scores == {100: {"one": line["scores"]}}
    text = "\n".join(report.text("trained", [line], size))
    assert "no verdicts" not in text


def test_a_gpu_is_for_larger_models(tmp_path, capsys):
    assert commands.main(["reproduce", "run", "sharing", "--device", "cuda", "--out", str(tmp_path)]) == 2
    assert "give --times, too" in capsys.readouterr().err


# Speed


def test_measured_speeds_are_multiples_of_bert_bases_in_the_same_place():
    taken = {"ALBERT-base": {"one rank": 2.0, "two ranks": 2.5}, "BERT-base": {"one rank": 2.2, "two ranks": 5.0}}
    lines = [{"model": model, "place": place, "seconds": seconds} for model, places in taken.items()
             for place, seconds in places.items()]  # fmt: skip
    assert speed.times_as_fast(lines)["ALBERT-base"] == pytest.approx({"one rank": 1.1, "two ranks": 2.0})
    assert speed.times_as_fast(lines)["BERT-base"] == {"one rank": 1, "two ranks": 1}
