"""Hugging Face directories, written and read without torch; tests/parity holds them against `transformers`."""

import errno
import json
import shutil
import struct

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from minalbert import PRESETS, Albert, AlbertConfig, Params, files
from minalbert.errors import DamagedError, FileError, PretrainedError
from minalbert.gradcheck.cases import hard_batch, hard_params
from minalbert.interop import huggingface, safetensors_files, state_dict
from minalbert.params import HEADS, half_name, shapes

TINY = AlbertConfig(
    vocab_size=11,
    embedding_size=4,
    hidden_size=6,
    num_hidden_layers=4,
    num_attention_heads=2,
    intermediate_size=7,
    max_position_embeddings=7,
    layer_norm_eps=0.1,
)
CONFIGS = {
    "all shared": TINY,
    "2 groups": TINY.replace(num_hidden_groups=2),
    "3 uneven groups": TINY.replace(num_hidden_groups=3),
    "attention shared": TINY.replace(sharing="attention"),
    "attention shared in 2 groups": TINY.replace(sharing="attention", num_hidden_groups=2),
    "ffn shared": TINY.replace(sharing="ffn"),
    "nothing shared": TINY.replace(sharing="none"),
    "nothing shared, as groups": TINY.replace(num_hidden_groups=4),
    "18 layers in 14 groups": TINY.replace(num_hidden_layers=18, num_hidden_groups=14),
    "E = H": TINY.replace(embedding_size=6),
    "E = H, projection": TINY.replace(embedding_size=6, embedding_projection=True),
    "E = H, no projection": TINY.replace(embedding_size=6, embedding_projection=False),
    "E > H": TINY.replace(embedding_size=9),
    "E ≠ H, projection": TINY.replace(embedding_projection=True),
    "other settings": TINY.replace(hidden_act="gelu", hidden_dropout_prob=0.1, layer_norm_eps=0, initializer_range=0.5),
}
GROUP = "albert.encoder.albert_layer_groups"
WORD = "albert.embeddings.word_embeddings.weight"


def tiny(config=TINY, heads=HEADS, dtype="float32"):
    return Albert(config, hard_params(config, heads).astype(dtype))


@pytest.fixture
def saved(tmp_path):
    """A directory as transformers would write it: all shared, all heads, no key, hashes or note of ours."""
    tiny().save_pretrained(tmp_path)
    edit_config(tmp_path, minalbert=None)
    edit_tensors(tmp_path, lambda tensors: None)
    (tmp_path / "hashes.json").unlink()
    return tmp_path


def edit_config(directory, **changes):
    """Change keys of config.json; None takes one out."""
    path = directory / "config.json"
    data = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))


def edit_tensors(directory, edit):
    """edit: a function of the dict of tensors, which it changes in place."""
    path = directory / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    edit(tensors)
    safetensors.numpy.save_file(tensors, path, metadata={"format": "pt"})


def assert_same(params, others):
    assert params.shapes == others.shapes
    assert params.dtype == others.dtype
    np.testing.assert_array_equal(params.flat, others.flat)


# Round trips


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_save_and_load_give_the_same_model_back(config, tmp_path):
    model = tiny(config)
    model.save_pretrained(tmp_path / "new" / "directory")
    again = Albert.from_pretrained(tmp_path / "new" / "directory")
    assert again.config == config
    assert_same(again.params, model.params)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_dtype_of_a_file_is_kept(dtype, tmp_path):
    model = tiny(dtype=dtype)
    model.save_pretrained(tmp_path)
    assert_same(Albert.from_pretrained(tmp_path).params, model.params)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == dtype


def test_float16_is_read_as_float32_unless_it_is_asked_for(tmp_path):
    model = tiny(dtype="float16")
    model.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="is in float16; it is read as float32, unless dtype says float16"):
        read = Albert.from_pretrained(tmp_path)
    assert_same(read.params, model.params.astype("float32"))
    assert_same(Albert.from_pretrained(tmp_path, dtype="float16").params, model.params)
    assert_same(Albert.from_pretrained(tmp_path, dtype="float32").params, read.params)


@pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("float64")])
def test_a_dtype_that_is_asked_for_is_given(dtype, saved):
    assert_same(Albert.from_pretrained(saved, dtype=dtype).params, tiny().params.astype("float64"))


def test_a_file_of_several_dtypes_is_read_in_the_widest(saved):
    edit_tensors(saved, lambda tensors: tensors.update({WORD: tensors[WORD].astype(np.float64)}))
    assert_same(Albert.from_pretrained(saved).params, tiny().params.astype("float64"))


@pytest.mark.parametrize("heads", [(), ("pooler",), ("mlm",), ("pooler", "mlm"), ("pooler", "sop"), HEADS])
def test_the_heads_of_a_file_are_the_heads_of_the_model(heads, tmp_path):
    model = tiny(heads=heads)
    model.save_pretrained(tmp_path)
    assert_same(Albert.from_pretrained(tmp_path).params, model.params)
    assert not huggingface.load_report(tmp_path).missing


@pytest.mark.parametrize(
    ("heads", "architecture"),
    [
        ((), "AlbertModel"),
        (("pooler",), "AlbertModel"),
        (("mlm",), "AlbertForMaskedLM"),
        (HEADS, "AlbertForPreTraining"),
    ],
)
def test_config_names_the_class_with_these_heads(heads, architecture, tmp_path):
    tiny(heads=heads).save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == [architecture]


def test_files_are_marked_as_transformers_marks_them(tmp_path):
    tiny(TINY.replace(layer_norm_eps=1)).save_pretrained(tmp_path)
    with safetensors.safe_open(tmp_path / "model.safetensors", framework="np") as file:
        assert file.metadata()["format"] == "pt"
    assert '"layer_norm_eps": 1.0' in (tmp_path / "config.json").read_text()  # an integer would be refused
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "hashes.json", "model.safetensors"]


def test_a_model_on_any_device_is_saved(device, tmp_path):
    model = tiny()
    model.to(device).save_pretrained(tmp_path)
    again = Albert.from_pretrained(tmp_path, device=device)
    assert again.params.device == device
    assert_same(again.params.to("cpu"), model.params)


def test_a_crash_while_saving_leaves_the_old_file_whole(saved, monkeypatch):
    def crash(handle):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(files, "to_disk", crash)
    with pytest.raises(FileError, match="disk full"):
        huggingface.save(saved, TINY, tiny().params.zeros_like())
    assert_same(Albert.from_pretrained(saved).params, tiny().params)


# Files that others write


def test_a_file_of_a_bare_model_is_loaded(saved):
    def strip(tensors):
        for name in list(tensors):
            array = tensors.pop(name)
            if name.startswith("albert."):
                tensors[name.removeprefix("albert.")] = array

    edit_tensors(saved, strip)
    assert_same(Albert.from_pretrained(saved).params, tiny(heads=("pooler",)).params)


def test_old_buffers_and_the_tied_decoder_are_no_surprise(saved):
    def add(tensors):
        tensors["albert.embeddings.position_ids"] = np.arange(7)[None]
        tensors["predictions.decoder.weight"] = tensors[WORD]
        tensors["predictions.decoder.bias"] = tensors["predictions.bias"]

    edit_tensors(saved, add)
    assert_same(Albert.from_pretrained(saved).params, tiny().params)
    assert huggingface.load_report(saved).unused == []


def test_a_decoder_stands_for_its_twin_where_a_file_has_it_alone(saved):
    def rename(tensors):
        tensors["predictions.decoder.weight"] = tensors.pop(WORD)
        tensors["predictions.decoder.bias"] = tensors.pop("predictions.bias")

    edit_tensors(saved, rename)
    assert_same(Albert.from_pretrained(saved).params, tiny().params)


def write_raw(path, tensors):
    """tensors: name -> (dtype, shape, bytes). A safetensors file as its specification says."""
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_bfloat16_is_read_as_float32_without_loss(saved):
    words = {}  # the upper halves of float32 numbers
    for name, array in safetensors.numpy.load_file(saved / "model.safetensors").items():
        words[name] = (array.view(np.uint32) >> 16).astype(np.uint16)
    raw = {name: ("BF16", list(array.shape), array.tobytes()) for name, array in words.items()}
    write_raw(saved / "model.safetensors", raw)
    with pytest.warns(UserWarning, match="bfloat16, which NumPy lacks; it is read as float32"):
        params = Albert.from_pretrained(saved).params
    assert params.dtype == np.float32
    right = {name: (array.astype(np.uint32) << 16).view(np.float32) for name, array in words.items()}
    np.testing.assert_array_equal(params["sop.w"], right["sop_classifier.classifier.weight"].T)
    assert_same(params, Params.from_arrays(state_dict.from_state_dict(right, TINY), params.shapes, np.float32))
    np.testing.assert_allclose(params.flat, tiny().params.flat, rtol=2**-7)


def shard(directory, count=3):
    """Cut model.safetensors into several, with an index."""
    tensors = safetensors.numpy.load_file(directory / "model.safetensors")
    weight_map = {name: f"model-{i % count + 1:05}-of-{count:05}.safetensors" for i, name in enumerate(tensors)}
    for file in set(weight_map.values()):
        held = {name: tensors[name] for name in tensors if weight_map[name] == file}
        safetensors.numpy.save_file(held, directory / file)
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (directory / "model.safetensors").unlink()
    return weight_map


def test_shards_are_put_together(saved):
    shard(saved)
    assert_same(Albert.from_pretrained(saved).params, tiny().params)


def test_keys_that_config_leaves_out_have_the_values_of_transformers(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "albert", "down_scale_factor": 1}')
    assert huggingface.read_config(tmp_path) == PRESETS["albert-xxlarge-v2"]


def test_a_projection_that_is_the_identity_is_left_out_and_another_is_kept(tmp_path):
    model = tiny(TINY.replace(embedding_size=6))
    model.save_pretrained(tmp_path)
    edit_tensors(tmp_path, lambda tensors: tensors["albert.encoder.embedding_hidden_mapping_in.bias"].fill(1e-9))
    again = Albert.from_pretrained(tmp_path)
    assert again.config == model.config.replace(embedding_projection=True)
    np.testing.assert_array_equal(again.params["embeddings.projection.w"], np.eye(6))


# Names


@settings(max_examples=40)
@given(
    layers=st.integers(1, 6),
    groups=st.integers(1, 6),
    sharing=st.sampled_from(["all", "attention", "ffn", "none"]),
    embedding_size=st.sampled_from([4, 6]),
    heads=st.sampled_from([(), ("pooler",), ("mlm",), HEADS]),
)
def test_from_state_dict_is_the_inverse_of_to_state_dict(layers, groups, sharing, embedding_size, heads):
    config = TINY.replace(
        num_hidden_layers=layers,
        num_hidden_groups=min(groups, layers),
        sharing=sharing,
        embedding_size=embedding_size,
    )
    params = hard_params(config, heads)
    arrays = state_dict.from_state_dict(state_dict.to_state_dict(params, config), config)
    assert set(arrays) == set(params)
    assert_same(Params.from_arrays(arrays, shapes(config, heads), np.float64), params)


def test_matrices_are_transposed_and_tables_are_not():
    params = tiny().params
    state = huggingface.to_state_dict(params, TINY)
    np.testing.assert_array_equal(
        state[f"{GROUP}.0.albert_layers.0.attention.key.weight"].T, params["encoder.attention.key.w"]
    )
    np.testing.assert_array_equal(state["predictions.dense.weight"].T, params["mlm.dense.w"])
    np.testing.assert_array_equal(state[WORD], params["embeddings.word"])


def test_a_state_dict_is_a_copy():
    params = tiny().params
    before = params.copy()
    for array in huggingface.to_state_dict(params, TINY).values():
        assert array.flags.c_contiguous
        array[...] = 0
    assert_same(params, before)


def test_base_has_the_32_tensors_and_11813810_numbers_of_the_released_files():
    config = PRESETS["albert-base-v2"]
    right = shapes(config)
    names = state_dict.names(config)
    assert len(names) == 32
    assert sum(int(np.prod(right[ours])) for ours in names.values()) == 11_813_810


def test_every_layer_finds_its_weights_where_transformers_looks():
    """The formula is that of modeling_albert.py, floats included."""
    for layers in (1, 2, 3, 5, 6, 12, 18, 22, 24):
        for groups in range(1, layers + 1):
            for sharing in ("all", "attention", "ffn", "none"):
                config = TINY.replace(num_hidden_layers=layers, num_hidden_groups=groups, sharing=sharing)
                names, theirs = state_dict.names(config), state_dict.hf_groups(config)
                for layer in range(layers):
                    prefix = f"{GROUP}.{int(layer / (layers / theirs))}.albert_layers.0"
                    for leaf, part, tensor in (("attention.query", "attention", "query"), ("ffn", "ffn", "up")):
                        assert names[f"{prefix}.{leaf}.bias"] == f"{half_name(config, part, layer)}.{tensor}.b"


def test_copies_in_several_groups_get_the_one_shared_gradient():
    model = tiny(TINY.replace(sharing="attention"), dtype="float64")
    _, grads = model.loss_and_grads(hard_batch(TINY))
    state = huggingface.to_state_dict(grads, model.config)
    for group in range(4):
        copy = state[f"{GROUP}.{group}.albert_layers.0.attention.dense.bias"]
        np.testing.assert_array_equal(copy, grads["encoder.attention.output.b"])


def test_gradients_without_a_projection_have_none_under_their_names():
    config = TINY.replace(embedding_size=6)
    assert "albert.encoder.embedding_hidden_mapping_in.weight" in state_dict.names(config)
    assert not any("mapping" in name for name in huggingface.to_state_dict(hard_params(config), config))


# The report


def test_report_lists_what_is_used_unused_and_missing(saved):
    def edit(tensors):
        tensors["scorer.weight"] = np.zeros((3, 6), np.float32)
        del tensors["predictions.bias"], tensors["albert.pooler.weight"]

    edit_tensors(saved, edit)
    report = huggingface.load_report(saved)
    assert len(report.used) == 30
    assert report.unused == ["scorer.weight"]
    assert set(report.missing) == {"predictions.bias", "albert.pooler.weight"}
    assert str(report) == (
        "30 tensors used\n1 unused: scorer.weight\n2 missing: albert.pooler.weight, predictions.bias"
    )


def test_report_of_a_right_directory_is_short(saved):
    assert str(huggingface.load_report(saved)) == "32 tensors used\n0 unused\n0 missing"


# Errors


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(PretrainedError, match="albert-base-v2 is not a directory; nothing is downloaded"):
        Albert.from_pretrained(tmp_path / "albert-base-v2")


def test_a_directory_without_a_config(saved):
    (saved / "config.json").unlink()
    with pytest.raises(PretrainedError, match=r"has no config.json"):
        Albert.from_pretrained(saved)


def test_a_directory_without_weights(saved):
    (saved / "model.safetensors").unlink()
    with pytest.raises(PretrainedError, match=r"holds neither model.safetensors nor model.safetensors.index.json"):
        Albert.from_pretrained(saved)


def test_a_pickle_is_not_read_and_the_way_out_is_named(saved):
    shutil.move(saved / "model.safetensors", saved / "pytorch_model.bin")
    with pytest.raises(PretrainedError, match=r"pytorch_model.bin, a pickle, .* safe_serialization=True"):
        Albert.from_pretrained(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bert"}, "model_type is 'bert'; only 'albert' can be loaded"),
        ({"inner_group_num": 2}, "inner_group_num is 2; only 1 can"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is False; only True can"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'; only 'absolute' can"),
        ({"hidden_act": "relu"}, "config.json: hidden_act is 'relu'; it must be one of: gelu_new"),
        ({"vocab_size": "11"}, "config.json: vocab_size is '11'; it must be a whole number"),
        ({"num_attention_heads": 4}, "hidden_size 6 cannot be split evenly over 4 heads"),
        ({"num_hidden_layers": 18, "num_hidden_groups": 14}, r"num_hidden_groups is 14; with 18 layers .* must be 18"),
        ({"minalbert": {"sharing": "ffn"}}, r"num_hidden_groups is 1; with 4 layers .* must be 4"),
        ({"intermediate_size": 8}, r"layers.0.ffn.weight has shape \(7, 6\); .* must be \(8, 6\)"),
        ({"vocab_size": 12}, r"word_embeddings.weight has shape \(11, 4\); .* must be \(12, 4\)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_config_that_cannot_be_loaded(changes, message, saved):
    edit_config(saved, **changes)
    with pytest.raises(PretrainedError, match=message):
        Albert.from_pretrained(saved)


@pytest.mark.parametrize("text", ["{", "", "\xff", "[]"])
def test_a_config_that_is_no_json_object(text, saved):
    (saved / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DamagedError, match=r"config.json (is not JSON|holds a list)"):
        Albert.from_pretrained(saved)


@pytest.mark.parametrize("size", [0, 4, 100, -1])
def test_a_file_that_is_cut_short(size, saved):
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DamagedError, match=r"model.safetensors is not a whole safetensors file"):
        Albert.from_pretrained(saved)


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (WORD, f"lacks {WORD}: the trunk must be whole"),
        ("albert.encoder.embedding_hidden_mapping_in.bias", "lacks albert.encoder.embedding_hidden_mapping_in.bias"),
        ("predictions.LayerNorm.weight", "lacks predictions.LayerNorm.weight: .* each head whole or absent"),
        ("sop_classifier.classifier.bias", "lacks sop_classifier.classifier.bias"),
        ("albert.pooler.bias", "lacks albert.pooler.bias"),
    ],
)
def test_a_tensor_that_is_missing(gone, message, saved):
    edit_tensors(saved, lambda tensors: tensors.pop(gone))
    with pytest.raises(PretrainedError, match=message):
        Albert.from_pretrained(saved, strict=False)


def test_a_sop_head_without_a_pooler(saved):
    edit_tensors(saved, lambda tensors: [tensors.pop(f"albert.pooler.{leaf}") for leaf in ("weight", "bias")])
    with pytest.raises(PretrainedError, match=r"lacks albert.pooler.weight, albert.pooler.bias: .* needs a pooler"):
        Albert.from_pretrained(saved)


def test_a_tensor_without_a_place_is_an_error_or_a_warning(saved):
    edit_tensors(saved, lambda tensors: tensors.update({"scorer.weight": np.zeros((3, 6), np.float32)}))
    with pytest.raises(PretrainedError, match=r"does not have: scorer.weight; strict=False loads the rest"):
        Albert.from_pretrained(saved)
    with pytest.warns(UserWarning, match="32 tensors used\n1 unused: scorer.weight"):
        model = Albert.from_pretrained(saved, strict=False)
    assert_same(model.params, tiny().params)


def test_a_sop_head_with_three_labels(saved):
    three = np.zeros((3, 6), np.float32)
    edit_tensors(saved, lambda tensors: tensors.update({"sop_classifier.classifier.weight": three}))
    with pytest.raises(PretrainedError, match=r"sop_classifier.classifier.weight has shape \(3, 6\); .* \(2, 6\)"):
        Albert.from_pretrained(saved)


def test_a_decoder_that_is_not_the_word_table(saved):
    edit_tensors(saved, lambda tensors: tensors.update({"predictions.decoder.weight": tensors[WORD] + 1}))
    with pytest.raises(PretrainedError, match=r"decoder.weight differs from .* an untied decoder cannot be loaded"):
        Albert.from_pretrained(saved, strict=False)


def test_a_decoder_bias_of_its_own_is_an_error_or_used_as_in_transformers(saved):
    bias = np.arange(11, dtype=np.float32)
    edit_tensors(saved, lambda tensors: tensors.update({"predictions.decoder.bias": bias}))
    with pytest.raises(PretrainedError, match=r"predictions.decoder.bias differs from predictions.bias"):
        Albert.from_pretrained(saved)
    with pytest.warns(UserWarning, match="the first is used, as in transformers"):
        model = Albert.from_pretrained(saved, strict=False)
    np.testing.assert_array_equal(model.params["mlm.bias"], bias)


def test_weights_that_are_not_floating_point(saved):
    edit_tensors(saved, lambda tensors: tensors.update({WORD: tensors[WORD].astype(np.int8)}))
    with pytest.raises(PretrainedError, match=r"word_embeddings.weight is stored as I8; it must be one of F16"):
        Albert.from_pretrained(saved)


def test_copies_that_training_elsewhere_made_different(tmp_path):
    tiny(TINY.replace(sharing="attention")).save_pretrained(tmp_path)
    name = f"{GROUP}.3.albert_layers.0.attention.query.bias"
    edit_tensors(tmp_path, lambda tensors: tensors[name].fill(7.0))
    with pytest.raises(PretrainedError, match=f"{name} differs from its copies in other groups, but the entry 'minalb"):
        Albert.from_pretrained(tmp_path)
    edit_config(tmp_path, minalbert=None)
    model = Albert.from_pretrained(tmp_path)
    assert model.config.num_hidden_groups == 4
    np.testing.assert_array_equal(model.params["encoder.attention.3.query.b"], np.full(6, 7.0))


def test_an_index_that_is_wrong(saved):
    index = saved / "model.safetensors.index.json"
    weight_map = shard(saved)
    missing = weight_map | {"more": "model-4.safetensors"}
    elsewhere = weight_map | {WORD: next(file for file in weight_map.values() if file != weight_map[WORD])}
    for data, message in (
        ({}, "has no weight_map"),
        ({"weight_map": missing}, "names model-4.safetensors, which is not there"),
        ({"weight_map": elsewhere}, f"lacks {WORD}, which model.safetensors.index.json says is there"),
    ):
        index.write_text(json.dumps(data))
        with pytest.raises(PretrainedError, match=message):
            Albert.from_pretrained(saved)


def test_every_error_is_a_value_error():
    assert issubclass(PretrainedError, ValueError)
    assert PretrainedError is safetensors_files.PretrainedError


def test_weights_of_another_kind_of_model_are_named(saved):
    def rename(tensors):
        for name in list(tensors):
            tensors[name.replace("albert", "bert")] = tensors.pop(name)

    edit_tensors(saved, rename)
    with pytest.raises(PretrainedError, match=r"lacks .* and \d+ more: .*; its first other tensor is bert\.") as error:
        Albert.from_pretrained(saved)
    assert len(str(error.value)) < 700


@pytest.mark.parametrize("entry", [1, [1], "all"])
def test_an_entry_of_ours_that_is_no_object(entry, saved):
    edit_config(saved, minalbert=entry)
    with pytest.raises(PretrainedError, match=r"minalbert is .*; it must be an object, or absent"):
        Albert.from_pretrained(saved)


def test_a_file_in_the_place_of_a_directory(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(PretrainedError, match="taken is a file; it must be a directory"):
        tiny().save_pretrained(tmp_path / "taken")


# State dicts that do not fit


def state_of(config=TINY):
    return state_dict.to_state_dict(hard_params(config), config)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda state: state.pop("predictions.bias"), "the state dict lacks predictions.bias: the trunk must be whole"),
        (lambda state: state.update({"scorer.weight": np.zeros((3, 6))}),
         "the state dict has tensors that this model does not have: scorer.weight; strict=False ignores them"),
        (lambda state: state.update({WORD: state[WORD].T}),
         f"{WORD} has shape (4, 11); for this configuration it must be (11, 4)"),
    ],
)  # fmt: skip
def test_a_state_dict_that_does_not_fit_is_one_sentence(change, sentence):
    state = state_of()
    change(state)
    with pytest.raises(PretrainedError) as error:
        state_dict.from_state_dict(state, TINY)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_state_dict_without_strict_takes_what_fits():
    state = state_of() | {"scorer.weight": np.zeros((3, 6))}
    del state["predictions.bias"]
    arrays = state_dict.from_state_dict(state, TINY, strict=False)
    assert arrays.keys() == shapes(TINY).keys() - {"mlm.bias"}


def test_copies_of_shared_weights_that_differ_are_an_error():
    config = TINY.replace(sharing="ffn")  # a group for each layer, in transformers
    state = state_of(config)
    name = next(name for name in state if name.endswith("layer_groups.1.albert_layers.0.ffn.bias"))
    state[name] = state[name] + 1
    with pytest.raises(PretrainedError, match=r"groups\.1.* differs from its copies in other groups"):
        state_dict.from_state_dict(state, config)
