"""Text becomes numbers: ALBERT's clean-up, its vocabulary, its rule for commas, and our list of words."""

import argparse
import io
import json
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_vocabulary import with_pieces

from minalbert.commands import main
from minalbert.commands import tokenizer as tokenizer_command
from minalbert.data.normalise import Normaliser
from minalbert.data.sentencepiece_tokenizer import SentencePieceTokenizer, is_start
from minalbert.data.sentencepiece_training import SETTINGS, take_sample, train
from minalbert.data.tokenizer import CLS, MASK, PAD, SEP, SPECIALS, UNK
from minalbert.data.tokenizers import load_tokenizer
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DamagedError, DataError, FileError, MinalbertError, MissingFileError

sentencepiece = pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install 'minalbert[train]')")


def english(count, seed=0):
    """Sentences of made-up English, with names, accents, numbers and signs."""
    draw = random.Random(seed)
    stems = "walk talk paint form light know turn play sail read lead call warm cold hand wind moon north".split()
    endings = ["", "s", "ed", "ing", "er", "ers", "able", "ly", "ness"]
    sentences = []
    for _ in range(count):
        words = [
            draw.choice(["un", "re", "", "", ""]) + draw.choice(stems) + draw.choice(endings)
            for _ in range(draw.randint(3, 9))
        ]
        words.insert(1, draw.choice(["the", "of", "and", "Anna’s", "Zoë", "(or)", "it's"]))
        if draw.random() < 0.4:
            words.append(f"in {draw.randint(1, 30)},000, {draw.choice('£$')}{draw.randint(1, 99)}")
        sentences.append(" ".join(words).capitalize() + draw.choice(".!?") + draw.choice(["", " “Yes,” they wrote"]))
    return sentences


@pytest.fixture(scope="module")
def text():
    return english(1500)


@pytest.fixture(scope="module")
def trained(text):
    return train(text, 240)


@pytest.fixture(scope="module")
def toy():
    """The fact sheet's example: a vocabulary that has "▁20" and "00," but not "00"."""
    return lambda digit_commas: with_pieces(["▁in", "▁20", "00,", "0", ",", "▁he", "▁7", "7,", "▁7,"], digit_commas)


# --- the clean-up


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (" \t Hello\n  World\u3000! ", "hello world !"),
        ("Élan, naïve, ÅNGSTRÖM", "elan, naive, angstrom"),
        ("ﬁn ½ ™ ℡", "fin 1⁄2 tm tel"),
        ("İSTANBUL", "istanbul"),  # lower-casing first would leave a dot above for step 4, or two letters
        ("a\u0301\u0323b", "ab"),
        ("a´b", "a b"),  # NFKD makes a space here, after the spaces were tidied
        ("a ´b", "a  b"),
        ("“Quoted” — it’s", "“quoted” — it’s"),
        ("``Quoted''", "``quoted''"),
        ("ΟΔΟΣ ΟΔΟΣ", "οδος οδος"),
        ("a\x85b\x1cc\u2028d", "a b c d"),
        ("", ""),
        ("\n", ""),
    ],
)
def test_text_is_cleaned_in_the_released_order(before, after):
    assert Normaliser()(before) == after


def test_quotes_and_case_are_named_switches():
    assert Normaliser(quotes=True)("``Quoted''") == '"quoted"'
    assert Normaliser(quotes=True)("`` ' '") == "\" ' '"
    assert Normaliser(lower=False)("Élan ™") == "Elan TM"


def plainly(text):
    """The fact sheet's steps, one after the other."""
    text = unicodedata.normalize("NFKD", " ".join(text.strip().split()))
    return "".join(letter for letter in text if not unicodedata.combining(letter)).lower()


@given(st.lists(st.text() | st.text("a \n", max_size=4) | st.text("aB \n\t\x1cé\u0301İΣσ﷽ ´")))
def test_many_texts_are_cleaned_as_each_alone(texts):
    assert Normaliser().many(texts) == [plainly(text) for text in texts]


@pytest.mark.parametrize(
    "texts", [["a  b", "c"], ["a", " b"], ["a ", "b"], [" a"], ["a "], ["a\nb", "c"], ["", ""], []]
)
def test_each_kind_of_loose_white_space_is_seen(texts):
    assert Normaliser().many(texts) == [plainly(text) for text in texts]


def test_half_a_surrogate_pair_is_an_error(trained):
    with pytest.raises(DataError, match="half of a surrogate pair"):
        trained.encode("a\ud800b")


# --- training


def test_ids_are_those_of_the_released_models(trained):
    assert trained.pieces[:13] == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", *'()"-.–£€']
    assert dict(zip(SPECIALS, (PAD, UNK, CLS, SEP, MASK), strict=True)) == {
        p: i for i, p in enumerate(trained.pieces[:5])
    }
    assert trained.vocab_size == len(trained.pieces) == len(trained.word_starts) == 240
    assert not {"<s>", "</s>"} & set(trained.pieces)


def test_the_same_text_gives_the_same_file_in_another_process(tmp_path):
    """Also from a sample, which sentencepiece itself would draw anew in each process."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_tokenizer import english, train\n"
        "print(train(english(400), 100, sample=200).digest, train(english(400), 100, sample=200, seed=1).digest)"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    first, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    here = train(english(400), 100, sample=200)
    assert here.digest == first != second
    assert here.recipe["sampled"] == 200
    assert here.recipe["sentences"] == 400


def test_a_sample_is_uniform_and_no_larger_than_asked():
    counts = np.zeros(20)
    for seed in range(2000):
        chosen, seen = take_sample(map(str, range(20)), 5, seed)
        assert (len(set(chosen)), seen) == (5, 20)
        counts[[int(word) for word in chosen]] += 1
    assert abs(counts - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)
    assert take_sample(["a", "", "b"], 5, 0) == (["a", "b"], 2)


def test_a_generator_that_fails_is_heard():
    def failing():
        yield "one"
        raise DataError("a.txt:2: bad")

    with pytest.raises(DataError, match=r"a\.txt:2: bad"):
        train(failing(), 100)


@pytest.mark.parametrize(
    ("sentences", "settings", "complaint"),
    [
        (english(50), {"vocab_size": 100_000}, r"vocab_size is 100000; this text gives \d+ pieces at most"),
        (english(50), {"vocab_size": 20}, r"vocab_size is 20; the characters of this text alone need \d+ pieces"),
        (english(50), {"vocab_size": 5}, "vocab_size is 5; it must be a whole number, at least 14"),
        (english(50), {"vocab_size": 100, "threads": 0}, "threads is 0; it must be a whole number, from 1 to 1024"),
        (english(50), {"vocab_size": 100, "sample": 0}, "sample is 0; it must be a whole number, at least 1"),
        ([], {"vocab_size": 100}, "there is no text to train on"),
        (["", " \n"], {"vocab_size": 100}, "there is no text to train on"),
        (["a" * 5000], {"vocab_size": 100}, "there is no text to train on: no sentence of 1 to 4192 bytes"),
        (english(50), {"vocab_size": 100, "digit_commas": "on"}, "digit_commas is 'on'; it must be one of: intended"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(sentences, settings, complaint):
    with pytest.raises(DataError, match=complaint) as caught:
        train(sentences, **settings)
    assert "\n" not in str(caught.value)
    assert "INTERNAL" not in str(caught.value)


def test_the_largest_and_smallest_vocabularies_named_in_errors_are_possible():
    sentences = english(50)
    for wrong in (100_000, 20):
        with pytest.raises(DataError) as caught:
            train(sentences, wrong)
        right = int("".join(filter(str.isdigit, str(caught.value).split("; ")[1])))
        assert train(sentences, right).vocab_size == right


# --- encoding


def test_pieces_are_sentencepieces_own(trained, text):
    processor = sentencepiece.SentencePieceProcessor(model_proto=trained.model)
    plain = SentencePieceTokenizer(trained.model, digit_commas="off")
    texts = [*english(50, seed=1), "", "[MASK] ﬁn"]
    assert plain.encode_many(texts) == processor.encode([plainly(text) for text in texts])
    assert [plain.encode(text) for text in texts] == plain.encode_many(texts)
    assert plain.encode_many([]) == []


@given(st.lists(st.sampled_from([*SPECIALS, "▁[MASK]", "[cls]", "a", " ", "9,", "é"])).map("".join))
def test_control_symbols_in_a_text_are_letters(trained, typed):
    for tokenizer in (trained, WordTokenizer(["a", "é"])):
        assert not {PAD, CLS, SEP, MASK} & set(tokenizer.encode(typed))


@pytest.mark.parametrize(
    ("digit_commas", "pieces"),
    [("intended", "▁in ▁20 0 0 , ▁he"), ("python3", "▁in ▁20 ▁ 0 0 , ▁he"), ("off", "▁in ▁20 00, ▁he")],
)
def test_a_comma_after_a_digit_is_taken_off_as_in_the_fact_sheet(toy, digit_commas, pieces):
    tokenizer = toy(digit_commas)
    assert [tokenizer.pieces[i] for i in tokenizer.encode("in 2000, he")] == pieces.split()


def test_a_comma_after_a_digit_where_the_word_begins(toy):
    for digit_commas in ("intended", "python3"):
        tokenizer = toy(digit_commas)
        assert [tokenizer.pieces[i] for i in tokenizer.encode("7,")] == ["▁7", ","]


def test_digits_that_the_vocabulary_lacks_without_a_word_start_become_characters():
    tokenizer = with_pieces(["▁a", "▁20", "20,", "2", "0", ","])
    assert [tokenizer.pieces[i] for i in tokenizer.encode("a20,")] == ["▁a", "2", "0", ","]


def in_the_released_way(tokenizer, text):
    """The fact sheet's rule, on pieces, one text at a time."""
    processor, result = tokenizer._processor, []
    for piece in processor.encode(plainly(text), out_type=str):
        if len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit():
            parts = processor.encode(piece[:-1].replace("▁", ""), out_type=str)
            if piece[0] != "▁" and parts[0][0] == "▁":
                parts = parts[1:] if len(parts[0]) == 1 else [parts[0][1:], *parts[1:]]
            result += [*parts, ","]
        else:
            result.append(piece)
    return [processor.piece_to_id(piece) for piece in result]


def test_the_table_of_commas_is_the_released_rule(text):
    numbers = [f"{i},0{j}{i % 10}, and" for i in range(300) for j in range(10)]
    tokenizer = SentencePieceTokenizer(train([*text, *numbers], 300, digit_commas="off").model)
    assert any(tokenizer._splits)
    assert not train([*text, *numbers], 300).taken_apart  # such pieces are no longer learnt
    numbers = [f"{i:,}, and {j:,},{i}," for i in range(0, 90_000, 577) for j in (1000, 20_000)]
    for text in [*english(50, seed=2), *numbers]:
        ids = tokenizer.encode(text)
        assert ids == in_the_released_way(tokenizer, text) or UNK in in_the_released_way(tokenizer, text)
        assert not any(tokenizer.pieces[i][-2:-1].isdigit() and tokenizer.pieces[i].endswith(",") for i in ids)
        assert tokenizer.decode(ids) == Normaliser()(text)


@given(st.data())
def test_text_of_known_letters_comes_back(trained, data):
    letters = "abdefghiklmnoprstuwy019.,()£' "
    text = data.draw(st.text(letters) | st.lists(st.sampled_from(english(30))).map(" ".join))
    ids = trained.encode(text)
    if UNK not in ids:
        assert trained.decode(ids) == " ".join(Normaliser()(text).split())
    assert trained.decode([CLS, *ids, SEP, PAD]) == trained.decode(np.array(ids, np.uint16))


@pytest.mark.parametrize("wrong", [-1, 240])
def test_an_id_outside_the_vocabulary_is_an_error(trained, wrong):
    with pytest.raises(DataError, match=rf"id {wrong} is not in the vocabulary; it must lie in 0\.\.239"):
        trained.decode([5, wrong])


# --- where words begin


@pytest.mark.parametrize(
    "piece", ["▁the", "▁", "<x", "<", "a=", "a>b", ".", ",", "(", "9", "a9", "'", "'s", "n't", "é", "aé", "–", "£"]
)
def test_pieces_that_begin_a_word(piece):
    assert is_start(piece)


@pytest.mark.parametrize("piece", ["ing", "S", "x", "e.g", "..", "a,", "s)", "[UNK]"])
def test_pieces_that_do_not(piece):
    assert not is_start(piece)


def test_the_four_signs_that_the_rule_leaves_out_begin_a_word_as_strange_characters():
    assert all(map(is_start, "'<=>"))


def test_word_starts_are_one_mark_a_piece(trained):
    assert trained.word_starts.dtype == bool
    assert trained.word_starts[: len(SPECIALS)].all()
    assert [is_start(piece) for piece in trained.pieces[5:]] == trained.word_starts[5:].tolist()
    assert not trained.word_starts.all()


# --- files


def test_a_model_and_its_settings_come_back(text, tmp_path):
    tokenizer = train(text, 200, normaliser=Normaliser(lower=False, quotes=True), digit_commas="off")
    path = tmp_path / "new" / "spiece.model"
    tokenizer.save(path)
    loaded = load_tokenizer(path)
    assert (loaded.digest, loaded.pieces, loaded.recipe) == (tokenizer.digest, tokenizer.pieces, tokenizer.recipe)
    assert loaded.encode_many(text) == tokenizer.encode_many(text)
    assert sorted(file.name for file in path.parent.iterdir()) == ["spiece.model", "spiece.recipe.json"]
    assert {key: loaded.recipe[key] for key in SETTINGS} == SETTINGS
    assert (loaded.recipe["num_threads"], loaded.recipe["vocab_size"]) == (1, 200)


def test_a_released_model_has_no_recipe_and_gets_alberts_settings(trained, tmp_path):
    (tmp_path / "spiece.model").write_bytes(trained.model)
    loaded = load_tokenizer(tmp_path / "spiece.model")
    assert (loaded.normaliser, loaded.digit_commas, loaded.recipe) == (Normaliser(), "intended", None)
    assert loaded.digest == trained.digest


def test_everything_that_changes_ids_changes_the_digest(trained):
    model = trained.model
    digests = {
        SentencePieceTokenizer(model, normaliser, digit_commas).digest
        for normaliser in (Normaliser(), Normaliser(lower=False), Normaliser(quotes=True))
        for digit_commas in ("intended", "python3", "off")
    }
    assert len(digests) == 9
    assert SentencePieceTokenizer(model, recipe={"seed": 7}).digest in digests


def other_model(**settings):
    model = io.BytesIO()
    settings = {"vocab_size": 90, "minloglevel": 2, **settings}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(english(99)), model_writer=model, **settings)
    return model.getvalue()


ALBERT = {key: SETTINGS[key] for key in ("pad_id", "unk_id", "bos_id", "eos_id")}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (lambda: b"", r"spiece\.model is no sentencepiece model"),
        (lambda: b"abc" * 99, r"spiece\.model is no sentencepiece model"),
        (lambda: other_model()[:900], r"spiece\.model is no sentencepiece model"),
        (other_model, r"spiece\.model has '<unk>' at id 0, where ALBERT's models have '<pad>'"),
        (
            lambda: other_model(**ALBERT, user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"]),
            r"spiece\.model has '\[CLS\]' as a piece that a text can contain; it must be a control symbol",
        ),
    ],
)
def test_a_file_that_is_no_model_of_alberts_is_named(tmp_path, content, complaint):
    (tmp_path / "spiece.model").write_bytes(content())
    with pytest.raises(DataError, match=complaint):
        load_tokenizer(tmp_path / "spiece.model")


def test_a_missing_file_is_named(tmp_path):
    for name in ("spiece.model", "words.json"):
        with pytest.raises(MissingFileError, match=f"{name} is missing"):
            load_tokenizer(tmp_path / name)


def test_a_recipe_of_another_model_is_an_error(trained, text, tmp_path):
    trained.save(tmp_path / "spiece.model")
    (tmp_path / "spiece.model").write_bytes(train(text, 100).model)
    with pytest.raises(DataError, match=r"spiece\.recipe\.json belongs to another model"):
        load_tokenizer(tmp_path / "spiece.model")
    (tmp_path / "spiece.recipe.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"spiece\.recipe\.json is no recipe that minalbert wrote"):
        load_tokenizer(tmp_path / "spiece.model")
    (tmp_path / "spiece.recipe.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DamagedError, match=r"spiece\.recipe\.json is nested too deeply .*; remove it to use"):
        load_tokenizer(tmp_path / "spiece.model")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"lower": true', '"lower": false'),
        ('"intended"', '"off"'),
        ('"lower": true', '"lower": 1'),
        ('"seed": 0', '"seed": 1'),
    ],
)
def test_a_recipe_whose_settings_were_changed_is_an_error(trained, tmp_path, before, after):
    trained.save(tmp_path / "spiece.model")
    path = tmp_path / "spiece.recipe.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(
        DamagedError, match=r"spiece\.recipe\.json is damaged: its checksum is not that of .*; remove it"
    ):
        load_tokenizer(tmp_path / "spiece.model")
    recipe = json.loads(text)
    del recipe["sha256"]  # as version 0.1.0 wrote it
    path.write_text(json.dumps(recipe), encoding="utf-8")
    assert load_tokenizer(tmp_path / "spiece.model").digest == trained.digest


@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_a_disk_that_fills_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "words.json"
    WordTokenizer(["a"]).save(path)
    monkeypatch.setattr(step, full)
    with pytest.raises(FileError, match=r"words\.json could not be written \(No space left"):
        WordTokenizer(["b"]).save(path)
    assert load_tokenizer(path).pieces[5:] == ["a"]
    assert list(tmp_path.iterdir()) == [path]


def test_without_sentencepiece_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(DataError, match=r"pip install 'minalbert\[train\]'"):
        train(["a"], 100)


# --- words


words = st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), min_size=1, unique=True).map(
    lambda found: [word for word in found if word.split() == [word] and word not in SPECIALS] or ["a"]
)


@given(words, st.data())
def test_known_words_come_back_and_others_are_unknown(tmp_path_factory, words, data):
    path = tmp_path_factory.mktemp("words") / "words.json"
    tokenizer = WordTokenizer(words)
    tokenizer.save(path)
    loaded = load_tokenizer(path)
    text = data.draw(st.lists(st.sampled_from(words)))
    ids = loaded.encode(" ".join(text))
    assert loaded.decode(ids) == " ".join(text)
    assert ids == [5 + words.index(word) for word in text]
    assert loaded.encode(" ".join([*text, "".join(words) + "?"])) == [*ids, UNK]
    assert (loaded.digest, loaded.pieces) == (tokenizer.digest, [*SPECIALS, *words])
    assert loaded.word_starts.all()


def test_special_ids_of_words():
    tokenizer = WordTokenizer(["a", "b"])
    assert tokenizer.decode([CLS, 5, UNK, MASK, 6, SEP, PAD]) == "a <unk> b"
    assert tokenizer.digest != WordTokenizer(["b", "a"]).digest


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["a", "b", "a"], "'a' is twice in the vocabulary"),
        (["[MASK]"], r"'\[MASK\]' is twice in the vocabulary"),
        (["two words"], "'two words' is in the word list; a word must be"),
        ([""], "'' is in the word list"),
        ([5], "5 is in the word list"),
        (["a\ud800"], r"'a\\ud800' is in the word list"),
        ([], "the word list is empty"),
    ],
)
def test_bad_word_lists_are_errors(words, complaint):
    with pytest.raises(DataError, match=complaint):
        WordTokenizer(words)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not JSON"),
        ("[1]", "holds a list"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"words": []}', "is no word list"),
        ('{"words": 5, "format": 2}', "is no word list"),
        ('{"words": "ab", "format": 2}', "is no word list"),
        ('{"words": ["a"], "format": 2}', "has the format 2; it must be 'minalbert word list 1'"),
    ],
)
def test_a_file_that_is_no_word_list_is_named(tmp_path, content, complaint):
    (tmp_path / "words.json").write_text(content, encoding="utf-8")
    with pytest.raises(MinalbertError, match=rf"words\.json {complaint}"):
        load_tokenizer(tmp_path / "words.json")


# --- the command


def command(*arguments):
    parser = argparse.ArgumentParser()
    tokenizer_command.add_arguments(parser)
    return tokenizer_command.run(parser.parse_args([str(argument) for argument in arguments]))


def test_the_command_trains_and_shows(tmp_path, text, trained, capsys):
    (tmp_path / "a.txt").write_text("\n".join(text), encoding="utf-8")
    out = tmp_path / "out" / "spiece.model"
    assert command("train", tmp_path, "--vocab-size", 240, "--out", out) == 0
    assert capsys.readouterr().out == f"{out}: 240 pieces from 1,500 of 1,500 sentences; recipe in spiece.recipe.json\n"
    assert load_tokenizer(out).digest == trained.digest
    assert json.loads((out.parent / "spiece.recipe.json").read_text(encoding="utf-8"))["training"]["sampled"] == 1500

    assert command("show", out, "The walkers") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("spiece.model: 240 pieces, ")
    assert shown[1] == "special ids: <pad> 0  <unk> 1  [CLS] 2  [SEP] 3  [MASK] 4"
    assert shown[3].replace("|", "") == "[▁the] [▁walkers]"
    assert [int(i) for i in shown[4].split()] == trained.encode("The walkers")


def test_the_command_says_what_is_wrong_and_leaves_nothing(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    out = tmp_path / "out" / "spiece.model"
    for arguments, complaint in [
        (("train", tmp_path / "a.txt", "--vocab-size", 99, "--out", out), "this text gives"),
        (("train", tmp_path / "b.txt", "--vocab-size", 99, "--out", out), "does not exist"),
        (("show", out), "is missing"),
    ]:
        assert main(["tokenizer", *map(str, arguments)]) == 2
        assert complaint in capsys.readouterr().err
    assert not out.parent.exists()


def test_the_command_shows_a_word_list_on_a_plain_terminal(tmp_path, monkeypatch):
    WordTokenizer(["▁a", "é"]).save(tmp_path / "words.json")
    screen = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    assert command("show", tmp_path / "words.json", "▁a é b") == 0
    screen.flush()
    assert screen.buffer.getvalue().decode().splitlines()[3] == r"[_a] [\xe9] [<unk>]"
