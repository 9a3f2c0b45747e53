"""`minalbert fill`: the text is read kindly, the guesses are the model's, and the pictures show them."""

import argparse
import json
import re

import numpy as np
import pytest

from minalbert import PRESETS, Albert, plots
from minalbert.commands import fill as fill_command
from minalbert.commands.fill import lines
from minalbert.commands.printing import ASCII
from minalbert.data.tokenizer import SPECIALS, Tokenizer
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DamagedError, FileError, InputError, MinalbertError, TrainError
from minalbert.optim import Moments
from minalbert.train import checkpoint
from minalbert.train.filling import Filled, Guess, chosen, encoded, fill
from minalbert.train.trained import open_trained

WORDS = ["ada", "kneaded", "the", "dough", "on", "a", "board", "she", "ate", "it", "."]
ESCAPE = re.compile(r"\033\[[0-9;]*m")


class Pieces(Tokenizer):
    """As sentencepiece does: ▁ before each word, and before all it is given; else a letter is a piece."""

    pieces = (*SPECIALS, "▁", "▁the", *"abcdefghinst.")
    vocab_size = len(pieces)
    word_starts = np.array([i < 5 or piece[0] == "▁" for i, piece in enumerate(pieces)])

    def encode_many(self, texts):
        return [
            [self.pieces.index(piece) for word in text.split() for piece in self.word("▁" + word)] for text in texts
        ]

    def word(self, word):
        return [word] if word in self.pieces else list(word)


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer(WORDS)


@pytest.fixture(scope="module")
def model(tokenizer):
    return Albert.init(PRESETS["tiny"].replace(vocab_size=tokenizer.vocab_size, max_position_embeddings=13))


@pytest.fixture(scope="module")
def trained(tmp_path_factory, model, tokenizer):
    run = tmp_path_factory.mktemp("runs") / "first"
    for step in (5, 40):
        Albert.init(model.config, seed=step).save_pretrained(run / f"step-{step:08d}")
    model.save_pretrained(run / "step-00000100")
    tokenizer.save(run / "tokenizer.json")
    return run


def read(tokenizer, *texts):
    ids, segments, notes = encoded(tokenizer, texts)
    return " ".join(tokenizer.pieces[i] for i in ids), segments, notes


def run(*argv):
    parser = argparse.ArgumentParser()
    fill_command.add_arguments(parser)
    return fill_command.run(parser.parse_args([str(word) for word in argv]))


# The text


def test_one_text_and_two(tokenizer):
    assert read(tokenizer, "ada ate .") == ("[CLS] ada ate . [SEP]", [0] * 5, [])
    both = read(tokenizer, "ada ate .", "she [MASK] it .")
    assert both == ("[CLS] ada ate . [SEP] she [MASK] it . [SEP]", [0] * 5 + [1] * 5, [])


def test_words_are_read_kindly(tokenizer):
    text, _, notes = read(tokenizer, "Ada kneaded the [mask], the Baker's dough.")
    assert text == "[CLS] ada kneaded the [MASK] <unk> the <unk> dough . [SEP]"
    assert notes == ["not among the model's 16 words, and read as <unk>: ,, baker's"]


def test_a_full_stop_is_added_and_said(tokenizer):
    text, _, notes = read(tokenizer, "she ate the[MASK]")
    assert text == "[CLS] she ate the [MASK] . [SEP]"
    assert notes == ["a full stop was added, as each sentence of its training had one"]
    assert read(WordTokenizer(["she"]), "she") == ("[CLS] she [SEP]", [0] * 3, [])


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("the [MASK] the", "▁the [MASK] ▁the"),
        ("the [MASK].", "▁the [MASK] ."),
        ("the [MASK]the", "▁the [MASK] ▁the"),
        ("the [MASK] .", "▁the [MASK] ▁ ."),
        ("be[MASK][MASK]", "▁ b e [MASK] [MASK]"),
        ("[MASK]", "[MASK]"),
    ],
)
def test_a_sign_after_a_mask_is_read_as_in_a_text(text, pieces):
    assert read(Pieces(), text) == (f"[CLS] {pieces} [SEP]", [0] * (len(pieces.split()) + 2), [])


# The guesses


def test_guesses_and_attention_are_the_models(model, tokenizer):
    filled = fill(model, tokenizer, "ada [MASK] the dough .", "she ate the [MASK] .", top=3)
    ids = [2, 5, 4, 7, 8, 15, 3, 12, 13, 7, 4, 15, 3]
    assert filled.masks == [2, 10]
    segments = [0] * 7 + [1] * 6
    scores = model.mlm_logits(model.encode([ids], None, [segments])[0])[0].astype(np.float64)
    for place, guesses in zip(filled.masks, filled.guesses, strict=True):
        chances = np.exp(scores[place]) / np.exp(scores[place]).sum()
        order = chances.argsort()[::-1][:3]
        assert [guess.piece for guess in guesses] == [tokenizer.pieces[i] for i in order]
        assert [guess.probability for guess in guesses] == pytest.approx(chances[order], rel=1e-4)
    maps = np.stack(model.attention_maps([ids], None, [segments]))[:, 0]
    assert (filled.attention == maps[:, :, filled.masks].transpose(2, 0, 1, 3)).all()


@pytest.fixture(scope="module")
def wide_model():
    return Albert.init(PRESETS["tiny"].replace(vocab_size=64, max_position_embeddings=12), seed=3)


def test_a_guess_is_always_a_piece(wide_model, tokenizer):
    """A run may have given its model more words than its corpus has."""
    filled = fill(wide_model, tokenizer, "[MASK]", top=tokenizer.vocab_size)
    assert sorted(guess.piece for guess in filled.guesses[0]) == sorted(tokenizer.pieces)


@pytest.mark.parametrize(
    ("texts", "top", "words"),
    [
        (["ada ate ."], 5, r'has no \[MASK\]; write it .* in quotes: minalbert fill "'),
        (["[MASK] ." * 6], 5, "14 tokens long, with .* at most 13"),
        (["[MASK]"], 0, "top is 0; it must be a whole number, from 1 to 16"),
        (["[MASK]"], 17, "top is 17"),
    ],
)
def test_what_cannot_be_filled_is_one_sentence(model, tokenizer, texts, top, words):
    with pytest.raises(InputError, match=words) as error:
        fill(model, tokenizer, *texts, top=top)
    assert "\n" not in str(error.value)


def test_a_model_without_a_head_for_words_is_refused(model, tokenizer):
    trunk = Albert.init(model.config, heads=("pooler", "sop"))
    with pytest.raises(InputError, match="no mlm head"):
        fill(trunk, tokenizer, "[MASK]")


# Models


def test_a_run_gives_its_newest_checkpoint(trained, model, tokenizer):
    found = open_trained(trained)
    assert found.directory == trained / "step-00000100"
    assert (found.model.params.flat == model.params.flat).all()
    assert found.tokenizer.digest == tokenizer.digest


def test_a_checkpoint_has_the_tokenizer_of_its_run(trained, tokenizer, monkeypatch):
    found = open_trained(trained / "step-00000040")
    assert found.directory == trained / "step-00000040"
    assert found.tokenizer.digest == tokenizer.digest
    monkeypatch.chdir(trained / "step-00000040")
    assert open_trained(".").tokenizer.digest == tokenizer.digest


def test_a_directory_of_its_own_and_a_named_tokenizer(tmp_path, model, tokenizer, trained):
    model.save_pretrained(tmp_path)
    found = open_trained(tmp_path, trained / "tokenizer.json")
    assert (found.directory, found.tokenizer.digest) == (tmp_path, tokenizer.digest)
    tokenizer.save(tmp_path / "tokenizer.json")
    assert open_trained(tmp_path).tokenizer.digest == tokenizer.digest


def test_half_precision_is_widened(tmp_path, model, trained):
    Albert(model.config, model.params.astype("float16")).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="is in float16; it is read as float32"):
        assert open_trained(tmp_path, trained / "tokenizer.json").model.params.dtype == "float32"


def test_a_runs_model_may_know_more_words_than_its_corpus(tmp_path, wide_model, tokenizer):
    wide_model.save_pretrained(tmp_path / "step-00000001")
    tokenizer.save(tmp_path / "tokenizer.json")
    assert open_trained(tmp_path).model.config.vocab_size == 64
    with pytest.raises(TrainError, match=r"16 pieces and the model 64: they do not belong"):
        open_trained(tmp_path, tmp_path / "tokenizer.json")


def test_a_damaged_checkpoint_is_named(tmp_path, model, tokenizer):
    tokenizer.save(tmp_path / "tokenizer.json")
    state = checkpoint.SavedState(7, 7, model.params, Moments.zeros(model.params), {})
    path = checkpoint.save(tmp_path, model.config, state, {})
    assert (open_trained(tmp_path).model.params.flat == model.params.flat).all()
    weights = path / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DamagedError, match=r"step-00000007.*model\.safetensors"):
        open_trained(tmp_path)


def test_what_is_no_model_is_one_sentence(tmp_path, model, trained):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").touch()
    (tmp_path / "empty").mkdir()
    model.save_pretrained(tmp_path / "bare")
    WordTokenizer(["x", *WORDS]).save(tmp_path / "larger.json")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    (tmp_path / "broken" / "tokenizer.json").touch()
    for name, lost in (("shapeless", "config.json"), ("weightless", "model.safetensors")):
        model.save_pretrained(tmp_path / name, WordTokenizer(WORDS))
        (tmp_path / name / lost).unlink()
    (tmp_path / "twice.json").write_text('{"format": "minalbert word list 1", "words": ["a", "a"]}')
    (tmp_path / "cut.json").write_text('{"format": "minalbert word')
    for path, file, words in [
        ("nothing", None, "nothing is not a directory; it must be a run"),
        ("run", None, "run has no checkpoint yet"),
        ("empty", None, "empty holds neither a run nor a model"),
        ("bare", None, r"bare has no tokenizer \(spiece.model, .*--tokenizer"),
        ("bare", "larger.json", "larger.json has 17 pieces and the model 16"),
        ("broken", None, "config.json"),
        ("shapeless", None, r"config.json is missing; restore it from a copy"),
        ("weightless", None, r"holds neither model.safetensors nor .*; restore it from a copy"),
        ("bare", "twice.json", r"twice.json: 'a' is twice in .*; put the right one there, or name it"),
        ("bare", "cut.json", r"cut.json is not JSON .*; put the right one there, or name it"),
    ]:
        with pytest.raises(MinalbertError, match=words) as error:
            open_trained(tmp_path / path, file and tmp_path / file)
        assert "\n" not in str(error.value)
    with pytest.raises(FileError, match=r"none\.json is missing"):
        open_trained(trained, tmp_path / "none.json")


# The screen


def small(masks=(2,)):
    tokens = ["[CLS]", "un", "[MASK]", "ing", "dough", "[SEP]"]
    attention = np.zeros((len(masks), 2, 2, 6))
    attention[:, 0, :] = [[0.02, 0.48, 0.0, 0.5, 0.0, 0.0], [0.02, 0.38, 0.1, 0.5, 0.0, 0.0]]
    attention[:, 1, :] = [0.05, 0.06, 0.0, 0.19, 0.2, 0.5]
    guesses = [Guess("dough", 0.625), Guess("·a", 0.0104)]
    return Filled(tokens, [False] * 3 + [True, False, False], [0] * 6, list(masks), [guesses] * len(masks), attention,
                  ["a note"])  # fmt: skip


SHOWN = """\
[CLS] un [MASK]·ing dough [SEP]
(a note)

[MASK] may be
  dough   62.5%  ██████████████████▊
  ·a       1.0%  ▎

  and looks at          [CLS] un [MASK]·ing dough [SEP]
  layer 1   ing 50%           ██ ░░░░░░ ███
  layer 2   [SEP] 50%   ░░░░░ ░░        ▒▒▒ ▓▓▓▓▓ █████

░ 5%  ▒ 10%  ▓ 20%  █ 40% and more of its attention, a mean over 2 heads
"""


def test_the_screen_as_it_looks():
    assert list(lines(small(), 80)) == SHOWN.splitlines()


def test_the_screen_in_plain_letters():
    text = "\n".join(lines(small(), 30)).translate(ASCII)
    assert text.isascii()
    assert "######" in text
    assert "?" not in text


def test_several_masks_are_told_apart():
    text = "\n".join(lines(small((1, 2)), 80))
    assert '[MASK] 1 of 2, in "[CLS] un [MASK] ing", may be' in text
    assert '[MASK] 2 of 2, in "[CLS] un [MASK] ing dough", may be' in text


@pytest.mark.parametrize("width", [40, 44, 52, 80])
def test_colours_change_nothing_and_rows_fit(width):
    plain = list(lines(small(), width))
    coloured = list(lines(small(), width, colour=True))
    assert [ESCAPE.sub("", line).rstrip() for line in coloured] == plain
    assert sum(bool(ESCAPE.search(line)) for line in coloured) >= 5
    assert max(map(len, plain[:-1])) <= width
    (head,) = (line for line in plain if line.startswith("  and looks at"))
    assert "[MASK]" in head
    assert ("…" in head) == (width < 56)


def test_the_tokens_looked_at_most_are_shown():
    rng = np.random.default_rng(0)
    for _ in range(200):
        widths = rng.integers(1, 9, rng.integers(1, 20))
        weights, room = rng.random(len(widths)), int(rng.integers(0, 100))
        places = chosen(weights, widths.tolist(), room)
        assert places == sorted(set(places))
        assert sum(widths[place] + 1 for place in places) <= room
        if sum(widths + 1) + 2 * len(widths) <= room:
            assert places == list(range(len(widths)))
        elif places:
            assert weights.argmax() in places or widths[weights.argmax()] + 5 > room


# The command


def test_the_command_prints_the_screen(capsys, trained, model, tokenizer):
    assert run("Ada ate [MASK]", "--model", trained, "--top", 2) == 0
    text = capsys.readouterr().out
    assert text.rstrip("\n").splitlines() == list(lines(fill(model, tokenizer, "Ada ate [MASK]", top=2)))
    assert "\033" not in text


def test_json_is_the_same_in_numbers(capsys, trained, model, tokenizer):
    assert run("ada [MASK] .", "she ate [MASK] .", "--model", trained, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    filled = fill(model, tokenizer, "ada [MASK] .", "she ate [MASK] .")
    assert found["tokens"] == filled.tokens
    assert found["model"].endswith("step-00000100")
    for mask, place, guesses, attention in zip(
        found["masks"], filled.masks, filled.guesses, filled.attention, strict=True
    ):
        assert mask["place"] == place
        assert [Guess(**guess) for guess in mask["guesses"]] == guesses
        assert np.array_equal(mask["attention"], attention)


def test_a_text_without_quotes_is_one_sentence(trained):
    with pytest.raises(InputError, match=r"5 texts were given.* quotes"):
        run("the", "baker", "[MASK]", "the", "dough", "--model", trained)


# The figure


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")


def test_the_figure_has_each_token_and_each_heads_share(matplotlib):
    from test_plots import inside

    filled = small((1, 2))
    drawn = plots.attention.attention_strip(filled)
    assert inside(drawn)
    (axes,) = drawn.axes
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("dough") == texts.count("layer 2") == 2
    assert any(text.startswith("[MASK] 2 of 2") and text.endswith("dough 62%, ·a 1%") for text in texts)
    maps = [mesh.get_array() for mesh in axes.collections][:-1]  # the last one is the scale
    assert len(maps) == 2 * 2
    for number in range(2):
        for layer in range(2):
            shares = maps[2 * number + layer][:, ::2]
            np.testing.assert_array_equal(shares, filled.attention[number, layer])


def test_the_figure_is_saved(matplotlib, trained, tmp_path, capsys):
    assert run("ada [MASK] .", "--model", trained, "--plot", tmp_path / "attention.png") == 0
    assert (tmp_path / "attention.png").stat().st_size > 3000
    assert "may be" in capsys.readouterr().out
    with pytest.raises(FileError, match="could not be written"):
        plots.save(plots.attention.attention_strip(small()), tmp_path / "no" / "such.png")
