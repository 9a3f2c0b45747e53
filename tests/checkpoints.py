"""Checkpoints to save and to spoil, and processes that do so."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from fingerprint import fingerprint

from minalbert import AlbertConfig
from minalbert.optim import Moments
from minalbert.params import Params, initialise, shapes
from minalbert.train.checkpoint import SavedState, save

SMALL = AlbertConfig(
    vocab_size=40,
    embedding_size=6,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=12,
    max_position_embeddings=10,
)
CONFIGS = {
    "shared": SMALL,
    "unshared": SMALL.replace(sharing="none"),
    "grouped": SMALL.replace(num_hidden_groups=2),
    "no projection": SMALL.replace(embedding_size=8),
    "projection of equal sizes": SMALL.replace(embedding_size=8, embedding_projection=True),
}
EXTRA = {"watch": [[0.1, 2.5e-300], [1e22], 3], "reached": ["left the plateau"], "passed_over": [[3, 5]]}
ENVIRONMENT = {"NumPy": "2.4.6", "corpus": "0" * 64}


def state_of(step, config=SMALL, dtype="float32", heads=("pooler", "mlm", "sop"), extra=EXTRA):
    """Numbers that only this step has, among them those that arithmetic would lose."""
    rng = np.random.default_rng(step)
    vectors = [initialise(config, step, heads, dtype).flat]
    for _ in "mv":
        vectors.append(rng.standard_normal(vectors[0].size).astype(dtype))
        vectors[-1][:4] = -0.0, np.inf, 1e-40, np.nan
    w, m, v = (Params(flat, shapes(config, heads)) for flat in vectors)
    return SavedState(step, 3 * step, w, Moments(m, v), extra)


def bits(state):
    return [fingerprint(params.flat) for params in (state.params, *state.moments)]


def assert_same(found, saved):
    assert (found.step, found.batch_index, found.extra) == (saved.step, saved.batch_index, saved.extra)
    assert found.params.shapes == saved.params.shapes
    assert {params.dtype for params in (found.params, *found.moments)} == {saved.params.dtype}
    assert bits(found) == bits(saved)


def save_step(run, step, **options):
    return save(run, SMALL, state_of(step), ENVIRONMENT, **options)


def names_in(run):
    return sorted(path.name for path in Path(run).iterdir())


PREAMBLE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import errno, itertools, os, resource, shutil, signal, subprocess, time
import numpy as np
from pathlib import Path
from checkpoints import *
from minalbert.train import checkpoint, saved_steps
from minalbert.train import process as lock_module
from minalbert.train.checkpoint import TrainError, load, save, steps, verify
""".replace("resource, " * (os.name != "posix"), "")


def command(program, *args):
    """To run a program of the things in this file, in a process of its own."""
    return [sys.executable, "-c", PREAMBLE + program, *map(str, args)]


def python(*program, before=()):
    return subprocess.run([*before, *command(*program)], capture_output=True, text=True)


def begin(*program):
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*program), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
