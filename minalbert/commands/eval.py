"""`minalbert eval MODEL`: scores on documents that the model was not trained on, beside what guessing would score.

A run knows its corpus, which documents it was kept from, how they became instances, and the seed: all of it is taken
from there, and the last evaluation of the run comes out once more, to the digit. With --corpus another corpus is
scored, all documents of it. With --data a fine-tuned model is scored on its task: eval_task.py.
"""

import sys

from ..arguments import whole
from ..data.held_out import Split
from ..data.instances import Instances
from ..data.shards import Corpus
from ..errors import ConfigError, TrainError
from ..train import checkpoint
from ..train.evaluation import baselines, evaluate
from ..train.run_directory import settings_at
from ..train.settings import Settings
from ..train.trained import model_directory, offering_an_earlier_one, open_trained
from ..train.training_data import SPLIT, digest, first_of, prepare
from . import eval_task
from .options import add_section, given_fields
from .printing import print_result
from .run_lines import evaluation_lines, guessing_line


def add_arguments(parser):
    parser.description = "Score a model on documents kept from it: its run's, or with --corpus another corpus, whole."
    parser.add_argument("model", metavar="MODEL", help="a run, a checkpoint, or a Hugging Face model")
    parser.add_argument("--corpus", metavar="DIR",
                        help="that `minalbert data build` made; default: what the run held out")
    parser.add_argument("--tokenizer", metavar="FILE", help="instead of the one that lies with the model")
    parser.add_argument("--sample", type=int, metavar="N", help="instances, at most; default: the run's, or 1000")
    parser.add_argument("--seed", type=int, metavar="N", help="of the instances; default: the run's, or 0")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    eval_task.add_arguments(parser)
    add_section(parser, "recipe")


def run(options):
    directory = model_directory(options.model).resolve()
    if data := eval_task.data_for(options, directory):
        for name in ("corpus", "sample", "seed", *given_fields(options, "recipe")):
            if getattr(options, name) is not None:
                raise ConfigError(f"--{name.replace('_', '-')} is for scores on documents; {options.model} is scored "
                                  f"on the task's files in {data}")
        return eval_task.run(options, data)
    kept = settings_at(directory) if directory.name.startswith("step-") else None
    kernels = "fused" if kept and kept.training.kernels != "plain" else "plain"      # to the run's last digit
    trained = open_trained(options.model, options.tokenizer, kernels)
    settings = settings_of(options, trained, kept)
    if options.corpus:
        batch, known, documents, counted = other_corpus(options.corpus, trained, settings)
    elif kept:
        batch, known, documents, counted = own_documents(trained, settings)
    else:
        raise ConfigError(f"{trained.directory} belongs to no run, which would know its corpus; name one with --corpus")
    count = len(batch.sop_labels)
    if sys.stderr.isatty():
        print(f"scoring {count:,} instances ...", file=sys.stderr)
    found = evaluate(trained.model, batch)
    result = {"model": str(trained.directory), "instances": count, "documents": documents, "counted": counted,
              "evaluation": found._asdict(), "baselines": known._asdict()}
    print_result(options, result, result_lines(result, found, known))
    return 0


def settings_of(options, trained, kept):
    """The run's settings, or the defaults for a model of this length; and then the options."""
    longest = trained.model.config.max_position_embeddings
    settings = kept or Settings().change(max_position_embeddings=longest)
    changes = given_fields(options, "recipe")
    if options.sample is not None:
        whole("sample", options.sample, 1, error=ConfigError)
        changes["evaluate_instances"] = options.sample
    if options.seed is not None:
        changes["seed"] = options.seed
    return settings.change(**changes)


def own_documents(trained, settings):
    """Return (batch, baselines, which documents these are, where the baselines' words were counted)."""
    with offering_an_earlier_one(trained.directory):
        noted = checkpoint.read_note_of(trained.directory)["circumstances"]
    data, section = prepare(settings, split=Split.noted(noted.get(SPLIT))), settings.data
    before = noted.get("held-out data")
    now = data.hashes["held-out data"]
    if before != now:
        raise TrainError(f"the held-out data is {now}; {trained.directory} was tested on {before}: name a corpus with "
                         "--corpus to score it whole")
    share = f"the {section.held_out_share:.1%} of {section.corpus} that were kept from training"
    return data.held_out, data.baselines, section.held_out or share, "the training documents"


def other_corpus(directory, trained, settings):
    """The same of all documents of another corpus."""
    corpus = Corpus.open(directory)
    instances = Instances(corpus, trained.tokenizer, settings.recipe, settings.training.seed)
    batch = first_of(instances, settings.records.evaluate_instances)
    documents = f"all of {directory} ({digest(corpus)})"
    return batch, baselines(corpus, batch), documents, "these documents themselves"


def result_lines(result, found, known):
    yield f"{result['model']}: {result['instances']:,} instances of {result['documents']}"
    heads, scores = evaluation_lines(None, found)
    yield from (heads, scores.replace("now  ", "model", 1))
    yield guessing_line(known)
    yield f"guessing: the most frequent word, each word as often as it occurs in {result['counted']}, a random order"
