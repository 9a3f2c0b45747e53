"""The step-time model, by hand and against the bytes that the sum over ranks sends; and `minalbert params --ranks`."""

import json
import re

import pytest
from test_cli import printed, refused

from minalbert import PRESETS, AlbertConfig
from minalbert.analysis import cost, step_time
from minalbert.analysis.step_time import Machines
from minalbert.errors import InputError
from minalbert.parallel.rank_sum import bytes_sent
from minalbert.params import count

SMALL = AlbertConfig(vocab_size=10, embedding_size=2, hidden_size=4, num_hidden_layers=3, num_attention_heads=2,
                     intermediate_size=8, max_position_embeddings=6, type_vocab_size=2)  # fmt: skip
PAPERS = 4096, 512, Machines(64, 1.0, 25e9 / 8, 900e9)


def calibrated():
    batch, length, machines = PAPERS
    return batch, length, machines._replace(rate=step_time.rate_of_the_paper(*PAPERS))


def test_three_terms_by_hand():
    """Eight sequences of six tokens, one of them predicted, on four machines."""
    layers = 3 * 6 * (4 * 4 * 4 + 2 * 4 * 8 + 2 * 6 * 4)  # multiply-adds: attention's matrices, the others, the scores
    heads = 1 * (4 * 2 + 2 * 10) + 4 * 4 + 4 * 2
    operations = 8 * 3 * 2 * (6 * 2 * 4 + layers + heads)
    tables = (10 + 6 + 2) * 2 + 2 * 2 + 2 * 4 + 4
    layer = 4 * (4 * 4 + 4) + (4 * 8 + 8) + (8 * 4 + 4) + 2 * 2 * 4
    weights = tables + layer + (4 * 4 + 4) + (4 * 2 + 2 + 2 * 2 + 10) + (2 * 4 + 2)
    found = step_time.step_time(SMALL, 8, 6, Machines(4, rate=1000.0, bandwidth=10.0, memory=70.0))
    assert found.computing == pytest.approx(operations / (4 * 1000))
    assert found.sending == pytest.approx(2 * 3 / 4 * 4 * weights / 10)
    own = 4 + (4 * 8 + 8) + (8 * 4 + 4) + 2 * 4 + 4 * 4  # from attention's last bias to the pooler's w
    assert found.updating == pytest.approx(7 * 4 * own / 70)
    assert found.total == pytest.approx(sum(found))


def test_one_machine_sends_nothing_and_computes_all():
    alone, two = (step_time.step_time(SMALL, 8, 6, Machines(n, 1e3, 1e3)) for n in (1, 2))
    assert alone.sending == 0
    assert alone.computing == 2 * two.computing
    assert alone.updating == two.updating == 0


@pytest.mark.parametrize("ranks", [1, 2, 4, 64])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_bytes_are_those_of_the_sum_over_ranks(ranks, itemsize):
    config = PRESETS["albert-base"]
    assert ranks * step_time.sent_bytes(config, ranks, itemsize) == bytes_sent(count(config), itemsize, ranks)


def test_at_the_bandwidth_of_equal_steps_they_are_equal():
    bert, xxlarge = PRESETS["bert-large"], PRESETS["albert-xxlarge"]
    batch, length, machines = calibrated()
    equal = step_time.bandwidth_of_equal_steps(bert, xxlarge, batch, length, machines)
    for factor, faster in ((0.5, xxlarge), (1.0, None), (2.0, bert)):
        times = {config: step_time.step_time(config, batch, length, machines._replace(bandwidth=factor * equal)).total
                 for config in (bert, xxlarge)}  # fmt: skip
        if faster:
            assert min(times, key=times.get) == faster
        else:
            assert times[bert] == pytest.approx(times[xxlarge])
    assert step_time.bandwidth_of_equal_steps(bert, PRESETS["albert-base"], batch, length, machines) is None
    assert step_time.bandwidth_of_equal_steps(PRESETS["albert-base"], bert, batch, length, machines) is None


def test_one_number_of_the_paper_sets_the_rate_and_the_others_follow_as_far_as_they_do():
    """ALBERT-base's 5.6 comes out. What does not: BERT-base, and the two wide models."""
    models = {name: PRESETS[name] for name in step_time.PAPER}
    rows = step_time.table(models, *calibrated())
    assert rows["albert-large"]["speed"] == pytest.approx(1.7)
    assert rows["albert-base"]["speed"] == pytest.approx(5.6, abs=0.05)
    for name, speed in (("bert-base", 3.2), ("albert-xlarge", 0.45), ("albert-xxlarge", 0.22)):
        assert rows[name]["speed"] == pytest.approx(speed, abs=0.05), name
        assert rows[name]["unexplained"] == pytest.approx(rows[name]["paper"] / rows[name]["speed"])
    assert rows["albert-large"]["speed_by_operations"] == pytest.approx(1.01, abs=0.01)


def test_the_rate_of_the_paper_needs_machines_that_send():
    with pytest.raises(InputError, match="one machine sends nothing"):
        step_time.rate_of_the_paper(32, 128, Machines(1, 1.0, 1e9))


@pytest.mark.parametrize("field", ["rate", "bandwidth"])
def test_a_rate_is_above_zero(field):
    with pytest.raises(InputError, match=f"{field} is 0; it must be a number, above 0"):
        step_time.step_time(SMALL, 8, 6, Machines(4, 1.0, 1.0)._replace(**{field: 0}))


def test_the_screen_has_the_papers_models_and_the_one_that_is_named(capsys):
    lines = printed(capsys, "params", "--ranks", "64", "--bandwidth", "25G", "--preset", "tiny").splitlines()
    assert max(map(len, lines)) <= 100
    named = [line.split()[0] for line in lines[4:11]]
    assert named == [*step_time.PAPER, "tiny"]
    assert re.search(r"albert-large +\d+ .* 1\.70× +1\.7× +1\.00×", "\n".join(lines))
    assert any("Updating is left out" in line for line in lines)


def test_json_has_what_the_function_says(capsys):
    argv = "--ranks 8 --bandwidth 10G --rate 3T --memory 100G --batch 64 --length 128".split()
    found = json.loads(printed(capsys, "params", "--json", *argv))
    machines = Machines(8, 3e12, 10e9 / 8, 100e9)  # bits a second, in bytes
    assert found["machines"] == machines._asdict()
    models = {name: PRESETS[name] for name in step_time.PAPER}
    assert found["models"] == step_time.table(models, 64, 128, machines)


def test_a_model_that_is_changed_has_a_row_of_its_own(capsys):
    argv = "--ranks 8 --bandwidth 10G --preset albert-base --sharing none".split()
    found = json.loads(printed(capsys, "params", "--json", *argv))
    config = PRESETS["albert-base"].replace(sharing="none")
    row = found["models"]["albert-base-v2, changed"]
    assert row["sent_bytes"] == 2 * 7 / 8 * cost.all_reduced_bytes(config)
    assert (row["paper"], row["unexplained"]) == (None, None)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("--ranks 4", "--bandwidth is missing; it must be the bits a second that each machine sends, such as 25G"),
        ("--ranks 0 --bandwidth 1G", "--ranks is 0"),
        ("--ranks 4 --bandwidth fast", "--bandwidth: fast is not a number above 0, such as 25G"),
        ("--ranks 4 --bandwidth G", "--bandwidth: G is not a number"),
        ("--ranks 4 --bandwidth 1G --rate nan", "--rate: nan is not a number"),
        ("--ranks 4 --bandwidth 1G --memory 0", "--memory: 0 is not a number above 0"),
        ("--ranks 1 --bandwidth 1G", "one machine sends nothing"),
        ("--bandwidth 1G", "--bandwidth was given without --ranks"),
    ],
)
def test_bad_input_is_one_sentence(capsys, argv, words):
    assert words in refused(capsys, "params", *argv.split())
