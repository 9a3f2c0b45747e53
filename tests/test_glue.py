"""GLUE's nine tasks, each from files in the format that is distributed, written by hand from its description."""

import pytest

from minalbert.errors import DataError, MissingFileError, TaskDataError
from minalbert.tasks import metrics
from minalbert.tasks.custom import find_labels, read_custom
from minalbert.tasks.glue import GLUE, read_glue
from minalbert.tasks.tables import Columns, TextExample, read_table


def lines(*rows):
    """Rows, whose columns are divided by | here."""
    return "".join(row.replace("|", "\t") + "\n" for row in rows)


MNLI = "index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse|sentence2_parse"
MNLI = f"{MNLI}|sentence1|sentence2"
STSB = "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2"
MRPC = "#1 ID|#2 ID|#1 String|#2 String"

LABELLED = {
    "cola": lines(
        "gj04|1||Our friends won't buy this analysis.",
        'gj04|0|*|The more "we study it.',
        "bc01|1||It is said .",
    ),
    "sst2": lines("sentence|label", "hide new secretions |0", 'a " smile |1', "contains no wit |0"),
    "mrpc": "\ufeff" + lines(
        f"Quality|{MRPC}",
        '1|702876|702977|Amrozi accused him, "the witness" .|He called him "the witness, he said .',
        '0|2108705|2108831|Yucaipa owned "Dominick\'s .|He bought it in 1995 .',
        "1|1330381|1330521|They had published it .|On June 10 they did .",
    ),
    "stsb": lines(
        f"{STSB}|score",
        "0|main-captions|MSRvid|2012test|0001|none|none|A plane is taking off.|An air plane is.|5.000",
        '1|main-news|headlines|2015|0002|none|none|A "man.|Nobody.|0.400',
        "2|main-forums|deft|2014|0003|none|none|He slept.|He ate.|3.8",
    ),
    "qqp": lines(
        "id|qid1|qid2|question1|question2|is_duplicate",
        "133273|213221|213222|How is the life of a student?|Which level of prep is enough?|0",
        "402555|536040|536041|How do I control my emotions?|How do you control yours?|1",
        "360472|364011|490273|What causes a question to be cut",
        "off in the middle?|What is that?|0",
        "150662|155721|7256|What do bats eat?||0",
    ),
    "mnli": lines(
        f"{MNLI}|label1|gold_label",
        "0|31193|31193n|government|( a )|( b )|(R)|(R)|Cream skims.|Two sides.|neutral|neutral",
        '1|101457|101457e|telephone|a|b|c|d|you "know.|You lose.|entailment|entailment',
        "2|134793|134793e|fiction|a|b|c|d|One of ours.|None is.|contradiction|contradiction",
    ),
    "qnli": lines(
        "index|question|sentence|label",
        "0|When did it emerge?|No evidence is found.|not_entailment",
        '1|What came into force?|As of "that day.|entailment',
    ),
    "rte": lines(
        "index|sentence1|sentence2|label",
        "0|No weapons were found.|Weapons were found.|not_entailment",
        "1|A place of sorrow.|Pope Benedict XVI is the leader.|entailment",
    ),
    "wnli": lines(
        "index|sentence1|sentence2|label",
        "0|I stuck a pin through a carrot.|The carrot had a hole.|1",
        "1|John saw Frank.|He gave up.|0",
    ),
}  # fmt: skip
UNLABELLED = {
    "cola": lines("index|sentence", "0|Bill whistled past the house.", "1|The car honked |"[:-1]),
    "sst2": lines("index|sentence", "0|uneasy mishmash of styles", "1|this film 's relationship"),
    "mrpc": lines(f"index|{MRPC}", "0|1089874|1089925|PCCW 's man .|Current man .", '1|30|31|"The world .|It .'),
    "stsb": lines(STSB, "0|main|MSRvid|2012|0|none|none|A girl styles her hair.|A girl is brushing it."),
    "qqp": lines("id|question1|question2", "0|Would it mean war?|Will it be?", "1|Which robots?|What are they?"),
    "mnli": lines(MNLI, "0|31493|31493|travel|a|b|c|d|The Old One always comforted.|Ca'daan knew.|"[:-1]),
    "qnli": lines("index|question|sentence", "0|What organization is devoted to it?|A Jihadist group."),
    "rte": lines("index|sentence1|sentence2", "0|Mangla was summoned.|Mangla died."),
    "wnli": lines("index|sentence1|sentence2", "0|Maude and Dora saw the trains.|Maude and Dora saw the ground."),
}
EXPECTED = {                                            # labels, and the texts of the second row
    "cola": ([1, 0, 1], ('The more "we study it.',)),
    "sst2": ([0, 1, 0], ('a " smile ',)),
    "mrpc": ([1, 0, 1], ('Yucaipa owned "Dominick\'s .', "He bought it in 1995 .")),
    "stsb": ([5.0, 0.4, 3.8], ('A "man.', "Nobody.")),
    "qqp": ([0, 1, 0], ("How do I control my emotions?", "How do you control yours?")),
    "mnli": ([2, 1, 0], ('you "know.', "You lose.")),
    "qnli": ([1, 0], ("What came into force?", 'As of "that day.')),
    "rte": ([1, 0], ("A place of sorrow.", "Pope Benedict XVI is the leader.")),
    "wnli": ([1, 0], ("John saw Frank.", "He gave up.")),
}  # fmt: skip


def write(path, text):
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("name", GLUE)
def test_files_as_distributed(name, ends, tmp_path):
    labels, texts = EXPECTED[name]
    for split in GLUE[name].splits:
        test = split.startswith("test")
        text = UNLABELLED[name] if test else LABELLED[name]
        write(tmp_path / f"{split}.tsv", text.replace("\n", ends))
        found = read_glue(name, tmp_path, split)
        if test:
            assert [each.label for each in found.examples] == [None] * (text.count("\n") - 1)
            assert {len(each.texts) for each in found.examples} == {len(texts)}
        else:
            assert [each.label for each in found.examples] == labels
            assert found.examples[1] == TextExample("1", texts, labels[1])
            assert found.broken == ([4, 5] if name == "qqp" else [])


def test_every_task_has_metrics_that_are_there():
    assert len(GLUE) == 9
    for task in GLUE.values():
        assert all(callable(getattr(metrics, name)) for name in task.metrics)


def test_a_line_ends_only_where_a_line_ends(tmp_path):
    text = "sentence\tlabel\none\u2028two\x0bthree\x85four\t1\n"
    assert read_glue("sst2", write(tmp_path / "train.tsv", text).parent, "train").examples == [
        TextExample("0", ("one\u2028two\x0bthree\x85four",), 1)
    ]


def test_a_test_file_loses_no_line(tmp_path):
    write(tmp_path / "test.tsv", UNLABELLED["qqp"] + "2\tWho?\n")
    with pytest.raises(TaskDataError, match=r"test\.tsv:4: it has 2 columns where the first line has 3"):
        read_glue("qqp", tmp_path, "test")


WRONG = {
    "empty": ("", r":1: the file is empty; it must hold examples"),
    "blank lines": ("\n\n", r":1: the file is empty"),
    "header alone": ("sentence\tlabel\n", r":1: there are no rows; there must be at least one below the header"),
    "no label column": ("sentence\tlabels\na\t1\n", r":1: there is no column 'label'; did you mean 'labels'\?"),
    "a column twice": ("label\tsentence\tlabel\n1\ta\t1\n", r":1: column 'label' is there twice"),
    "no header": ("a fine film\t1\n", r":1: there is no column 'sentence'"),
    "a column too few": ("sentence\tlabel\na\t1\nb\n", r":3: it has 1 columns where the first line has 2; one tab"),
    "a column too many": ("sentence\tlabel\na\t1\nb\tc\t1\n", r":3: it has 3 columns where the first line has 2"),
    "a blank line": ("sentence\tlabel\na\t1\n\nb\t1\n", r":3: it has 1 columns where"),
    "another label": ("sentence\tlabel\na\t1\nb\t2\n", r":3: column 'label' is '2'; it must be one of: 0, 1"),
    "no label": ("sentence\tlabel\na\t\n", r":2: column 'label' is ''; it must be one of: 0, 1"),
    "another coding": (b"sentence\tlabel\na\t1\ncaf\xe9\t1\n", r":3: byte 0xe9 is not UTF-8; the file must be UTF-8"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_what_is_wrong_is_named_with_file_and_line(case, ends, tmp_path):
    content, sentence = WRONG[case]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "train.tsv").write_bytes(content.replace(b"\n", ends))
    with pytest.raises(TaskDataError, match=r"train\.tsv" + sentence) as found:
        read_glue("sst2", tmp_path, "train")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("score", ["5.1", "-1", "nan", "inf", "five", ""])
def test_a_number_lies_where_the_tasks_numbers_do(score, tmp_path):
    write(tmp_path / "dev.tsv", LABELLED["stsb"].replace("3.8", score))
    with pytest.raises(TaskDataError, match=rf":4: column 'score' is '{score}'; it must be a number from 0 to 5"):
        read_glue("stsb", tmp_path, "dev")


def test_what_is_asked_for_must_be_there(tmp_path):
    with pytest.raises(DataError, match="there is no GLUE task 'sst'; did you mean 'sst2'"):
        read_glue("sst", tmp_path, "train")
    with pytest.raises(DataError, match="mnli has no split 'dev'; there are: train, dev_matched"):
        read_glue("mnli", tmp_path, "dev")
    with pytest.raises(MissingFileError, match=r"train\.tsv is missing; name the directory"):
        read_glue("rte", tmp_path, "train")


OWN = Columns(("premise", "claim"), "verdict", ("no", "yes"))
OBJECTS = '{"premise": "a \\"b", "claim": "c\\td", "verdict": "yes"}\n{"verdict": "no", "claim": "", "premise": "é"}\n'


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_own_tasks_are_tsv_or_json_lines(mark, ends, tmp_path):
    write(tmp_path / "train.jsonl", (mark + OBJECTS).replace("\n", ends))
    write(tmp_path / "dev.tsv", (mark + "claim\tverdict\tpremise\nx\tno\ty\n").replace("\n", ends))
    assert read_custom(tmp_path, "train", OWN).examples == [
        TextExample("0", ('a "b', "c\td"), 1),
        TextExample("1", ("é", ""), 0),
    ]
    assert read_custom(tmp_path, "dev", OWN).examples == [TextExample("0", ("y", "x"), 0)]


def test_columns_without_names_have_numbers(tmp_path):
    path = write(tmp_path / "own.tsv", "7\tnot bad\n1\tbad\n")
    assert read_table(path, Columns(("2",), "1", None, header=False)).examples[0] == TextExample("0", ("not bad",), 7.0)
    with pytest.raises(TaskDataError, match=r":1: there is no column '3'; there are: 1, 2"):
        read_table(path, Columns(("3",), header=False))


def test_labels_are_found_in_order(tmp_path):
    columns = Columns(("a",), "b")
    rows = "".join(f'{{"a": "x", "b": {label}}}\n' for label in ("10", "9", '"9"', "10"))
    assert find_labels(write(tmp_path / "numbers.jsonl", rows), columns) == ("9", "10")
    words = write(tmp_path / "words.tsv", "a\tb\nx\tno\nx\tyes\nx\tmaybe\n")
    assert find_labels(words, columns) == ("maybe", "no", "yes")
    with pytest.raises(TaskDataError, match=r":1: column 'b' has only the label '.*'; there must be two or more"):
        find_labels(write(tmp_path / "one.tsv", "a\tb\nx\tno\nx\tno\n"), columns)


WRONG_OBJECTS = {
    "broken": (OBJECTS + '{"premise": \n', r":3: it is not JSON \(Expecting value, at character \d+\)"),
    "a list": (OBJECTS + "[1]\n", r":3: it is \[1\]; it must be an object with names and values"),
    "a name missing": (OBJECTS + '{"premise": "a", "verdict": "no"}\n', r":3: there is no column 'claim'"),
    "a number": ('{"premise": 3, "claim": "a", "verdict": "no"}\n', r":1: column 'premise' is 3; it must be a text"),
    "another label": (OBJECTS.replace('"no"', "null"), r":2: column 'verdict' is 'null'; it must be one of: no, yes"),
    "nested": ("[" * 100_000 + "\n", r":1: it is nested too deeply"),
}


@pytest.mark.parametrize("case", WRONG_OBJECTS)
def test_a_wrong_object_is_named_with_file_and_line(case, tmp_path):
    content, sentence = WRONG_OBJECTS[case]
    write(tmp_path / "train.jsonl", content)
    with pytest.raises(TaskDataError, match=r"train\.jsonl" + sentence):
        read_custom(tmp_path, "train", OWN)


def test_a_split_is_in_one_file(tmp_path):
    with pytest.raises(TaskDataError, match=r"has neither train\.tsv nor train\.jsonl; one of them must be there"):
        read_custom(tmp_path, "train", OWN)
    write(tmp_path / "train.jsonl", OBJECTS)
    write(tmp_path / "train.tsv", "a\n")
    with pytest.raises(TaskDataError, match=r"has both train\.jsonl and train\.tsv; only one of them"):
        read_custom(tmp_path, "train", OWN)
