"""SQuAD's JSON and RACE's files, written by hand from their descriptions, and what may be wrong in them."""

import copy
import json

import pytest

from minalbert.errors import MissingFileError, TaskDataError
from minalbert.tasks.race import ChoiceQuestion, read_race
from minalbert.tasks.squad import Question, TextAnswer, read_squad

CONTEXT = "The Normans (Norman: Nourmands) were the people who gave their name to Normandy, a region in France."
OTHER = "Beyoncé “Giselle” Knowles-Carter\nwas born in Houston 😀 in 1981."


def answer(context, text):
    return {"text": text, "answer_start": context.index(text)}


def question(id, asked, context, *texts, **others):
    return {"id": id, "question": asked, "answers": [answer(context, text) for text in texts], **others}


FIRST = {"version": "1.1", "data": [
    {"title": "Normans", "paragraphs": [
        {"context": CONTEXT, "qas": [
            question("56ddde6b", "In what country is Normandy located?", CONTEXT, "France", "in France", "France"),
            question("56ddde6c", "Who gave it?", CONTEXT, "The Normans")]}]},
    {"title": "Beyoncé", "paragraphs": [
        {"context": OTHER, "qas": [question("56be85543", "When was she born?", OTHER, "1981")]},
        {"context": "Nothing is asked here.", "qas": []}]}]}  # fmt: skip
SECOND = copy.deepcopy(FIRST) | {"version": "v2.0"}
SECOND["data"][0]["paragraphs"][0]["qas"] = [
    question("5a8d7bf7", "Who gave their name in 1066?", CONTEXT, is_impossible=True,
             plausible_answers=[answer(CONTEXT, "Norman")]),
    question("56ddde6b", "Where is Normandy?", CONTEXT, "France", is_impossible=False)]  # fmt: skip


def write(path, content, **how):
    content = content if isinstance(content, str) else json.dumps(content, **how)
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize("how", [{}, {"indent": 1}, {"ensure_ascii": False}])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_squad_as_distributed(how, mark, tmp_path):
    path = write(tmp_path / "train-v1.1.json", mark + json.dumps(FIRST, **how))
    found = read_squad(path)
    at = CONTEXT.index("France")
    answers = (TextAnswer("France", at), TextAnswer("in France", at - 3), TextAnswer("France", at))
    assert found[0] == Question("56ddde6b", "In what country is Normandy located?", CONTEXT, answers)
    assert [each.id for each in found] == ["56ddde6b", "56ddde6c", "56be85543"]
    assert not any(each.impossible for each in found)
    assert found[2].answers == (TextAnswer("1981", OTHER.index("1981")),)


def test_squad_2_has_questions_without_an_answer(tmp_path):
    found = read_squad(write(tmp_path / "dev-v2.0.json", SECOND))
    assert [(each.id, each.impossible, len(each.answers)) for each in found] == [
        ("5a8d7bf7", True, 0), ("56ddde6b", False, 1), ("56be85543", False, 1)]  # fmt: skip


def test_a_file_to_be_answered_has_no_answers(tmp_path):
    content = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": [{"id": "1", "question": "Who?"}]}]}]}
    assert read_squad(write(tmp_path / "test.json", content)) == [Question("1", "Who?", CONTEXT, None)]


def wrong(change):
    content = copy.deepcopy(FIRST)
    change(content["data"], content["data"][0]["paragraphs"][0], content["data"][0]["paragraphs"][0]["qas"][1])
    return content


WRONG = {
    "empty": ("", r":1: the file is empty"),
    "cut off": (json.dumps(FIRST, indent=1)[:900], r":\d\d: it is not JSON \("),
    "a list": ("[]", r":1: it is \[\]; it must be an object"),
    "no data": ({"version": "1.1"}, r":1: there is no data; it must be there, and a list"),
    "no questions": ({"data": []}, r":1: there are no questions"),
    "an article that is text": (wrong(lambda data, *_: data.append("x")), r'data\[2\] is "x"; it must be an object'),
    "no paragraphs": (wrong(lambda data, *_: data[1].pop("paragraphs")), r":1: there is no data\[1\]\.paragraphs"),
    "no context": (wrong(lambda _, p, q: p.pop("context")), r":1: there is no data\[0\]\.paragraphs\[0\]\.context"),
    "empty context": (wrong(lambda _, p, q: p.update(context=" ")), r"paragraphs\[0\]\.context is empty; it must be"),
    "no qas": (wrong(lambda _, p, q: p.pop("qas")), r"there is no data\[0\]\.paragraphs\[0\]\.qas; it must be there"),
    "no id": (wrong(lambda _, p, q: q.pop("id")), r"there is no data\[0\]\.paragraphs\[0\]\.qas\[1\]\.id"),
    "a number as id": (wrong(lambda _, p, q: q.update(id=5)), r"qas\[1\]\.id is 5; it must be a text"),
    "an id twice": (wrong(lambda _, p, q: q.update(id="56ddde6b")), r"\.id is '56ddde6b', as another question's"),
    "no question": (wrong(lambda _, p, q: q.pop("question")), r":29: there is no .*\.qas\[1\]\.question"),
    "no answers": (wrong(lambda _, p, q: q.update(answers=[])), r"'56ddde6c' has 0 answers where there is no answer"),
    "an answer too many": (wrong(lambda _, p, q: q.update(is_impossible=True)), r"1 answers where is_impossible is"),
    "a flag that is text": (wrong(lambda _, p, q: q.update(is_impossible="no")), r'is "no"; it must be true or false'),
    "no start": (wrong(lambda _, p, q: q["answers"][0].pop("answer_start")), r"no .*answers\[0\]\.answer_start"),
    "a start of text": (wrong(lambda _, p, q: q["answers"][0].update(answer_start="0")), r"it must be a whole number"),
    "a start that is true": (wrong(lambda _, p, q: q["answers"][0].update(answer_start=True)), r"is true; it must be"),
    "a start from the end": (wrong(lambda _, p, q: q["answers"][0].update(answer_start=-7, text="France")),
                             r"'France' at character -7, where the context has ''; 'France' begins at "),
    "a start that is off": (wrong(lambda _, p, q: q["answers"][0].update(answer_start=4)),
                            r":29: question '56ddde6c' has the answer 'The Normans' at character 4, where the context "
                            r"has 'Normans \(No'; 'The Normans' begins at 0"),
    "a start before the text": (wrong(lambda _, p, q: q["answers"][0].update(answer_start=-1)), r"begins at 0"),
    "not in the text": (wrong(lambda _, p, q: q["answers"][0].update(text="the Danes")),
                        r"has the answer 'the Danes' at character 0, where the context has 'The Norma'; it must be"),
    "an empty answer": (wrong(lambda _, p, q: q["answers"][0].update(text="")), r"it must be a part of the context"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_squad_is_named_with_file_and_place(case, tmp_path):
    content, sentence = WRONG[case]
    path = write(tmp_path / "dev.json", content, indent=1)
    with pytest.raises(TaskDataError, match=r"dev\.json:\d+: ") as found:
        read_squad(path)
    found.match(sentence)


ARTICLE = {
    "id": "middle1.txt",
    "article": "Last week I talked with some of my students.\nThey were tired.",
    "questions": ["The students were _ .", "Why?"],
    "options": [["tired", "happy", "late", "ill"], ["work", "rest", "noise", ""]],
    "answers": ["A", "C"],
}
EXPECTED = [
    ChoiceQuestion("middle1.txt/0", ARTICLE["article"], "The students were _ .", tuple(ARTICLE["options"][0]), 0),
    ChoiceQuestion("middle1.txt/1", ARTICLE["article"], "Why?", tuple(ARTICLE["options"][1]), 2),
]


def test_race_in_each_layout(tmp_path):
    high = ARTICLE | {"id": "high7.txt"}
    later = [each._replace(id=each.id.replace("middle1", "high7")) for each in EXPECTED]
    for name, content in (("files/middle/1.txt", ARTICLE), ("files/high/7.txt", high)):
        (tmp_path / name).parent.mkdir(parents=True)
        write(tmp_path / name, content)
    together = json.dumps(ARTICLE) + "\r\n" + json.dumps(high) + "\n"
    for name, text in (("all/all.txt", together), ("levels/high/all.txt", json.dumps(high)),
                       ("levels/middle/all.txt", json.dumps(ARTICLE))):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True)
        write(tmp_path / name, text)
    write(tmp_path / "all" / "more.txt", "not read where there is all.txt")
    for path in ("files", "all", "all/all.txt", "levels"):
        assert read_race(tmp_path / path) == EXPECTED + later
    assert read_race(tmp_path / "files" / "high") == later
    assert read_race(write(tmp_path / "one.txt", json.dumps(ARTICLE, indent=1))) == EXPECTED


def test_race_to_be_answered(tmp_path):
    content = {name: value for name, value in ARTICLE.items() if name != "answers"}
    assert [each.label for each in read_race(write(tmp_path / "1.txt", content))] == [None, None]


WRONG_RACE = {
    "empty": ("", r":1: the file is empty"),
    "broken": (json.dumps(ARTICLE) + "\n{", r":2: it is not JSON"),
    "no article": ({**ARTICLE, "article": None}, r":1: article is null; it must be a text"),
    "no options": ({**ARTICLE, "options": []}, r":1: there are 2 questions, 0 lists of options and 2 answers"),
    "no questions": ({**ARTICLE, "questions": [], "options": [], "answers": []}, r":1: there are no questions"),
    "an option of another kind": ({**ARTICLE, "options": [["a", 1], ["a", "b"]]}, r"\[0\]\[1\] is 1; it must be"),
    "one option": ({**ARTICLE, "options": [["a"], ["b"]]}, r"options\[0\] has 1 options; it must have 2 to 10"),
    "another answer": ({**ARTICLE, "answers": ["A", "E"]}, r":1: answers\[1\] is 'E'; it must be one of: A, B, C, D"),
    "another kind of answer": ({**ARTICLE, "answers": ["A", 2]}, r"answers\[1\] is 2; it must be one of"),
    "not as many options": ({**ARTICLE, "options": [["a", "b"], ["a", "b", "c"]]}, r"/1 has 3 options and .*/0 has 2"),
}


@pytest.mark.parametrize("case", WRONG_RACE)
def test_what_is_wrong_in_race_is_named_with_file_and_line(case, tmp_path):
    content, sentence = WRONG_RACE[case]
    write(tmp_path / "all.txt", content)
    with pytest.raises(TaskDataError, match=sentence):
        read_race(tmp_path)


def test_race_that_is_not_there(tmp_path):
    with pytest.raises(TaskDataError, match=r":1: there are no questions; a directory must hold all\.txt, middle"):
        read_race(tmp_path)
    with pytest.raises(MissingFileError, match=r"none\.txt is missing"):
        read_race(tmp_path / "none.txt")
