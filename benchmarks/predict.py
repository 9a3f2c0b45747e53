"""How many predictions a second does one core make?

    python benchmarks/predict.py [--examples 4000] [--runs 5] [--json]

A model of the size of the demo's, with fresh weights, on pairs of its stories' sentences, as `minalbert predict` reads
them: from texts to labels. Seconds are the processor's, of one thread.
"""

import argparse
import json
import os
import statistics
import time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from minalbert import PRESETS, Albert
from minalbert.commands.demo import RECIPE, WORLDS
from minalbert.data import WordTokenizer
from minalbert.tasks import open_task
from minalbert.tasks.squad import Question
from minalbert.tasks.tables import TextExample, TextTable

TASKS = {
    "label of a pair": ("mnli", ("pooler", "classifier"), 3),
    "answer of a text": ("squad2", ("answer",), 2),
}


def rows_of(name, pairs):
    if name == "mnli":
        return TextTable([TextExample(str(i), pair, None) for i, pair in enumerate(pairs)], [])
    return [Question(str(i), first, second, None) for i, (first, second) in enumerate(pairs)]


def measure(case, examples, runs):
    name, heads, outputs = TASKS[case]
    tokenizer = WordTokenizer(WORLDS.words())
    sizes = {name: RECIPE.given["model"][name] for name in ("num_hidden_layers", "max_position_embeddings")}
    config = PRESETS["tiny"].replace(vocab_size=tokenizer.vocab_size, **sizes)
    model = Albert.init(config, heads=heads, outputs=outputs, kernels="fused")
    task = open_task(name, max_length=config.max_position_embeddings)
    pairs = [tuple(document.sentences[:2]) for document in WORLDS.documents(0, examples)]
    rates = []
    for _ in range(runs):
        begin = time.process_time()
        encoded = task.encode(rows_of(name, pairs), tokenizer)
        task.predict(model, encoded)
        rates.append(examples / (time.process_time() - begin))
    tokens = sum(len(sequence.input_ids) for item in encoded for sequence in item.sequences) / examples
    return {"case": case, "per_second": statistics.median(rates), "spread": [min(rates), max(rates)], "tokens": tokens}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=4000, help="to predict (default: 4000)")
    parser.add_argument("--runs", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    for case in TASKS:
        row = measure(case, options.examples, options.runs)
        if options.json:
            print(json.dumps(row))
        else:
            low, high = row["spread"]
            print(
                f"{case:18}{row['per_second']:>9,.0f} a second ({low:,.0f} to {high:,.0f}), {row['tokens']:.0f} tokens"
            )


if __name__ == "__main__":
    main()
