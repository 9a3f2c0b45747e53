"""`minalbert data`: what it prints, what it refuses, and that it finds what it is to find."""

import io
import json
import re
import sys

import numpy as np
import pytest
import small_text

from minalbert.commands import Parser, strip_lines
from minalbert.commands import data as data_command
from minalbert.data import strip
from minalbert.data.audit_pairs import audit_instances, balanced, pairs_and_labels
from minalbert.data.instances import Instances
from minalbert.data.recipe import Recipe
from minalbert.data.shards import Corpus
from minalbert.data.stats import histogram
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DamagedError, MinalbertError

ESCAPE = re.compile(r"\033\[[0-9;]*m")


def run(*argv):
    parser = Parser(prog="minalbert data")
    data_command.add_arguments(parser)
    options = parser.parse_args(list(map(str, argv)))
    return options.action(options)


def printed(capsys, *argv, code=0):
    assert run(*argv) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """A directory with tiny worlds in it."""
    directory = tmp_path_factory.mktemp("stories") / "corpus"
    assert run("build", "--tiny-worlds", 600, "--seed", 3, "--out", directory, "--shard-tokens", 20_000) == 0
    return directory


@pytest.fixture
def model(tmp_path):
    small_text.tokenizer().save(tmp_path / "words.json")
    return tmp_path / "words.json"


# build


@pytest.mark.parametrize("layout", ["lines", "paragraphs"])
def test_build_says_what_it_made(capsys, tmp_path, model, layout):
    path = small_text.write_lines(
        tmp_path / "a.txt", small_text.documents(fewest=2), "\n" * (2 + 2 * (layout != "lines"))
    )
    argv = ["build", path, "--tokenizer", model, "--layout", layout, "--shard-tokens", 500]
    text = printed(capsys, *argv, "--out", tmp_path / "corpus", "--workers", 2)
    corpus = Corpus.open(tmp_path / "corpus", verify=True)
    totals = corpus.totals()
    assert text == (
        f"{tmp_path / 'corpus'}: {totals['documents']} documents, {totals['sentences']} sentences, "
        f"{totals['tokens']:,} tokens in {len(corpus.shards)} shards\n"
    )
    assert totals["documents"] == 60
    assert len(corpus.shards) > 1
    found = json.loads(printed(capsys, *argv, "--out", tmp_path / "again", "--json"))
    assert found == {"directory": str(tmp_path / "again"), **totals, "shards": len(corpus.shards), "vocab_size": 65}
    assert small_text.bytes_of(tmp_path / "again") == small_text.bytes_of(tmp_path / "corpus")


def test_tiny_worlds_need_no_text_and_no_vocabulary(stories):
    corpus = Corpus.open(stories)
    assert corpus.totals()["documents"] == 600
    assert len(corpus.shards) == 3
    assert corpus.tokenizer().vocab_size == corpus.vocab_size
    assert min(int(shard.topics.min()) for shard in corpus.shards) >= 0


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["build", "--out", "{tmp}/c"], "no input was given"),
        (["build", "{tmp}/none.txt", "--tokenizer", "{model}", "--out", "{tmp}/c"], "none.txt does not exist"),
        (["build", "{model}", "--out", "{tmp}/c"], "no --tokenizer"),
        (["build", "{model}", "--tiny-worlds", "5", "--out", "{tmp}/c"], "give no input"),
        (["build", "--tiny-worlds", "0", "--out", "{tmp}/c"], "count is 0; it must be"),
        (["build", "--tiny-worlds", "9", "--shard-tokens", "-5", "--out", "{tmp}/c"], "shard_tokens is -5"),
        (["show", "{stories}", "--epoch", "-1"], "epoch is -1; it must be a whole number"),
        (["build", "{model}", "--tokenizer", "{tmp}/no.json", "--out", "{tmp}/c"], "no.json is missing"),
        (["stats", "{tmp}/c"], "no corpus"),
        (["show", "{tmp}"], "no corpus"),
        (["verify", "{tmp}"], "no corpus"),
        (["audit", "{tmp}"], "no corpus"),
        (["show", "{stories}", "--number", "100000"], "no instance 100000"),
        (["show", "{stories}", "--max-length", "2"], "max_length is 2"),
        (["stats", "{stories}", "--sample", "0"], "sample is 0"),
        (["audit", "{stories}", "--pairs", "none"], "pairs is 'none'"),
        (["audit", "{stories}", "--sample", "7"], "sample is 7; an audit needs at least 40"),
        (["stats", "{stories}", "--plot", "{tmp}/no/such.png"], "such.png could not be written"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, stories, model, argv, words):
    if words.startswith("such"):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")
    argv = [word.format(tmp=tmp_path, stories=stories, model=model) for word in argv]
    with pytest.raises(MinalbertError, match=words) as error:
        run(*argv)
    assert "\n" not in str(error.value)


# show


def test_show_is_the_instance(capsys, stories):
    corpus = Corpus.open(stories)
    tokenizer = corpus.tokenizer()
    instances = Instances(corpus, tokenizer, Recipe(max_length=64), seed=5)
    for number in (0, 1, 2, 3):
        detail = instances.detail(2, number)
        argv = ["show", stories, "--number", number, "--epoch", 2, "--seed", 5, "--max-length", 64]
        found = json.loads(printed(capsys, *argv, "--json"))
        rows = dict(found["rows"])
        cells = rows["A"] + rows["B"]
        assert [cell["text"] for cell in cells] == [tokenizer.pieces[i] for i in detail.input_ids]
        places = [place for span in detail.spans for place in span.positions]
        assert [i for i, cell in enumerate(cells) if cell["kind"]] == places
        assert all(cells[place]["label"] == tokenizer.pieces[detail.original_ids[place]] for place in places)
        assert [i for i, cell in enumerate(cells) if cell["colour"] == "special"] == [
            0,
            len(rows["A"]) - 1,
            len(cells) - 1,
        ]
        assert len(rows["A"]) == (detail.token_type_ids == 0).sum()
        assert ("swapped" if detail.label else "in order") in found["title"]

        text = printed(capsys, *argv)
        assert "\033" not in text  # nobody's terminal
        tops = "".join(line[3:] + " " for line in text.splitlines() if line[:3] in ("A  ", "B  "))
        assert tops.split()[:3] == [tokenizer.pieces[i] for i in detail.input_ids[:3]]


SHOWN = """\
instance 1 of 2 in epoch 0: swapped (label 1)
a note

A  [CLS] the baker [MASK] [MASK]
                   walked to
                   ╰4───────────
   purple stone  =.. [SEP]
   ≠well  =stone
   ────────────╯

B  go·ing x   [MASK]
          =x
          ╰1╯

[MASK] hides the token below it; ╰2╯ is a span of 2 words, masked together
≠token under a token drawn at random: this one stood there
=token under a token left as it is, and predicted all the same
a·b are two pieces of one word
"""


def small_strip():
    Cell = strip.Cell
    first = [
        Cell("[CLS]", "special"), Cell("the", "A"), Cell("baker", "A"),
        Cell("[MASK]", "A", kind="mask", label="walked", span=0), Cell("[MASK]", "A", kind="mask", label="to", span=0),
        Cell("purple", "A", kind="random", label="well", span=0),
        Cell("stone", "A", kind="kept", label="stone", span=0), Cell("=..", "A"), Cell("[SEP]", "special"),
    ]  # fmt: skip
    second = [
        Cell("go", "B"), Cell("ing", "B", glued=True), Cell("x", "B", kind="kept", label="x", span=1),
        Cell("[MASK]", "B"),
    ]  # fmt: skip
    rows = [("A", first), ("B", second)]
    return strip.Strip("instance 1 of 2 in epoch 0: swapped (label 1)", ["a note"], rows, [4, 1])


def test_strip_as_it_looks():
    assert list(strip_lines.lines(small_strip(), 34)) == SHOWN.splitlines()


@pytest.mark.parametrize("width", [20, 34, 60, 200])
def test_colours_change_nothing_but_colours(width):
    plain = list(strip_lines.lines(small_strip(), width))
    coloured = list(strip_lines.lines(small_strip(), width, colour=True))
    assert [ESCAPE.sub("", line).rstrip() for line in coloured] == plain
    assert any(ESCAPE.search(line) for line in coloured)
    rows = [line for line in plain[2:-4] if line]
    assert max(map(len, rows)) <= width


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_colour_on_a_terminal_that_wants_it(stories, monkeypatch, terminal, no_color, coloured):
    class Screen(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return terminal

    monkeypatch.setattr(sys, "stdout", Screen())
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("COLUMNS", "60")
    assert run("show", stories) == 0
    text = sys.stdout.getvalue()
    assert bool(ESCAPE.search(text)) == coloured
    body = ESCAPE.sub("", text).split("\n\n")[1:-1]
    assert max(len(line) for part in body for line in part.splitlines()) <= 60


def test_a_terminal_of_few_letters(stories, monkeypatch):
    screen = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    assert run("show", stories) == 0
    assert run("stats", stories, "--sample", 50) == 0
    screen.flush()
    text = screen.buffer.getvalue().decode("ascii")
    assert "?" not in text
    assert "\\1" in text
    assert "###" in text


@pytest.mark.parametrize(("pairs", "said"), [("nsp", "follow"), ("none", "one segment")])
def test_show_other_pairs(capsys, stories, pairs, said):
    text = printed(capsys, "show", stories, "--pairs", pairs, "--max-length", 48)
    assert said in text.splitlines()[0]
    assert ("\nB  " in text) == (pairs == "nsp")


# stats


def test_stats_are_counts_of_the_corpus(capsys, stories):
    corpus = Corpus.open(stories)
    found = json.loads(printed(capsys, "stats", stories, "--sample", 400, "--json"))
    assert {key: found["corpus"][key] for key in corpus.totals()} == corpus.totals()
    histograms = found["corpus"]["histograms"]
    assert sum(histograms["tokens in a sentence"]["counts"]) == corpus.totals()["sentences"]
    assert sum(histograms["sentences in a document"]["counts"]) == 600
    assert histograms["tokens in a document"]["mean"] == pytest.approx(corpus.totals()["tokens"] / 600)
    shares = {row["name"]: row for row in found["instances"]["shares"]}
    assert found["instances"]["looked_at"] == 400
    assert abs(shares["swapped"]["share"] - 0.5) < 0.11  # 4.4 standard deviations of 400
    assert abs(shares["tokens to predict"]["share"] - shares["tokens to predict"]["asked_for"]) < 0.01
    assert abs(shares["[MASK]"]["share"] - 0.8) < 0.04
    assert (
        shares["[MASK]"]["count"] + shares["a random piece"]["count"] + shares["the token itself"]["count"]
        == (shares["tokens to predict"]["count"])
    )
    assert shares["1 word"]["asked_for"] == pytest.approx(6 / 11)
    assert found["recipe"]["policy"] == "clean"

    text = printed(capsys, "stats", stories, "--sample", 400)
    assert f"{corpus.totals()['tokens']:,} tokens" in text
    assert f"{shares['swapped']['share']:.1%}" in text
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("recipe", [["--max-length", 64], ["--max-length", 16], ["--pairs", "none"]])
def test_stats_say_how_much_of_the_text_an_epoch_reads(capsys, tmp_path, model, recipe):
    """Long sentences, of which two do not fit, and documents of one sentence."""
    texts = [["one two three four five six seven eight nine ten " * 2] * (1 + i % 3) for i in range(60)]
    path = small_text.write_lines(tmp_path / "text.txt", texts)
    run("build", path, "--tokenizer", model, "--out", tmp_path / "corpus")
    capsys.readouterr()
    argv = ["stats", tmp_path / "corpus", "--sample", 20, "--max-predictions", 3, *recipe]
    found = json.loads(printed(capsys, *argv, "--json"))["instances"]["tokens"]
    assert sum(found.values()) == pytest.approx(1)
    corpus = Corpus.open(tmp_path / "corpus")
    options = {key.strip("-").replace("-", "_"): value for key, value in zip(recipe[::2], recipe[1::2], strict=True)}
    instances = Instances(corpus, corpus.tokenizer(), Recipe(max_predictions=3, **options))
    details = [instances.detail(0, number) for number in range(len(instances))]
    read = sum(segment.stop - segment.start for detail in details for segment in detail.segments)
    assert found["read"] == pytest.approx(read / corpus.totals()["tokens"])
    alone = 20 if instances.recipe.segments == 2 else 0
    assert found["in_documents_left_out"] == pytest.approx(alone / 120)
    text = printed(capsys, *argv)
    assert f"an epoch reads {found['read']:.1%} of the corpus's tokens" in text
    assert ("are cut off where sentences do not fit" in text) == (found["cut_off"] > 0)
    assert ("are in documents left out" in text) == (alone > 0)


def test_stats_say_how_long_spans_are(capsys, stories):
    text = printed(capsys, "stats", stories, "--sample", 400)
    found, asked = re.search(r"a span has ([\d.]+) words on average; asked for were ([\d.]+)", text).groups()
    assert asked == "1.64"  # (1 + 2/2 + 3/3) / (1 + 1/2 + 1/3)
    assert 1.3 < float(found) < 1.6
    assert "a little shorter" not in text
    assert "one that does not fit what is left to predict is shortened" in text
    assert "a span has" not in printed(capsys, "stats", stories, "--sample", 50, "--max-ngram", 1)


def test_stats_follow_the_recipe(capsys, stories):
    argv = ["stats", stories, "--sample", 100, "--json"]
    options = ["--max-ngram", 2, "--no-favor-shorter", "--pairs", "none", "--mask-fraction", 0.3, "--max-length", 48]
    found = json.loads(printed(capsys, *argv, *options))
    shares = {row["name"]: row for row in found["instances"]["shares"]}
    assert "swapped" not in shares
    assert shares["2 words"]["asked_for"] == pytest.approx(2 / 3)
    assert 0.25 < shares["tokens to predict"]["share"] < 0.35
    found = json.loads(printed(capsys, *argv, "--policy", "released"))
    assert found["recipe"] == vars(Recipe.released())


@pytest.mark.parametrize(
    ("values", "starts", "names"),
    [
        ([3, 3, 3], [3], ["3"]),
        ([1, 2, 3, 4], [1, 2, 3, 4], ["1", "2", "3", "4"]),
        ([0, 15], [0, 2, 4, 6, 8, 10, 12, 14], ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-"]),
        ([10] * 500 + [9000], [10], ["10-"]),
        ([], [], []),
    ],
)
def test_histograms_have_few_steps_of_round_numbers(values, starts, names):
    found = histogram(np.array(values, np.int64))
    assert found["starts"] == starts
    assert sum(found["counts"]) == len(values)
    assert found["names"] == names


# verify, audit


def test_verify_names_the_altered_file(capsys, tmp_path):
    run("build", "--tiny-worlds", 20, "--out", tmp_path / "corpus")
    capsys.readouterr()
    assert "whole" in printed(capsys, "verify", tmp_path / "corpus")
    path = tmp_path / "corpus" / "shard-000000.doc"
    content = bytearray(path.read_bytes())
    content[4] ^= 8
    path.write_bytes(content)
    for command in ("verify", "stats", "show", "audit"):
        with pytest.raises(DamagedError, match=r"shard-000000\.doc is damaged"):
            run(command, tmp_path / "corpus")


def test_audit_of_pairs_that_all_have_one_label_says_so(capsys, tmp_path, model):
    """One-sentence documents under the released policy: each is followed by another document, label 1."""
    (tmp_path / "text.txt").write_text("\n\n".join(["the baker walked to the well ."] * 300), encoding="utf-8")
    run("build", tmp_path / "text.txt", "--tokenizer", model, "--out", tmp_path / "corpus")
    capsys.readouterr()
    assert run("audit", tmp_path / "corpus", "--policy", "released") == 1
    out = capsys.readouterr().out
    assert "usual label           1.000  LEAK" in out
    assert "the labels leak: usual label" in out


def test_build_says_when_text_and_tokenizer_or_layout_do_not_fit(capsys, tmp_path, model):
    (tmp_path / "text.txt").write_text("совсем другие слова\n\nи ещё\n", encoding="utf-8")
    run("build", tmp_path / "text.txt", "--tokenizer", model, "--out", tmp_path / "a")
    assert "of the tokens are unknown to the tokenizer: was it made for this text?" in capsys.readouterr().out
    (tmp_path / "long.txt").write_text("the baker walked to the well . " * 20 + "\n", encoding="utf-8")
    run("build", tmp_path / "long.txt", "--tokenizer", model, "--out", tmp_path / "b")
    assert "then --layout long-lines" in capsys.readouterr().out


def test_audit_reports_chance_on_the_default_recipe(capsys, tmp_path):
    run("build", "--tiny-worlds", 3000, "--out", tmp_path / "corpus")
    capsys.readouterr()
    found = json.loads(printed(capsys, "audit", tmp_path / "corpus", "--json"))
    assert found["leaks"] == []
    probes = {finding["probe"]: finding for finding in found["findings"]}
    assert probes["bilinear A x B"]["accuracy"] > 0.7  # though there is something to learn
    text = printed(capsys, "audit", tmp_path / "corpus", "--sample", 400)
    assert "LEAK" not in text
    assert len(text.splitlines()) == len(probes) + 3


def test_audit_finds_the_released_scripts_leak(capsys, tmp_path):
    """A chunk of one sentence gets text of another document and label 1: labels and lengths give it away."""
    worlds = TinyWorlds()
    tokenizer = WordTokenizer(worlds.words())
    tokenizer.save(tmp_path / "words.json")
    texts = [document.sentences for document in worlds.documents(0, 3000)]
    texts = [text[:1] if number % 3 else text for number, text in enumerate(texts)]
    path = small_text.write_lines(tmp_path / "text.txt", texts)
    run("build", path, "--tokenizer", tmp_path / "words.json", "--out", tmp_path / "corpus")
    capsys.readouterr()
    argv = ["audit", tmp_path / "corpus", "--max-length", 128, "--json"]
    found = json.loads(printed(capsys, *argv, "--policy", "released", code=1))
    assert {"usual label", "length only"} <= set(found["leaks"])
    assert json.loads(printed(capsys, *argv))["leaks"] == []


def test_audit_finds_planted_connectives(tmp_path):
    worlds = TinyWorlds(p_true_conn=1.0)
    tokenizer = WordTokenizer(worlds.words())
    corpus = Corpus.from_documents(worlds.documents(0, 2000), tokenizer)
    findings = audit_instances(Instances(corpus, tokenizer), tokenizer, 5000)
    assert "connectives only" in [finding.probe for finding in findings if finding.leaks]


def test_audited_pairs_are_the_text_before_any_mask(stories):
    corpus = Corpus.open(stories)
    instances = Instances(corpus, corpus.tokenizer(), Recipe(max_length=64))
    pairs, labels = pairs_and_labels(instances, 30)
    numbers = np.unique(np.linspace(0, len(instances) - 1, 30).astype(int))
    for number, pair, label in zip(numbers, pairs, labels, strict=True):
        detail = instances.detail(0, int(number))
        assert label == detail.label
        for ids, segment in zip(pair, detail.segments, strict=True):
            assert ids.tolist() == corpus.shards[segment.shard].tokens[segment.start : segment.stop].tolist()


def test_probes_see_as_many_of_one_label_as_of_the_other():
    labels = np.array([1] * 90 + [0] * 10)
    kept = balanced(labels)
    assert (labels[kept] == 0).sum() == (labels[kept] == 1).sum() == 10
    assert len(set(kept.tolist())) == 20
