"""`minalbert plot`: metrics become arrays, and the arrays a picture that can be read."""

import argparse
import json

import numpy as np
import pytest

from minalbert import PRESETS, plots
from minalbert.commands import plot as plot_command
from minalbert.errors import InputError, TrainError
from minalbert.params import shapes
from minalbert.plots.panels import spread
from minalbert.plots.training import smooth
from minalbert.train.curves import read_curves, summary
from minalbert.train.trained import model_directory

ADAPTED = [name for name, shape in shapes(PRESETS["tiny"]).items() if len(shape) == 2]
LINES = [
    {"kind": "start", "step": 0, "unigram_entropy": 5.2, "most_frequent_word": 0.165, "parameters": 97000, "batch": 64},
    {"kind": "eval", "step": 0, "mlm_loss": 7.3, "mlm_accuracy": 0.001, "sop_accuracy": 0.5},
    {"kind": "train", "step": 10, "mlm_loss": 7.0, "sop_loss": None, "rate": 1e-3, "gradient_norm": 2.0},
    {"kind": "train", "step": 20, "mlm_loss": 6.0, "sop_loss": 0.7, "rate": 2e-3, "gradient_norm": 1.5,
     "trust_ratios": {"encoder.ffn.up.w": 0.5, "sop.w": 2.0}},
    {"kind": "eval", "step": 20, "mlm_loss": 4.5, "mlm_accuracy": 0.2, "sop_accuracy": 0.7},
    {"kind": "event", "step": 20, "event": "left the plateau", "text": "a sentence"},
]  # fmt: skip


def write(run, lines, torn=""):
    run.mkdir(parents=True, exist_ok=True)
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + torn)
    return run


def ring(run, steps=4500, seed=0, lamb=(), order=True, trouble=False):
    """A run as runs on ring stories are: SOP at 0.5 until step 2000, 0.92 by 4000."""
    rng, lines = np.random.default_rng(seed), [LINES[0]]
    for step in range(0, steps + 1, 10):
        mlm, sop = 1.1 + 6.2 * np.exp(-step / 700), 0.5 + 0.42 / (1 + np.exp((2800 - step) / 250))
        if step:
            line = {"kind": "train", "step": step, "mlm_loss": mlm + rng.normal() / 9}
            line |= {"rate": 0.002 * (1 - step / steps), "gradient_norm": np.exp(rng.normal() / 4)}
            if lamb:
                line["trust_ratios"] = {name: 10 ** rng.normal(0, 0.05) * i**2 / 30 for i, name in enumerate(lamb, 1)}
            lines.append(line)
        if step % 250 == 0:
            found = {"mlm_loss": mlm, "mlm_accuracy": 0.6 * (1 - np.exp(-step / 900))}
            found |= {"sop_accuracy": sop, "sop_recall_in_order": rng.random()} if order else {"sop_accuracy": None}
            lines.append({"kind": "eval", "step": step} | found)
        if step in (500, 2500) or (trouble and step in (800, 1500)):
            event = {500: "left the plateau", 2500: "order learnt", 800: "spike", 1500: "not finite"}[step]
            lines.append({"kind": "event", "step": step, "event": event, "text": "a sentence"})
    return write(run, lines)


def run(*argv):
    parser = argparse.ArgumentParser()
    plot_command.add_arguments(parser)
    return plot_command.run(parser.parse_args([str(word) for word in argv]))


# Arrays


def test_lines_become_arrays(tmp_path):
    curves = read_curves(write(tmp_path / "first", LINES, '{"kind": "train", "st'))
    assert (curves.name, curves.start["unigram_entropy"]) == ("first", 5.2)
    assert curves.train["step"].tolist() == [10, 20]
    assert curves.train["gradient_norm"].tolist() == [2, 1.5]
    assert np.isnan(curves.train["sop_loss"]).tolist() == [True, False]
    assert curves.held_out["sop_accuracy"].tolist() == [0.5, 0.7]
    assert np.isnan(curves.held_out["sop_recall_swapped"]).all()
    assert {name: values.tolist() for name, values in curves.ratios.items()} == {
        "step": [20], "encoder.ffn.up.w": [0.5], "sop.w": [2.0],
    }  # fmt: skip
    assert curves.when("left the plateau") == 20
    assert curves.when("order learnt") is None


def test_what_a_run_went_back_behind_is_left_out(tmp_path):
    def train(step, loss):
        return {"kind": "train", "step": step, "mlm_loss": loss}

    back = {"kind": "event", "step": 10, "event": "rolled back", "text": ""}
    lines = [
        train(10, 5.0),
        train(20, 9.0),
        train(30, 9.0),
        LINES[4],
        back,
        train(20, 4.0),
        LINES[4] | {"mlm_loss": 4.0},
    ]
    curves = read_curves(write(tmp_path, lines))
    assert curves.train["step"].tolist() == [10, 20]
    assert curves.train["mlm_loss"].tolist() == [5, 4]
    assert curves.held_out["mlm_loss"].tolist() == [4]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, r"has no metrics.jsonl; it must be the directory of a run"),
        ("nonsense\n{}\n", r"metrics.jsonl:1 is no line of metrics"),
        ('{"kind": "train"}\n', r"metrics.jsonl:1 is no line of metrics"),
        ("12\n", r"metrics.jsonl:1 is no line of metrics"),
    ],
)
def test_what_is_no_run_is_one_sentence(tmp_path, content, words):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    with pytest.raises(TrainError, match=words) as error:
        read_curves(tmp_path)
    assert "\n" not in str(error.value)


def test_the_summary_says_where_the_run_stands(tmp_path):
    curves = read_curves(write(tmp_path / "first", LINES))
    assert summary(curves) == (
        "first: 20 steps, MLM loss 4.50, MLM accuracy 20.0%, SOP accuracy 70.0%, left the plateau at step 20"
    )
    assert summary(read_curves(write(tmp_path / "new", []))) == "new: 0 steps"


def test_smoothing_is_a_mean_over_neighbours():
    values = np.array([1.0, 2, 6, np.nan, 8, 0])
    np.testing.assert_allclose(smooth(values, 0.34), [1.5, 3, 4, np.nan, 4, 4])
    np.testing.assert_allclose(smooth(np.full(500, 3.0)), 3)
    np.testing.assert_allclose(smooth(np.array([1.0, 100, 1]), 0.7, log=True), [10, 100 ** (1 / 3), 10])
    assert np.isnan(smooth(np.array([0.0, -1, np.nan]), log=True)).all()
    assert smooth(np.array([])).shape == (0,)


def test_labels_are_moved_no_further_than_they_must():
    rng = np.random.default_rng(0)
    for _ in range(100):
        wanted = rng.random(rng.integers(1, 14))
        places = spread(wanted, 0.06)
        assert (np.diff(places[wanted.argsort()]) >= 0.06 - 1e-12).all()
        assert places.mean() == pytest.approx(wanted.mean())
    np.testing.assert_allclose(spread(np.array([0.5, 0.1, 0.52]), 0.1), [0.46, 0.1, 0.56])
    np.testing.assert_allclose(spread(np.array([0.3, 0.3]), 0.1), [0.25, 0.35])


# The picture


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")


def titles(drawn):
    return [axes.get_title(loc="left") for axes in drawn.axes]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def readable(drawn):
    """All texts lie in the figure and none on another, tick labels and titles as well."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from test_plots import inside

    assert inside(drawn)
    renderer, found = FigureCanvasAgg(drawn).get_renderer(), []
    for axes in drawn.axes:
        low, high = sorted(axes.get_ylim())
        ticks = [text for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high]
        found += [*axes.get_xticklabels(), *ticks, *axes.texts, axes._left_title]
    found = [(t, t.get_window_extent(renderer)) for t in [*found, *drawn.texts] if t.get_text()]
    for i, (text, box) in enumerate(found):
        assert drawn.bbox.x0 <= box.x0 < box.x1 <= drawn.bbox.x1, text
        assert drawn.bbox.y0 <= box.y0 < box.y1 <= drawn.bbox.y1, text
        for other, its in found[:i]:
            wide, high = min(box.x1, its.x1) - max(box.x0, its.x0), min(box.y1, its.y1) - max(box.y0, its.y0)
            assert wide < 2 or high < 2, (text, other)
    return True


def test_a_run_is_drawn_with_what_it_is_to_be_compared_with(matplotlib, tmp_path):
    drawn = plots.training.training_curves([read_curves(ring(tmp_path / "ring", trouble=True))])
    assert titles(drawn) == ["MLM loss", "SOP accuracy", "MLM accuracy", "learning rate", "gradient norm"]
    loss, order, words, rate, norm = drawn.axes
    assert {"guessing by frequency 5.20", "left the plateau, step 500", "1.11"} <= set(texts(loss))
    assert {"guessing", "order learnt, step 2,500", "92%"} <= set(texts(order))
    assert {"most frequent word", "60%"} <= set(texts(words))
    assert "at most 0.002" in texts(rate)
    assert "▼ 1 × spike, 1 × not finite" in texts(norm)
    assert not any("large" in text for text in texts(loss) + texts(order))  # the large points have names
    assert norm.get_yscale() == "log"
    levels = [next(line.get_ydata()[0] for line in axes.lines if line.is_dashed()) for axes in (loss, order, words)]
    assert levels == [5.2, 0.5, 0.165]
    assert [text.get_text() for text in drawn.texts] == ["ring", "97,000 parameters, batch 64"]
    assert readable(drawn)


@pytest.mark.parametrize(("entropy", "side"), [(4.6, "bottom"), (4.4, "top")])
def test_a_level_is_named_on_the_side_that_the_loss_does_not_reach(matplotlib, tmp_path, entropy, side):
    lines = [LINES[0] | {"unigram_entropy": entropy}, *LINES[1:]]
    loss, *_ = plots.training.training_curves([read_curves(write(tmp_path / "run", lines))]).axes
    (name,) = [text for text in loss.texts if "guessing" in text.get_text()]
    assert name.get_verticalalignment() == side


def test_each_adapted_tensor_has_its_name(matplotlib, tmp_path):
    assert len(ADAPTED) == 13
    drawn = plots.training.training_curves([read_curves(ring(tmp_path / "lamb", lamb=ADAPTED))])
    axes = drawn.axes[-1]
    assert axes.get_title(loc="left") == "trust ratios"
    assert axes.get_yscale() == "log"
    names = {"attention query", "attention output", "ffn up", "ffn down", "pooler", "mlm dense", "sop"}
    names |= {"embeddings word", "embeddings token type", "embeddings projection"}
    assert names <= set(texts(axes))
    assert len(texts(axes)) == 1 + 13  # and the subtitle
    assert readable(drawn)


def test_tensors_of_many_layers_share_a_name(matplotlib, tmp_path):
    lamb = [name for name, shape in shapes(PRESETS["mini"].replace(sharing="none")).items() if len(shape) == 2]
    drawn = plots.training.training_curves([read_curves(ring(tmp_path / "lamb", steps=600, lamb=lamb))])
    assert texts(drawn.axes[-1]).count("attention query × 4") == 1
    assert len(texts(drawn.axes[-1])) == 1 + 13
    assert readable(drawn)


def test_runs_are_told_apart_by_name_and_colour(matplotlib, tmp_path):
    runs = [read_curves(ring(tmp_path / name, seed=i)) for i, name in enumerate(["one", "two", "a-third-with-a-name"])]
    drawn = plots.training.training_curves(runs)
    loss, order = drawn.axes[:2]
    assert "on held-out text; light: in training; large: left the plateau" in texts(loss)
    assert "of pairs in order or swapped; large: order learnt" in texts(order)
    for axes, value in ((loss, "1.11"), (order, "92%")):
        names = {text.get_text(): text.get_color() for text in axes.texts if value in text.get_text()}
        assert set(names) == {f"one {value}", f"two {value}", f"…-with-a-name {value}"}
        assert len(set(names.values())) == 3
    assert readable(drawn)


def tuned(run, accuracies):
    """A fine-tuning, tested every 10 steps."""
    lines = [{"kind": "start", "step": 0, "parameters": 97000, "batch": 32, "guessing_accuracy": 0.55}]
    for step, accuracy in zip(range(0, 10 * len(accuracies), 10), accuracies, strict=True):
        if step:
            lines.append({"kind": "train", "step": step, "loss": 1 - accuracy, "rate": 1e-5, "gradient_norm": 2.0})
        lines.append({"kind": "eval", "step": step, "position": step, "accuracy": accuracy, "same_answer": 0.7})
    return write(run, lines)


def test_a_fine_tuning_is_drawn_with_its_score_and_best_step(matplotlib, tmp_path):
    curves = read_curves(tuned(tmp_path / "sst2", [0.95, 0.6, 0.8, 0.7]))
    assert curves.own_scores == ["accuracy", "same_answer"]
    assert summary(curves) == "sst2: 30 steps, accuracy 0.700 in the last test"
    drawn = plots.training.training_curves([curves])
    panels = {axes.get_title(loc="left"): axes for axes in drawn.axes}
    assert set(panels) == {"loss", "accuracy", "learning rate", "gradient norm"}
    texts = [text.get_text() for text in panels["accuracy"].texts]
    assert "guessing 0.550" in texts
    dots = [each for each in panels["accuracy"].lines if each.get_marker() == "o"]
    assert len(dots) == 2
    assert not any(each.get_clip_on() for each in dots)
    assert "0.700" in texts
    points = [[*map(float, each.get_xydata()[0])] for each in panels["accuracy"].lines if len(each.get_xdata()) == 1]
    assert [20, 0.8] in points
    twice = plots.training.training_curves([curves, curves])
    (panel,) = [axes for axes in twice.axes if axes.get_title(loc="left") == "accuracy"]
    (guess,) = [text for text in panel.texts if text.get_text() == "guessing 0.550"]
    assert guess.xy[0] > 1
    both = plots.training.training_curves([curves, read_curves(ring(tmp_path / "ring"))])
    assert {"accuracy", "MLM loss"} <= {axes.get_title(loc="left") for axes in both.axes}


def test_what_was_not_measured_has_no_panel(matplotlib, tmp_path):
    drawn = plots.training.training_curves([read_curves(ring(tmp_path / "mlm", order=False))])
    assert titles(drawn) == ["MLM loss", "MLM accuracy", "learning rate", "gradient norm"]
    begun = [LINES[0], LINES[1]]
    drawn = plots.training.training_curves([read_curves(write(tmp_path / "begun", begun))])
    assert titles(drawn) == ["MLM loss", "SOP accuracy", "MLM accuracy"]
    assert readable(drawn)
    with pytest.raises(InputError, match="empty: nothing was measured yet"):
        plots.training.training_curves([read_curves(write(tmp_path / "empty", LINES[:1]))])


def test_more_runs_than_can_be_told_apart_are_refused(matplotlib, tmp_path):
    run = read_curves(write(tmp_path, LINES))
    assert plots.training.training_curves([run] * 10)
    with pytest.raises(InputError, match="11 runs were given; from 1 to 10"):
        plots.training.training_curves([run] * 11)


def test_ink_and_lines_can_be_read_on_white_and_on_black():
    for colour in [colour for _, colour in plots.training.STYLES]:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
        luminance = np.dot(light, (0.2126, 0.7152, 0.0722))
        assert 1.05 / (luminance + 0.05) > 3.3
        assert (luminance + 0.05) / 0.05 > 3.3


# The command


def test_one_runs_picture_lies_in_the_run(matplotlib, tmp_path, capsys):
    assert run(ring(tmp_path / "ring", steps=600)) == 0
    out = tmp_path / "ring" / "curves.png"
    assert out.stat().st_size > 10_000
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("ring: 600 steps, MLM loss")
    assert said[1:] == [f"curves in {out}"]


def test_several_runs_picture_lies_here(matplotlib, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [ring(tmp_path / place / "ring", steps=600) for place in "ab"]
    assert run(*runs, "--json") == 0
    assert (tmp_path / "curves.png").exists()
    found = json.loads(capsys.readouterr().out)
    assert found["out"] == "curves.png"
    assert [entry["run"] for entry in found["runs"]] == [str(path) for path in runs]  # "ring" would be both
    assert found["runs"][0]["step"] == 600
    assert found["runs"][0]["sop_recall_swapped"] is None
    assert found["runs"][0]["events"][0]["event"] == "left the plateau"
    assert run(runs[0], "--out", "other.svg") == 0
    assert (tmp_path / "other.svg").exists()


def test_a_directory_of_several_runs(matplotlib, tmp_path, capsys):
    runs = [ring(tmp_path / f"seed-{seed}", steps=600) for seed in range(5)]
    for each in runs:
        (each / "config.toml").touch()
    (tmp_path / "sweep.jsonl").touch()
    assert run(tmp_path) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said[:-1]] == [each.name for each in runs]
    assert said[-1] == f"curves in {tmp_path / 'curves.png'}"
    assert run(*tmp_path.iterdir(), "--out", tmp_path / "all.svg") == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    for function in (read_curves, model_directory):
        with pytest.raises(TrainError) as error:
            function(tmp_path)
        names = ", ".join(map(str, runs[:3]))
        assert str(error.value) == f"{tmp_path} is a directory of several runs; name one of them: {names} and 2 more"
