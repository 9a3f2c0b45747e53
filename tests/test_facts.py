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
