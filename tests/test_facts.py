"""A fine-tuned model is opened with the task in its config.json."""

import json

import pytest
from test_task import SIZES, TOKENIZER, model_for

from minalbert import Albert, AlbertConfig
from minalbert.errors import DamagedError, DataError, InputError, MissingFileError, PretrainedError, TrainError
from minalbert.tasks import open_task
from minalbert.tasks.finetuned import open_finetuned, save_facts

OWN = {"name": "custom", "max_length": 48, "texts": ("question", "claim"), "labels": ("no", "yes"), "label": "verdict"}


def saved(directory, task, scores=None):
    """A model of random weights for a task, as a fine-tuned one."""
    model_for(task).save_pretrained(directory, TOKENIZER)
    save_facts(directory, task, scores)
    return directory


@pytest.mark.parametrize("facts", [OWN, {"name": "stsb", "max_length": 32}, {"name": "squad1", "stride": 20}])
def test_a_fine_tuned_model_knows_its_task(facts, tmp_path):
    task = open_task(**facts | {"max_length": min(facts.get("max_length", 64), 64)})
    found = open_finetuned(saved(tmp_path / "model", task))
    assert found.task.facts == task.facts
    assert found.directory == tmp_path / "model"
    assert found.tokenizer.digest == TOKENIZER.digest
    assert (found.model.params.flat == model_for(task).params.flat).all()


def test_the_threshold_is_that_of_the_scores_on_dev(tmp_path):
    task = open_task("squad2", max_length=64)
    assert open_finetuned(saved(tmp_path / "before", task)).task.threshold == 0
    assert open_finetuned(saved(tmp_path / "after", task, {"f1": 1, "threshold": -1.25})).task.threshold == -1.25
    assert open_task("sst2").facts_after({"accuracy": 1}) == open_task("sst2").facts


def test_facts_leave_the_rest_of_a_model_as_it_was(tmp_path):
    task = open_task("squad2", max_length=64)
    model = saved(tmp_path / "model", task)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    config = json.loads(before["config.json"])
    save_facts(model, task, {"threshold": 2.5})
    after = {path.name: path.read_bytes() for path in model.iterdir()}
    assert {name for name in before | after if before.get(name) != after.get(name)} == {"config.json", "hashes.json"}
    assert json.loads(after["config.json"]) == config | {"minalbert_task": task.facts | {"threshold": 2.5}}
    Albert.from_pretrained(model).save_pretrained(tmp_path / "again", TOKENIZER)
    assert open_finetuned(tmp_path / "again").task.facts == open_finetuned(model).task.facts


def test_facts_are_saved_where_no_hashes_are(tmp_path):
    task = open_task("rte", max_length=64)
    model = model_for(task)
    model.save_pretrained(tmp_path, TOKENIZER)
    (tmp_path / "hashes.json").unlink()
    save_facts(tmp_path, task)
    assert not (tmp_path / "hashes.json").exists()
    assert open_finetuned(tmp_path).task.facts == task.facts


@pytest.mark.parametrize(
    ("facts", "expected"),
    [({"name": "mnli"}, {"architectures": ["AlbertForSequenceClassification"],
                         "id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"},
                         "label2id": {"contradiction": 0, "entailment": 1, "neutral": 2}}),
     ({"name": "stsb"}, {"architectures": ["AlbertForSequenceClassification"], "problem_type": "regression"}),
     ({"name": "race"}, {"architectures": ["AlbertForMultipleChoice"]}),
     ({"name": "squad1"}, {"architectures": ["AlbertForQuestionAnswering"]})],
)  # fmt: skip
def test_facts_name_labels_and_model_as_transformers_does(tmp_path, facts, expected):
    model = saved(tmp_path / "model", open_task(**facts, max_length=64))
    config = json.loads((model / "config.json").read_text())
    assert {name: config[name] for name in expected} == expected
    Albert.from_pretrained(model).save_pretrained(tmp_path / "again")
    again = json.loads((tmp_path / "again" / "config.json").read_text())
    assert {name: again[name] for name in expected} == expected


def test_a_model_with_other_heads_forgets_its_task(tmp_path):
    model = Albert.from_pretrained(saved(tmp_path / "model", open_task("rte", max_length=64)))
    model.with_heads(("pooler", "classifier"), 2).save_pretrained(tmp_path / "same", TOKENIZER)
    assert open_finetuned(tmp_path / "same").task.name == "rte"
    for number, heads in enumerate((("pooler",), ("span",))):
        model.with_heads(heads).with_heads(("pooler", "classifier")).save_pretrained(tmp_path / str(number), TOKENIZER)
        config = json.loads((tmp_path / str(number) / "config.json").read_text())
        assert config["id2label"] == {"0": "LABEL_0", "1": "LABEL_1"}
        with pytest.raises(TrainError, match="does not say what task it is for"):
            open_finetuned(tmp_path / str(number))


def with_labels(directory, *names):
    """A model for MNLI whose config.json names its outputs so."""
    model = model_for(open_task("mnli", max_length=64))
    model.save_pretrained(directory, TOKENIZER)
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"id2label": dict(enumerate(names))}))
    (directory / "hashes.json").unlink()
    return model.params["classifier.w"], model.params["classifier.b"]


@pytest.mark.parametrize(
    ("names", "order"),
    [(("Entailment", "neutral", "CONTRADICTION"), [2, 0, 1]), (("LABEL_0", "LABEL_1", "LABEL_2"), [0, 1, 2]),
     (("contradiction", "entailment", "neutral"), [0, 1, 2])],
)  # fmt: skip
def test_outputs_come_in_the_order_of_the_tasks_labels(tmp_path, names, order):
    w, b = with_labels(tmp_path, *names)
    params = open_finetuned(tmp_path, name="mnli").model.params
    assert (params["classifier.w"] == w[:, order]).all()
    assert (params["classifier.b"] == b[order]).all()


def test_labels_of_another_task_are_refused(tmp_path):
    with_labels(tmp_path, "entailment", "neutral", "unrelated")
    sentence = (r"config.json names the labels entailment, neutral, unrelated, and task mnli has contradiction, "
                "entailment, neutral; a model for this task must have the same")  # fmt: skip
    with pytest.raises(TrainError, match=sentence):
        open_finetuned(tmp_path, name="mnli")


def test_where_facts_cannot_be_saved(tmp_path):
    task = open_task("rte", max_length=64)
    with pytest.raises(MissingFileError, match=r"config.json is missing"):
        save_facts(tmp_path, task)
    model = saved(tmp_path / "model", task)
    (model / "state.json").write_text("{}")
    with pytest.raises(PretrainedError, match="model is a checkpoint of a run, which stays as it was saved; save its"):
        save_facts(model, task)
    (model / "state.json").unlink()
    config = model / "config.json"
    config.write_bytes(config.read_bytes().replace(b"64", b"65", 1))
    with pytest.raises(DamagedError, match=r"config.json is damaged"):
        save_facts(model, task)


def test_a_task_is_named_where_no_facts_are(tmp_path):
    model = tmp_path / "model"
    model_for(open_task("rte", max_length=64)).save_pretrained(model, TOKENIZER)
    sentence = "model does not say what task it is for, in minalbert_task of config.json; name its task"
    with pytest.raises(TrainError, match=sentence):
        open_finetuned(model)
    assert open_finetuned(model, name="rte").task.facts == {"name": "rte", "max_length": 64}
    with pytest.raises(InputError, match="the model's classifier has 2 outputs; task mnli has 3"):
        open_finetuned(model, name="mnli")


def test_files_of_the_task_are_where_one_says(tmp_path):
    model = saved(tmp_path / "model", open_task("rte", max_length=64))
    with pytest.raises(DataError, match="task rte was opened without its files"):
        open_finetuned(model).task.examples("dev", TOKENIZER)
    assert open_finetuned(model, data=tmp_path).task.place == tmp_path


def test_a_model_computes_as_fast_as_it_can(tmp_path):
    task = open_task("rte", max_length=64)
    directory = saved(tmp_path / "model", task)
    assert open_finetuned(directory).model.compute.kernels == "fused"
    assert open_finetuned(directory, kernels="plain").model.compute.kernels == "plain"
    reversible = Albert.init(AlbertConfig(**SIZES, reversible=True), heads=task.objective().heads)
    reversible.save_pretrained(directory, TOKENIZER)
    save_facts(directory, task)
    assert open_finetuned(directory).model.compute.kernels == "plain"


def test_damaged_facts_are_refused(tmp_path):
    file = saved(tmp_path / "model", open_task(**OWN)) / "config.json"
    whole = file.read_bytes()
    for damage in (whole.replace(b"48", b"49"), whole[:-5], b"[]", b"\xff"):
        file.write_bytes(damage)
        with pytest.raises(DamagedError, match=r"config.json is damaged: .*; restore it from a copy, or remove hashes"):
            open_finetuned(tmp_path / "model")


def test_facts_of_another_kind_are_refused(tmp_path, monkeypatch):
    task = open_task("rte", max_length=64)
    model = saved(tmp_path / "model", task)
    for facts, sentence in (
        ({"max_length": 64}, "config.json has facts in minalbert_task that no task has"),
        ({"name": "rta"}, "there is no task 'rta'; did you mean 'rte'"),
    ):
        monkeypatch.setattr(type(task), "facts", facts)
        save_facts(model, task)
        with pytest.raises((DataError, TrainError), match=sentence):
            open_finetuned(model)
    assert json.loads((model / "config.json").read_text())["minalbert_task"]["name"] == "rta"
