"""Where the parameters are. The totals are those of the released models and of the paper's ablations."""

import pytest

from minalbert import PRESETS, Albert
from minalbert.analysis import parameters
from minalbert.analysis.formulas import evaluate, sizes
from minalbert.analysis.report import in_paper
from minalbert.params import shapes

VARIANTS = parameters.variants()
MODELS = {**PRESETS, **VARIANTS}
PARTS = (*parameters.TRUNK, parameters.POOLER, parameters.MLM, parameters.SOP)

#                 trunk        with pooler  with both heads
ALBERT = {
    "base":    (11_092_992, 11_683_584, 11_813_810),
    "large":   (16_634_368, 17_683_968, 17_847_474),
    "xlarge":  (54_528_512, 58_724_864, 59_021_490),
    "xxlarge": (205_814_272, 222_595_584, 223_158_450),
}  # fmt: skip
BERT = {
    ("bert-base", 30_000): (108_490_752, 109_081_344, 109_705_010),
    ("bert-base", 30_522): (108_891_648, 109_482_240, 110_106_428),
    ("bert-large", 30_000): (333_557_760, 334_607_360, 335_691_058),
    ("bert-large", 30_522): (334_092_288, 335_141_888, 336_226_108),
}
ABLATIONS = {
    (64, "none"): (87_057_408, 87_648_000, 87_728_882),
    (128, "none"): (89_059_584, 89_650_176, 89_780_402),
    (256, "none"): (93_063_936, 93_654_528, 93_883_442),
    (768, "none"): (108_490_752, 109_081_344, 109_705_010),
    (64, "all"): (9_090_816, 9_681_408, 9_762_290),
    (128, "all"): (11_092_992, 11_683_584, 11_813_810),
    (256, "all"): (15_097_344, 15_687_936, 15_916_850),
    (768, "all"): (30_524_160, 31_114_752, 31_738_418),
    (768, "attention"): (82_487_808, 83_078_400, 83_702_066),
    (768, "ffn"): (56_527_104, 57_117_696, 57_741_362),
    (128, "attention"): (63_056_640, 63_647_232, 63_777_458),
    (128, "ffn"): (37_095_936, 37_686_528, 37_816_754),
}


def totals(config):
    return tuple(parameters.totals(config).values())


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("size", ALBERT)
def test_albert_has_its_released_size(size, version):
    assert totals(PRESETS[f"albert-{size}-{version}"]) == ALBERT[size]


@pytest.mark.parametrize(("name", "words"), BERT)
def test_bert_has_its_released_size(name, words):
    assert totals(PRESETS[name].replace(vocab_size=words)) == BERT[name, words]


@pytest.mark.parametrize(("E", "sharing"), ABLATIONS)
def test_ablations_have_the_papers_sizes(E, sharing):
    assert totals(VARIANTS[f"E={E} sharing={sharing}"]) == ABLATIONS[E, sharing]


def test_there_are_twelve_ablations():
    assert len(VARIANTS) == len(ABLATIONS) == 12


@pytest.mark.parametrize(
    ("G", "with_pooler"),
    [(1, 11_683_584), (2, 18_771_456), (3, 25_859_328), (4, 32_947_200), (6, 47_122_944), (12, 89_650_176)],
)
def test_groups_add_a_layer_each(G, with_pooler):
    assert totals(PRESETS["albert-base-v2"].replace(num_hidden_groups=G))[1] == with_pooler


@pytest.mark.parametrize("name", [name for name in MODELS if in_paper(name) and "xlarge" not in name])
def test_papers_number_is_the_trunk_or_with_pooler_where_shared(name):
    trunk, with_pooler, _ = totals(MODELS[name])
    assert in_paper(name) == round((trunk if MODELS[name].sharing == "none" else with_pooler) / 1e6)


@pytest.mark.parametrize(("size", "fits"), [("xlarge", 59.7), ("xxlarge", 224.6)])
def test_papers_larger_models_fit_with_wide_positions(size, fits):
    config = PRESETS[f"albert-{size}-v2"]
    E, H = config.embedding_size, config.hidden_size
    narrow = config.max_position_embeddings + config.type_vocab_size + 2
    assert round((totals(config)[1] + narrow * (H - E)) / 1e6, 1) == fits


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_is_in_one_part(name):
    for tensor in shapes(MODELS[name]):
        assert sum(tensor.startswith(part.prefix) for part in PARTS) == 1, tensor
    assert sum(part.numbers(MODELS[name]) for part in PARTS) == totals(MODELS[name])[-1]


@pytest.mark.parametrize("name", MODELS)
def test_formula_is_the_count(name):
    config = MODELS[name]
    parts = [part for part in PARTS if part.name != "projection" or config.has_projection]
    counts = [part.numbers(config) for part in parts]
    assert counts == [part.sets(config) * evaluate(part.formula, sizes(config)) for part in parts]


def test_parts_of_base():
    config = PRESETS["albert-base-v2"]
    assert {part.name: (part.sets(config), part.numbers(config)) for part in PARTS} == {
        "word table": (1, 3_840_000),
        "position table": (1, 65_536),
        "segment table": (1, 256),
        "embedding norm": (1, 256),
        "projection": (1, 99_072),
        "attention": (1, 2_363_904),
        "feed-forward": (1, 4_723_968),
        "pooler": (1, 590_592),
        "masked-word head": (1, 128_688),
        "sentence-order head": (1, 1_538),
    }


@pytest.mark.parametrize(
    ("sharing", "G", "attention", "ffn"),
    [("all", 1, 1, 1), ("all", 3, 3, 3), ("attention", 1, 1, 12), ("attention", 4, 4, 12), ("ffn", 1, 12, 1)],
)
def test_sets_follow_the_sharing(sharing, G, attention, ffn):
    config = PRESETS["albert-base-v2"].replace(sharing=sharing, num_hidden_groups=G)
    sets = {part.name: part.sets(config) for part in PARTS}
    assert (sets["attention"], sets["feed-forward"]) == (attention, ffn)
    assert all(count == 1 for name, count in sets.items() if name not in ("attention", "feed-forward"))


def test_word_embedding_is_factorised():
    assert parameters.word_embedding(PRESETS["albert-base-v2"]) == {
        "table": 3_840_000, "projection": 98_304, "factorised": 3_938_304, "one_table": 23_040_000,
    }  # fmt: skip
    assert parameters.word_embedding(PRESETS["bert-base"]) == {
        "table": 23_040_000, "projection": 0, "factorised": 23_040_000, "one_table": 23_040_000,
    }  # fmt: skip


def test_shared_and_unshared_are_the_two_ends():
    config = PRESETS["albert-base-v2"].replace(sharing="ffn", num_hidden_groups=3)
    assert parameters.layer_weights(parameters.shared(config)) == 7_087_872
    assert parameters.layer_weights(config) == 12 * 2_363_904 + 3 * 4_723_968
    assert parameters.layer_weights(parameters.unshared(config)) == 12 * 7_087_872


@pytest.mark.parametrize("sharing", ["all", "attention", "ffn", "none"])
def test_count_is_the_models_own(sharing):
    config = PRESETS["tiny"].replace(sharing=sharing)
    assert totals(config)[-1] == Albert.init(config).params.flat.size
    assert totals(config)[0] == Albert.init(config, heads=()).params.flat.size
