"""Do the shares of words say what a model does when a word is hidden?

    python benchmarks/hidden_words.py MODEL DATA [--examples 120]

MODEL is one of `minalbert finetune` for labels of texts, DATA the directory of its task. For each text of the dev set
each word is hidden behind [MASK], one at a time, and the score of the label that was found, less that of the next, is
computed again. Printed is how the words' shares correlate with what that takes off (a mean over texts), and in how many
texts the word of the largest share is the one that takes off most.
"""

import argparse

import numpy as np

from minalbert.data.tokenizer import CLS, MASK, SEP
from minalbert.model.tasks import classifier_forward
from minalbert.tasks import open_finetuned
from minalbert.tasks.metrics import pearson
from minalbert.tasks.shares import label_decision, token_shares


def taken_off(model, sequence, places, best, other):
    """What hiding each of some places takes off the best label's lead."""
    ids = np.tile(sequence.input_ids, (len(places) + 1, 1))
    ids[np.arange(len(places)), places] = MASK
    _, pooled = model.encode(ids, None, np.tile(sequence.token_type_ids, (len(ids), 1)))
    scores, _ = classifier_forward(pooled, model.params)
    lead = scores[:, best] - scores[:, other]
    return lead[-1] - lead[:-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--examples", type=int, default=120, help="texts (default: 120)")
    options = parser.parse_args()
    model, tokenizer, task, _ = open_finetuned(options.model, options.data)
    examples = task.examples(task.dev, tokenizer)
    scores, correlations, agree = task.predict(model, examples).scores, [], []
    for item, row in zip([*examples][: options.examples], scores, strict=False):
        (sequence,), (best, other) = item.sequences, (-row).argsort(kind="stable")[:2]
        places = [i for i, token in enumerate(sequence.input_ids) if token not in (CLS, SEP)]
        shares = token_shares(model, sequence, label_decision(best, other))[places]
        hidden = taken_off(model, sequence, places, best, other)
        correlations.append(pearson(shares, hidden))
        agree.append(shares.argmax() == hidden.argmax())
    print(f"{len(agree)} texts: correlation {np.mean(correlations):.2f}, the same first word in {np.mean(agree):.0%}")


if __name__ == "__main__":
    main()
