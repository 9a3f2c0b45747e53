"""One file of settings, each of which the command line can change; what is wrong is named."""

import argparse
import dataclasses
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

from minalbert import train
from minalbert.commands.options import add_settings_arguments, settings_of
from minalbert.config import PRESETS
from minalbert.errors import ConfigError, DataError
from minalbert.optim import sqrt_rule
from minalbert.train import run_directory
from minalbert.train.settings import Settings


def options(*words):
    parser = argparse.ArgumentParser()
    add_settings_arguments(parser)
    return parser.parse_args(words)


def test_toml_says_every_setting_and_is_read_back():
    settings = Settings().change(preset="mini", rate=3e-4, steps=7, max_ngram=2, held_out='a "quoted" \x7f 😀 name\\')
    tables = tomllib.loads(settings.toml())
    for section, cls in Settings.SECTIONS.items():
        missing = {item.name for item in dataclasses.fields(cls)} - tables[section].keys()
        assert missing <= {"embedding_projection"}  # None: as the sizes say
    assert Settings.from_tables(tables).tables() == settings.tables()


def test_a_name_belongs_to_one_section():
    names = Counter(item.name for cls in Settings.SECTIONS.values() for item in dataclasses.fields(cls))
    assert set(names.values()) == {1}


def test_every_setting_is_an_option_and_goes_before_the_file(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('[model]\npreset = "mini"\n[training]\nsteps = 5\nbatch = 128\n')
    settings = settings_of(options("--config", str(path), "--steps", "6", "--hidden-size", "96", "--no-favor-shorter"))
    assert settings.training.steps == 6
    assert settings.training.batch == 128
    assert settings.model == PRESETS["mini"].replace(hidden_size=96)
    assert not settings.recipe.favor_shorter
    typed = vars(options())
    for cls in Settings.SECTIONS.values():
        for item in dataclasses.fields(cls):
            assert item.name in typed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[training]\nstep = 5", r"\[training\] has no setting 'step'; it has steps, batch"),
        ("[training]\nrate = 0.1", r"no setting 'rate'; it belongs into \[optimiser\]"),
        ("[trainin]\nsteps = 5", "there is no section 'trainin'; the sections are model, data"),
        ("steps = 5", "there is no section 'steps'"),
        ("[training]\nsteps = 5.0", "steps is 5.0; it must be a whole number"),
        ("[training]\nsteps = true", "steps is True; it must be a whole number"),
        ("[optimiser]\nrate = -1", "rate is -1.0; it must be from 1e-12 to 100.0"),
        ("[optimiser]\nrate = nan", "rate is nan; it must be from 1e-12 to 100.0"),
        ("[optimiser]\nrate = 1e6", "rate is 1000000.0; it must be from 1e-12 to 100.0"),
        ("[optimiser]\nepsilon = 0", "epsilon is 0.0; it must be from 1e-30 to 1.0"),
        ("[optimiser]\nweight_decay = 1e30", r"weight_decay is 1e\+30; it must be from 0.0 to 100.0"),
        ("[model]\ninitializer_range = 0", "initializer_range is 0; it must be a number from 1e-09 to 10"),
        ("[model]\ninitializer_range = 1e30", r"initializer_range is 1e\+30; it must be a number from 1e-09 to 10"),
        ("[model]\nlayer_norm_eps = 1e30", r"layer_norm_eps is 1e\+30; it must be a number from 0 to 1"),
        ("[optimiser]\noptimiser = 'sgd'", "optimiser is 'sgd'; it must be one of: adamw, lamb"),
        ("[training]\nbatch = 96", "batch 96 is 3 times micro_batch 32; it must be 1, 2, 4, 8"),
        ("[training]\nbatch = 16", "batch 16 is 0.5 times micro_batch 32"),
        ("[recipe]\nmax_length = 65", "max_length is 65; the model has positions for 64"),
        ("[recipe]\npairs = 'x'", "pairs is 'x'; it must be one of"),
        ("[model]\npreset = 'huge'", "preset is 'huge'; it must be one of"),
        ("[model]\nhidden_size = 65", "hidden_size 65 cannot be split evenly"),
        ("[watch]\npass_over = '7'", "pass_over has '7'; it must be batches from:to"),
        ("[schedule]\nwarmup = 90\n[training]\nsteps = 50", "warmup is 90; it must be at most the 50 steps"),
        ("not toml", "is not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path, text, said):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises((ConfigError, DataError), match=said) as error:
        Settings.read(path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("[recipe]\nmax_length = 128", ["--preset", "mini"], {"max_length": 128, "hidden_size": 128}),
        ("[training]\nbatch = 48", ["--micro-batch", "48"], {"batch": 48, "micro_batch": 48}),
        ("[model]\nhidden_dropout_prob = 0.2", ["--preset", "mini"], {"hidden_dropout_prob": 0.2, "hidden_size": 128}),
        ("[model]\npreset = 'tiny'\nsharing = 'none'", ["--preset", "mini"], {"sharing": "none", "hidden_size": 128}),
        ("[schedule]\nwarmup = 90\n[training]\nsteps = 50", ["--steps", "100"], {"warmup": 90}),
        ("[training]\nrecompute = 4", ["--num-hidden-layers", "4"], {"recompute": 4}),
    ],
)
def test_a_file_is_judged_with_its_options(tmp_path, text, words, found):
    path = tmp_path / "my.toml"
    path.write_text(text)
    settings = settings_of(options("--config", str(path), *words))
    values = {name: value for table in settings.tables().values() for name, value in table.items()}
    assert {name: values[name] for name in found} == found


def test_what_does_not_fit_when_complete_is_named_with_the_file(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("[training]\nbatch = 48")
    with pytest.raises(ConfigError, match=r"my\.toml, with the options given: batch 48 is 6 times micro_batch 8"):
        settings_of(options("--config", str(path), "--micro-batch", "8"))


def test_a_file_of_a_whole_model_and_a_preset_must_agree(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(Settings().change(preset="mini", hidden_dropout_prob=0.1).toml())
    with pytest.raises(ConfigError, match=r"preset 'tiny' has embedding_size 32, and \[model\], .* 64; leave out one"):
        settings_of(options("--config", str(path), "--preset", "tiny"))
    with pytest.raises(ConfigError, match=r"preset 'mini' has hidden_dropout_prob 0.0, and \[model\], .* 0.1"):
        settings_of(options("--config", str(path), "--preset", "mini"))


def test_a_run_and_a_preset(tmp_path):
    """The command that began a run resumes it, and another preset is refused."""
    run_directory.keep(tmp_path, "5eed", settings_of(options("--preset", "mini")), Words())
    assert settings_of(options("--preset", "mini"), tmp_path).model == PRESETS["mini"]
    (tmp_path / "step-00000000").mkdir()
    with pytest.raises(ConfigError, match=r"vocab_size is 30000; .* was begun with 8192"):
        run_directory.changes(tmp_path, settings_of(options("--preset", "albert-base-v2"), tmp_path))
    with pytest.raises(ConfigError, match=r"config\.toml, with the options given: max_length is 128; the model has"):
        settings_of(options("--preset", "tiny"), tmp_path)


def test_rates_that_are_not_said_are_the_optimisers_own():
    assert Settings().peak_rate == 0.001
    assert Settings().optimiser.bias_correction
    lamb = Settings().change(optimiser="lamb", batch=1024)
    assert lamb.peak_rate == sqrt_rule(1024)
    assert not lamb.optimiser.bias_correction
    assert lamb.change(rate=0.5).peak_rate == 0.5


def test_instances_fit_the_model_unless_told_otherwise():
    assert Settings(preset="tiny").recipe.max_length == 64
    assert Settings(preset="albert-base-v2").recipe.max_length == 128
    assert Settings(preset="albert-base-v2").change(policy="released").recipe.max_length == 512


class Words:
    """As much of a tokenizer as a run directory asks for."""

    file_name = "tokenizer.json"

    def save(self, path):
        path.write_text("words")


def test_a_run_keeps_its_settings_and_says_what_changed(tmp_path):
    settings = Settings().change(steps=10)
    assert run_directory.changes(tmp_path, settings) == []
    run_directory.keep(tmp_path, "5eed", settings, Words())
    assert run_directory.kept_settings(tmp_path).tables() == settings.tables()
    (tmp_path / "step-00000004").mkdir()
    assert run_directory.changes(tmp_path, settings) == []
    (said,) = run_directory.changes(tmp_path, settings.change(steps=20, warmup=0))
    assert said == "steps is now 20, no longer 10"


@pytest.mark.parametrize(
    "change", [{"batch": 32}, {"seed": 1}, {"hidden_size": 128}, {"max_ngram": 1}, {"optimiser": "lamb"}]
)
def test_what_weights_depend_on_cannot_change(tmp_path, change):
    run_directory.keep(tmp_path, "5eed", Settings(), Words())
    assert run_directory.changes(tmp_path, Settings().change(**change)) == []  # before the first checkpoint all may
    (tmp_path / "step-00000000").mkdir()
    with pytest.raises(ConfigError, match="name another directory for a new run"):
        run_directory.changes(tmp_path, Settings().change(**change))


def test_kernels_are_plain_if_none_are_given_but_fused_where_they_are_needed():
    assert Settings().training.compute == {"kernels": "plain", "precision": "full"}
    assert Settings().change(precision="bf16").training.compute == {"kernels": "fused", "precision": "bf16"}
    assert Settings().change(code="mine.py").training.kernels == "plain"
    assert Settings().change(device="cuda").training.kernels == "fused"
    assert Settings().change(device="cuda", dtype="float64").training.kernels == "plain"
    assert Settings().change(kernels="plain").training.kernels == "plain"
    with pytest.raises(ConfigError, match="kernels is 'numpy'; it must be one of: plain, fused, compiled"):
        Settings().change(kernels="numpy")


def test_recompute_is_a_number_of_layers_and_may_stand_without_one():
    typed = {(): 0, ("--recompute",): 1, ("--recompute", "2"): 2, ("--recompute=0",): 0}
    for words, layers in typed.items():
        assert settings_of(options(*words)).training.recompute == layers
    for written, layers in ((False, 0), (True, 1), (3, 3)):
        assert Settings.from_tables({"training": {"recompute": written}}).training.recompute == layers
    with pytest.raises(ConfigError, match="recompute is 4; it must be from 0 to the 3 layers of the model"):
        Settings().change(recompute=4)


def test_the_file_of_an_earlier_version_is_read():
    assert Settings.from_tables({"training": {"kernels": "numpy"}}).training.kernels == "fused"
    assert Settings.from_tables({"training": {"kernels": "numpy", "code": "mine.py"}}).training.kernels == "plain"


def test_sections_are_made_once():
    settings = Settings()
    assert all(getattr(settings, name) is getattr(settings, name) for name in Settings.SECTIONS)


def test_all_of_training_that_is_public_is_reached_from_its_room_and_brings_nothing_heavy():
    script = (
        "import sys\nfrom minalbert import train\n"
        "print(*[callable(getattr(train, name)) for name in train.__all__])\n"
        "print(*sorted({'matplotlib', 'tqdm', 'sentencepiece', 'numba', 'cupy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    answers, heavy = done.stdout.split("\n")[:2]
    assert set(answers.split()) == {"True"}
    assert heavy == ""
    assert train.pretrain.__module__ == "minalbert.train.pretraining"
    with pytest.raises(AttributeError, match="has no attribute 'pretend'"):
        _ = train.pretend
