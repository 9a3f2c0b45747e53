"""A saved directory's tokenizer.json, read by transformers' AutoTokenizer, gives our ids, whatever the text."""

import random
import runpy
from pathlib import Path

import pytest

transformers = pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")
pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install 'minalbert[train]')")

from minalbert import PRESETS, Albert  # noqa: E402
from minalbert.data.normalise import Normaliser  # noqa: E402
from minalbert.data.sentencepiece_training import train  # noqa: E402
from minalbert.data.word_tokenizer import WordTokenizer  # noqa: E402

LINES = 5000
english = runpy.run_path(str(Path(__file__).parents[1] / "test_tokenizer.py"))["english"]
SIGNS = "( ) \" - . – £ € `` '' ' [ ] < > [MASK] [CLS] [SEP] <pad> <unk> ▁ ▁▁ ▁x x▁ 1,000, 2,000,000 9, 0".split()
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\x1c", "\x85", "\xa0", "\u200b", "\u2028", "\u3000"]
ODD = [*"\x00\x07\x7f\xad\u200d\ufeff\ufffd\U0010ffffé\u0301ﬁ™½İßǄﷺ각が", "👩‍👩‍👧", "e\u0301", "ΟΔΟΣ", "ΑΣ'Σ", "σς"]
ODD += ["\u1100\u1161\u11a8", "\uac00\u11a8", "日本", "か\u3099", "क्ष", "\u09c7\u09be", "\U0001e030"]
ODD += ["aaaaaaa", "eeee", "11111", "000000", "walk", "ING"]


def hostile(count, seed):
    """English with signs in it, signs alone, any characters, and letters without sense."""
    draw, plain = random.Random(seed), english(1000, seed)
    for number in range(count):
        line = draw.choice(plain)
        if number % 4 == 0:
            for _ in range(draw.randint(1, 6)):
                place = draw.randint(0, len(line))
                line = line[:place] + draw.choice(SIGNS + SPACES + ODD) + line[place:]
        elif number % 4 == 1:
            line = "".join(draw.choice(SIGNS + SPACES + ODD) for _ in range(draw.randint(0, 12)))
        elif number % 4 == 2:
            ends = [draw.choice([(0, 128), (128, 0x3000), (0, 0xD800), (0xE000, 0x110000)]) for _ in range(30)]
            line = "".join(chr(draw.randrange(*pair)) for pair in ends[: draw.randint(1, 30)])
        else:
            line = "".join(draw.choice("aeinst ,.0123456789()-ΣΑ") for _ in range(draw.randint(1, 80)))
        yield line


TEXT = [
    *english(1500),
    *["ΟΔΟΣ σοφος ΣΑΣ λογος", "각 하 한 국", "日本 が か", "aa aaa ee eee 11 111 oo ooo 000 0000"] * 40,
]
TOKENIZERS = {
    "english": lambda: train(english(1500), 240),
    "several alphabets": lambda: train(TEXT, 420),
    "pieces with commas": lambda: train(TEXT, 420, digit_commas="off"),
    "capitals and quotes": lambda: train(TEXT, 420, normaliser=Normaliser(lower=False, quotes=True)),
    "words": lambda: WordTokenizer(sorted({word for line in english(300) for word in line.split()})),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def pair(request, tmp_path_factory):
    """(ours, theirs)"""
    ours, directory = TOKENIZERS[request.param](), tmp_path_factory.mktemp("saved")
    Albert.init(PRESETS["tiny"].replace(vocab_size=ours.vocab_size)).save_pretrained(directory, ours)
    return ours, transformers.AutoTokenizer.from_pretrained(directory)


def test_ids_of_hostile_lines_are_the_same(pair):
    ours, theirs = pair
    lines = list(hostile(LINES, seed=1))
    found = theirs(lines, add_special_tokens=False)["input_ids"]
    apart = [line for line, a, b in zip(lines, ours.encode_many(lines), found, strict=True) if a != b]
    assert not apart, f"{len(apart)} of {LINES}, first {apart[0]!r}"


def test_pairs_and_special_ids_are_as_pretraining_has_them(pair):
    ours, theirs = pair
    a, b = "unreadable moons", "they walked"
    found = theirs(a, b)
    ids = ours.encode(a), ours.encode(b)
    assert found["input_ids"] == [2, *ids[0], 3, *ids[1], 3]
    assert found["token_type_ids"] == [0] * (len(ids[0]) + 2) + [1] * (len(ids[1]) + 1)
    assert [getattr(theirs, f"{name}_token_id") for name in ("pad", "unk", "cls", "sep", "mask")] == [0, 1, 2, 3, 4]
    assert len(theirs) == ours.vocab_size
    assert theirs("[MASK]", add_special_tokens=False, split_special_tokens=False)["input_ids"] == [4]


def test_decoding_is_ours(pair):
    ours, theirs = pair
    ids = ours.encode("unreadable moons walked in 5,000")
    assert theirs.decode(ids) == ours.decode(ids)
