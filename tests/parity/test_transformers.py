"""Ours and `transformers`, side by side, on configurations that show mistakes.

Each case is saved by ours and loaded by theirs, so the files are tested by the way. Errors are relative to the
largest number of an array; a gradient's, to at least a thousandth of the largest gradient, for that of a key
bias is zero but for rounding.

One thing is taken off the peer: `padding_idx`. With it, row 0 of the word table gets no gradient from lookups;
Google's code and ours train it like any other. A test below shows that nothing else depends on it.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")
transformers = pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")

from minalbert import PRESETS, Albert, AlbertConfig, Batch, Params  # noqa: E402
from minalbert.interop import huggingface, state_dict  # noqa: E402
from minalbert.interop.huggingface import to_state_dict  # noqa: E402
from minalbert.params import HEADS, shapes  # noqa: E402

LIMITS = {"float64": 1e-9, "float32": 1e-4}
MAPPING = {f"albert.encoder.embedding_hidden_mapping_in.{leaf}" for leaf in ("weight", "bias")}

TINY = AlbertConfig(
    vocab_size=29,
    embedding_size=8,
    hidden_size=12,
    num_hidden_layers=4,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=9,
)
CASES = {
    "all shared": TINY,
    "erf GELU": TINY.replace(hidden_act="gelu"),
    "gelu_pytorch_tanh": TINY.replace(hidden_act="gelu_pytorch_tanh"),
    "eps = 0.1": TINY.replace(layer_norm_eps=0.1),
    "E > H": TINY.replace(embedding_size=16),
    "E = H": TINY.replace(embedding_size=12),
    "E = H, projection": TINY.replace(embedding_size=12, embedding_projection=True),
    "heads of width 5": TINY.replace(hidden_size=15),
    "one head": TINY.replace(num_attention_heads=1),
    "2 groups": TINY.replace(num_hidden_groups=2),
    "3 groups of 5 layers": TINY.replace(num_hidden_layers=5, num_hidden_groups=3),
    "14 groups of 18 layers": TINY.replace(num_hidden_layers=18, num_hidden_groups=14, layer_norm_eps=0.1),
    "nothing shared": TINY.replace(sharing="none"),
    "attention shared": TINY.replace(sharing="attention"),
    "attention shared in 2 groups": TINY.replace(sharing="attention", num_hidden_groups=2),
    "ffn shared": TINY.replace(sharing="ffn"),
    "three segments": TINY.replace(type_vocab_size=3),
    "dropout, which evaluation ignores": TINY.replace(hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.3),
}


@pytest.fixture(autouse=True, scope="module")
def quiet():
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)


def make_model(config, heads=HEADS, dtype="float64"):
    """Gains far from one and biases from zero, but tokens that stay apart: else attention has no gradient."""
    rng = np.random.default_rng(0)
    params = Params.zeros(shapes(config, heads), "float64")
    for name, tensor in params.items():
        tensor[...] = rng.standard_normal(tensor.shape)
        if name.endswith(".w"):
            tensor /= np.sqrt(len(tensor))
        elif name.endswith(".gain"):
            tensor[...] = 1 + 0.3 * tensor
        elif tensor.ndim == 1:
            tensor *= 0.3
    return Albert(config, params.astype(dtype))


def make_batch(config, size=3, length=7, seed=1):
    """Sequences of all lengths from 1 to the longest, word 0 among the words, one to three targets in each."""
    rng = np.random.default_rng(seed)
    lengths = np.linspace(length, 1, size).astype(int)[:, None]
    place = np.arange(length)
    mask = (place < lengths).astype(np.int64)
    weights = np.zeros((size, min(3, length)))
    positions = np.zeros(weights.shape, np.int64)
    for row, (count,) in enumerate(np.minimum(lengths, weights.shape[1])):
        positions[row, :count] = rng.permutation(lengths[row, 0])[:count]
        weights[row, :count] = 1
    ids = rng.integers(0, config.vocab_size, (size, length)) * mask
    ids[0, 0] = 0
    return Batch(
        input_ids=ids,
        attention_mask=mask,
        token_type_ids=place * config.type_vocab_size // lengths * mask,
        mlm_positions=positions,
        mlm_labels=rng.integers(0, config.vocab_size, positions.shape),
        mlm_weights=weights,
        sop_labels=rng.integers(0, 2, size),
    )


def make_peer(model, directory, attention="eager", cls="AlbertForPreTraining"):
    """Theirs, with our weights, by way of the disk. Every tensor must have found its place."""
    model.save_pretrained(directory)
    peer, loading = getattr(transformers, cls).from_pretrained(
        directory, attn_implementation=attention, output_loading_info=True
    )
    assert not any(loading.values()), loading
    assert peer.dtype == getattr(torch, str(model.params.dtype))
    peer.base_model.embeddings.word_embeddings.padding_idx = None
    return peer.eval()


def run_peer(peer, batch):
    """hidden states, pooled, both logits and losses; gradients are left on the peer."""
    inputs = {name: torch.tensor(getattr(batch, name)) for name in Batch._fields[:3]}
    labels = np.full(batch.input_ids.shape, -100)
    rows, slots = batch.mlm_weights.nonzero()
    labels[rows, batch.mlm_positions[rows, slots]] = batch.mlm_labels[rows, slots]
    labels, orders = torch.tensor(labels), torch.tensor(batch.sop_labels)
    trunk = peer.albert(**inputs, output_hidden_states=True)
    out = peer(**inputs, labels=labels, sentence_order_label=orders)
    out.loss.backward()
    mlm = torch.nn.functional.cross_entropy(out.prediction_logits.flatten(0, 1), labels.flatten())
    values = {f"hidden {i}": hidden for i, hidden in enumerate(trunk.hidden_states)} | {
        "pooled": trunk.pooler_output,
        "mlm logits": out.prediction_logits[batch.attention_mask.astype(bool)],
        "sop logits": out.sop_logits,
        "mlm loss": mlm,
        "sop loss": torch.nn.functional.cross_entropy(out.sop_logits, orders),
        "total": out.loss,
    }
    return {name: value.detach().numpy() for name, value in values.items()}


def run_ours(model, batch):
    inputs = batch[:3]
    hidden, pooled = model.encode(*inputs)
    losses = model.loss(batch)
    return {f"hidden {i}": hidden for i, hidden in enumerate(model.hidden_states(*inputs))} | {
        "pooled": pooled,
        "mlm logits": model.mlm_logits(hidden)[batch.attention_mask.astype(bool)],  # 0 went in at padding
        "sop logits": model.sop_logits(pooled),
        "mlm loss": losses.mlm,
        "sop loss": losses.sop,
        "total": losses.total,
    }


def peer_gradients(peer, config):
    """Theirs by name. Where they have copies of what we share, each stands for the sum over all copies."""
    gradients = {name: weight.grad.numpy() for name, weight in peer.named_parameters()}
    ours = state_dict.names(config)
    sums = {}
    for name, gradient in gradients.items():
        sums[ours[name]] = sums.get(ours[name], 0) + gradient
    return {name: sums[ours[name]] for name in gradients}


def assert_close(ours, theirs, limit, floors=None):
    assert set(ours) == set(theirs)
    for name in theirs:
        assert ours[name].shape == theirs[name].shape, name
        error = np.abs(ours[name] - theirs[name]).max() / max(np.abs(theirs[name]).max(), floors or 0)
        assert error <= limit, f"{name}: relative error {error:.1e}"


def assert_parity(model, peer, batch):
    limit = LIMITS[str(model.params.dtype)]
    theirs = run_peer(peer, batch)
    assert_close(run_ours(model, batch), theirs, limit)
    gradients = peer_gradients(peer, model.config)
    _, grads = model.loss_and_grads(batch)
    ours = to_state_dict(grads, model.config)
    assert set(gradients) - set(ours) == (set() if model.config.has_projection else MAPPING)
    largest = max(np.abs(gradient).max() for gradient in gradients.values())
    assert_close(ours, {name: gradients[name] for name in ours if name in gradients}, limit, 1e-3 * largest)


# Values and gradients


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("config", CASES.values(), ids=CASES)
def test_every_value_and_every_gradient_is_theirs(config, attention, dtype, tmp_path):
    model = make_model(config, dtype=dtype)
    assert_parity(model, make_peer(model, tmp_path, attention), make_batch(config))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_scores_larger_than_any_before_still_hide_padding(attention, tmp_path):
    """Queries and keys 150 times as large."""
    model, batch = make_model(TINY), make_batch(TINY)
    for name in model.params:
        if ".query." in name or ".key." in name:
            model.params[name][...] *= 150
    assert_close(run_ours(model, batch), run_peer(make_peer(model, tmp_path, attention), batch), 1e-9)


@pytest.mark.parametrize(("size", "length"), [(1, 7), (4, 1), (1, 1), (2, 9)])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_batches_of_other_shapes(size, length, attention, tmp_path):
    model = make_model(TINY)
    assert_parity(model, make_peer(model, tmp_path, attention), make_batch(TINY, size, length))


def test_their_padding_row_differs_by_its_lookups_alone(tmp_path):
    """Left as they are, with padding_idx = 0, they agree too where only padding looks up row 0."""
    model, batch = make_model(TINY), make_batch(TINY)
    peer = make_peer(model, tmp_path)
    peer.albert.embeddings.word_embeddings.padding_idx = 0
    words = np.where(batch.attention_mask == 1, np.maximum(batch.input_ids, 1), 0)
    assert_parity(model, peer, batch._replace(input_ids=words))


def test_ten_steps_of_descent_stay_together(tmp_path):
    """Attention is shared here and copied there: summed gradients keep the copies equal."""
    config = TINY.replace(sharing="attention", layer_norm_eps=0.01)
    model, batch = make_model(config), make_batch(config)
    peer = make_peer(model, tmp_path)
    for _ in range(10):
        peer.zero_grad()
        theirs = run_peer(peer, batch)["total"]
        gradients = peer_gradients(peer, config)
        with torch.no_grad():
            for name, weight in peer.named_parameters():
                weight -= 0.02 * torch.tensor(gradients[name])
        losses, grads = model.loss_and_grads(batch)
        model.params.flat[...] -= 0.02 * grads.flat
        assert losses.total == pytest.approx(theirs, rel=1e-9)


# Directories that transformers writes


def hf_config(**changes):
    sizes = {key: value for key, value in vars(TINY).items() if key in huggingface.OFFICIAL}
    return transformers.AlbertConfig(**sizes | {"initializer_range": 0.3} | changes)


def assert_same_hidden(peer, model, limit=1e-4):
    batch = make_batch(TINY)
    inputs = {name: torch.tensor(getattr(batch, name)) for name in Batch._fields[:3]}
    with torch.no_grad():
        theirs = peer.eval().base_model(**inputs)
    hidden, pooled = model.encode(*batch[:3])
    real = batch.attention_mask.astype(bool)  # behind a text's last token ours is 0
    assert_close({"hidden": hidden[real]}, {"hidden": theirs.last_hidden_state.numpy()[real]}, limit)
    assert (pooled is None) == (theirs.pooler_output is None)
    if pooled is not None:
        assert_close({"pooled": pooled}, {"pooled": theirs.pooler_output.numpy()}, limit)


@pytest.mark.parametrize(
    ("cls", "heads"),
    [("AlbertModel", {"pooler"}), ("AlbertForMaskedLM", {"mlm"}), ("AlbertForPreTraining", set(HEADS))],
)
def test_a_directory_of_theirs_is_loaded(cls, heads, tmp_path):
    peer = getattr(transformers, cls)(hf_config())
    peer.save_pretrained(tmp_path)
    model = Albert.from_pretrained(tmp_path)
    assert {name.split(".")[0] for name in model.params} - {"embeddings", "encoder"} == heads
    assert_same_hidden(peer, model)


@pytest.mark.parametrize(
    ("cls", "head"),
    [
        ("AlbertForSequenceClassification", "classifier.w"),
        ("AlbertForTokenClassification", "classifier.w"),
        ("AlbertForMultipleChoice", "classifier.w"),
        ("AlbertForQuestionAnswering", "span.w"),
    ],
)
def test_a_task_model_of_theirs_is_loaded_with_its_head(cls, head, tmp_path):
    peer = getattr(transformers, cls)(hf_config(num_labels=2 if "Question" in cls else 5))
    peer.save_pretrained(tmp_path)
    model = Albert.from_pretrained(tmp_path)
    assert model.params[head].shape == (TINY.hidden_size, {"span.w": 2}.get(head, 1 if "Choice" in cls else 5))
    assert_same_hidden(peer, model)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 6, "num_hidden_groups": 3},
        {"num_hidden_groups": 4},
        {"embedding_size": 12},
        {"hidden_act": "gelu", "layer_norm_eps": 1e-3},
    ],
    ids=str,
)
def test_their_settings_are_read(changes, tmp_path):
    peer = transformers.AlbertForPreTraining(hf_config(**changes))
    peer.save_pretrained(tmp_path)
    model = Albert.from_pretrained(tmp_path)
    assert model.config.has_projection
    assert_same_hidden(peer, model)


def test_their_shards_are_put_together(tmp_path):
    peer = transformers.AlbertForPreTraining(hf_config())
    peer.save_pretrained(tmp_path, max_shard_size="3KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    assert_same_hidden(peer, Albert.from_pretrained(tmp_path))


def test_their_float16_is_widened_unless_it_is_asked_for(tmp_path):
    peer = transformers.AlbertForPreTraining(hf_config()).half()
    peer.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="is in float16; it is read as float32"):
        assert Albert.from_pretrained(tmp_path).params.dtype == np.float32
    assert Albert.from_pretrained(tmp_path, dtype="float16").params.dtype == np.float16
    assert_same_hidden(peer.double(), Albert.from_pretrained(tmp_path, dtype="float64"), 1e-9)


def test_their_bfloat16_is_widened(tmp_path):
    peer = transformers.AlbertForPreTraining(hf_config()).bfloat16()
    peer.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="bfloat16"):
        model = Albert.from_pretrained(tmp_path, dtype="float64")
    assert_same_hidden(peer.double(), model, 1e-9)


def test_their_defaults_are_ours(tmp_path):
    theirs = transformers.AlbertConfig().to_dict()
    assert {key: theirs[key] for key in huggingface.OFFICIAL} == {
        key: huggingface.DEFAULTS[key] for key in huggingface.OFFICIAL
    }
    (tmp_path / "config.json").write_text("{}")
    assert huggingface.read_config(tmp_path) == PRESETS["albert-xxlarge-v2"]


def test_their_decoder_bias_counts_where_it_is_untied(tmp_path):
    peer = transformers.AlbertForMaskedLM(hf_config())
    peer.predictions.decoder.bias = torch.nn.Parameter(torch.arange(29.0))
    state = {name: tensor.contiguous() for name, tensor in peer.state_dict().items() if "decoder.weight" not in name}
    peer.save_pretrained(tmp_path, state_dict=state)
    with pytest.warns(UserWarning, match="the first is used, as in transformers"):
        model = Albert.from_pretrained(tmp_path, strict=False)
    again = transformers.AlbertForMaskedLM.from_pretrained(tmp_path).eval()
    batch = make_batch(TINY)
    inputs = {name: torch.tensor(getattr(batch, name)) for name in Batch._fields[:3]}
    with torch.no_grad():
        theirs = again(**inputs).logits.numpy()
    real = batch.attention_mask.astype(bool)
    ours = model.mlm_logits(model.encode(*batch[:3])[0])
    assert_close({"logits": ours[real]}, {"logits": theirs[real]}, 1e-4)


# Directories that both write


def test_a_directory_that_they_saved_again_is_read(tmp_path):
    model = make_model(TINY, dtype="float32")
    model.save_pretrained(tmp_path)
    peer = transformers.AlbertForPreTraining.from_pretrained(tmp_path)
    with torch.no_grad():
        peer.albert.pooler.bias += 1
    peer.save_pretrained(tmp_path)
    assert (tmp_path / "hashes.json").exists()
    again = Albert.from_pretrained(tmp_path)
    np.testing.assert_array_equal(again.params["pooler.b"], model.params["pooler.b"] + 1)


def test_their_classifier_comes_back_through_us(tmp_path):
    labels = {0: "no", 1: "perhaps", 2: "yes"}
    settings = {"id2label": labels, "classifier_dropout_prob": 0.3, "pad_token_id": 1, "bos_token_id": 5}
    peer = transformers.AlbertForSequenceClassification(hf_config(**settings)).eval()
    peer.save_pretrained(tmp_path / "theirs")
    Albert.from_pretrained(tmp_path / "theirs").save_pretrained(tmp_path / "ours")
    again = transformers.AlbertForSequenceClassification.from_pretrained(tmp_path / "ours").eval()
    assert {name: getattr(again.config, name) for name in settings} == settings
    assert again.config.eos_token_id == peer.config.eos_token_id
    inputs = {name: torch.tensor(getattr(make_batch(TINY), name)) for name in Batch._fields[:3]}
    with torch.no_grad():
        assert torch.equal(again(**inputs).logits, peer(**inputs).logits)


# Directories that we write, for their other classes


@pytest.mark.parametrize(
    ("heads", "cls"), [(("pooler",), "AlbertModel"), (("mlm",), "AlbertForMaskedLM"), (HEADS, "AlbertForPreTraining")]
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_directory_of_ours_is_whole_to_their_class_and_keeps_its_dtype(heads, cls, dtype, tmp_path):
    model = make_model(TINY, heads, dtype)
    peer = make_peer(model, tmp_path, cls=cls)
    assert peer.config.architectures == [cls]
    double = Albert(TINY, model.params.astype("float64"))
    assert_same_hidden(peer.double(), double, 1e-9)


def test_whole_numbers_in_our_settings_do_not_stop_them(tmp_path):
    config = TINY.replace(layer_norm_eps=1, initializer_range=1, hidden_dropout_prob=0)
    peer = make_peer(make_model(config), tmp_path)
    assert peer.config.layer_norm_eps == 1.0


# The golden files


def test_make_gives_the_golden_files_again(tmp_path):
    golden = Path(__file__).parent.parent / "golden"
    runpy.run_path(str(golden / "make.py"))["main"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in golden.glob("*.npz")}
    for path in tmp_path.iterdir():
        with np.load(path) as new, np.load(golden / path.name) as old:
            assert set(new) == set(old)
            for name in old:
                if old[name].dtype.kind == "U":
                    assert new[name] == old[name]
                else:
                    np.testing.assert_allclose(new[name], old[name], rtol=1e-9, atol=1e-13, err_msg=name)
