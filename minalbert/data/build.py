"""Text becomes shards: one task for each shard, each a pure function of its fields.

`build_shard(task)` reads its own source and writes its own files; so tasks can run in any order, on any machine
that sees the files, twice or after a kill, and always write the same bytes. Anything with the interface of
`concurrent.futures.Executor` can run them: a pool of processes (the default), `mpi4py.futures` or Dask on a cluster.

    corpus = build(text_sources(["books/"], layout="lines"), "spiece.model", "corpus/", workers=4)

A finished shard has a record, `shard-000000.json`, written after its files. A build that was stopped continues with the
shards that have no record. Input files are recognised by name and size. A corpus can grow if more text follows the same
text, and instances then have other numbers; for any other change, build into a new directory.
"""

import functools
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent import futures
from contextlib import suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from ..arguments import like, of_kind, path_of, whole
from ..errors import DamagedError, DataError, FileError
from ..files import PARTIAL, AtomicFile, checksum, explained, read, read_json, settle, write_atomically
from .manifest import AGAIN, COUNTS, FORMAT, MANIFEST, read_manifest
from .packing import Packer, token_dtype
from .shards import Corpus, verify_shard
from .tokenizer import Tokenizer
from .tokenizers import FILE_NAMES, load_tokenizer

MOST_WORKERS = 1024
HOUR = 3600                                          # seconds after which no build is writing a partial file any more


class Task(NamedTuple):
    """One shard to build."""

    directory: str
    name: str                                        # of the shard
    source: object                                   # has documents() and describe(), and can be pickled
    tokenizer: str                                   # the tokenizer's file
    settings: dict                                   # whatever else the bytes depend on


def build(sources, tokenizer, directory, *, settings=None, workers=1, executor=None, progress=None):
    """Write one shard for each source, then the manifest, and return the corpus.

    `workers` is the number of tasks that run at once, in a pool of processes or on the executor that is given.
    `progress` is called with the record of each finished shard.
    """
    workers = whole("workers", workers, 1, MOST_WORKERS, DataError)
    directory = path_of("directory", directory, DataError)
    of_kind("tokenizer", tokenizer, Tokenizer | str | PathLike, DataError)
    of_kind("settings", settings, dict | None, DataError)
    of_kind("progress", progress, Callable | None, DataError)
    if executor is not None:
        like("executor", executor, "an executor, as concurrent.futures has them", "submit", error=DataError)
    sources = (like("a source", source, "one of text_sources or story_sources", "documents", "describe",
                    error=DataError) for source in of_kind("sources", sources, Iterable, DataError))
    tasks, tokenizer_file, settings = plan(sources, tokenizer, directory, settings)
    records = run_all(tasks, workers, executor, progress or (lambda record: None))
    return finish(directory, records, tokenizer_file.name, settings)


def plan(sources, tokenizer, directory, settings=None):
    """(tasks, path of the tokenizer's copy, settings), for other programs that run the tasks."""
    tokenizer_file, identity = move_in(tokenizer, Path(directory))
    settings = {**identity, **(settings or {})}
    tasks = (
        Task(str(directory), f"shard-{number:06d}", source, str(tokenizer_file), settings)
        for number, source in enumerate(sources)
    )
    return of_this_corpus(tasks, Path(directory), settings), tokenizer_file, settings


# One shard.

def build_shard(task):
    """Write a shard and its record, unless they are there already, and return the record."""
    record = finished(task)
    if record:
        return record
    tokenizer = tokenizer_of_this_process(task.tokenizer)
    path = Path(task.directory) / task.name
    with AtomicFile(path.with_suffix(".tok")) as tokens:
        packer = Packer(tokenizer, tokens.write)
        for document in task.source.documents():
            packer.add(document)
        sentences, documents, topics = packer.finish()
    record = {
        "name": task.name,
        "source": task.source.describe(),
        "documents": len(topics),
        "sentences": len(sentences) - 1,
        "tokens": packer.tokens,
        "sha256": {
            "tok": tokens.sha256,
            "sent": write_atomically(path.with_suffix(".sent"), sentences),
            "doc": write_atomically(path.with_suffix(".doc"), documents),
            "topic": write_atomically(path.with_suffix(".topic"), topics),
        },
    }
    settle(task.directory)                           # the files, before the record
    write_json(path.with_suffix(".json"), {"settings": task.settings, "record": record})
    return record


def finished(task):
    """The record of the shard if it is there, complete, and made by the same task; else None."""
    path = Path(task.directory) / f"{task.name}.json"
    try:
        content = read_json(path, AGAIN)
        record = content["record"]
        if content["settings"] != task.settings or record["source"] != task.source.describe():
            return None
        if read(path, AGAIN) != as_json(content):    # cut off, by white space perhaps
            return None
        verify_shard(task.directory, record, task.settings["vocab_size"])
    except (FileError, KeyError, TypeError):
        return None
    return record


@functools.lru_cache(maxsize=1)
def tokenizer_of_this_process(path):
    return load_tokenizer(path)


# All of them.

def run_all(tasks, workers, executor, progress):
    """Run the tasks and return their records in the tasks' order."""
    if executor is not None:
        return submit_all(tasks, workers, executor, progress)
    if workers == 1:
        return [finished_with(build_shard(task), progress) for task in tasks]
    spawn = multiprocessing.get_context("spawn")     # a fork would copy the threads of BLAS and of the caller
    pool = futures.ProcessPoolExecutor(workers, spawn, leave_with_parent)
    try:
        return submit_all(tasks, workers, pool, progress)
    except futures.BrokenExecutor as error:
        raise DataError(
            "a worker died, because memory was short or because the script calls build() outside of "
            "`if __name__ == '__main__':`; finished shards stay, and the same command continues from there"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def submit_all(tasks, workers, executor, progress):
    """Submit at most two tasks for each worker at a time, because text from a pipe must not pile up in memory."""
    waiting, records = set(), []
    tasks = iter(tasks)
    try:
        while True:
            for task in islice(tasks, 2 * workers - len(waiting)):
                waiting.add(executor.submit(build_shard, task))
            if not waiting:
                return sorted(records, key=lambda record: record["name"])
            done, waiting = futures.wait(waiting, return_when=futures.FIRST_COMPLETED)
            records += [finished_with(future.result(), progress) for future in done]
    except BaseException:
        for future in waiting:
            future.cancel()
        raise


def finished_with(record, progress):
    progress(record)
    return record


def leave_with_parent():
    """In a worker: exit when the process that started it is killed, because no more work will come."""
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


# Before and after.

def move_in(tokenizer, directory):
    """Save the tokenizer in the directory, unless that has another corpus; returns its path and its identity."""
    loaded = tokenizer if isinstance(tokenizer, Tokenizer) else load_tokenizer(tokenizer)
    identity = {"tokenizer_digest": loaded.digest, "vocab_size": loaded.vocab_size}
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory} cannot be made a directory: {error.strerror}") from error
    with explained(directory, ""):
        there = {path.name for path in directory.iterdir()}
    for name in FILE_NAMES:
        if name in there:
            if not any(directory.glob("shard-*.json")) and not (directory / MANIFEST).exists():
                (directory / name).unlink()          # of a build that wrote no shard
                continue
            if not same_tokenizer(directory, name, loaded):
                raise DataError(f"{directory} holds a corpus made with another tokenizer; name a new directory")
            return directory / name, identity
    copy = directory / loaded.file_name
    loaded.save(copy)
    return copy, identity


def same_tokenizer(directory, name, loaded):
    """Is the corpus made with the tokenizer that is wanted? Its copy is written again, in case it is damaged."""
    try:
        copy = load_tokenizer(directory / name).digest
    except (DataError, FileError):
        copy = None
    if copy != loaded.digest:
        with suppress(DataError, DamagedError):      # no manifest, or a damaged one
            copy = read_manifest(directory)["tokenizer_digest"]
        if copy not in (None, loaded.digest):
            return False
    loaded.save(directory / name)
    return True


def of_this_corpus(tasks, directory, settings):
    """The tasks; an error if the directory has a manifest of other text or settings."""
    try:
        manifest = read_manifest(directory)
    except (DataError, DamagedError):
        yield from tasks
        return
    other = f"{directory} holds another corpus"
    for key, value in settings.items():
        if manifest["settings"].get(key) != value:
            raise DataError(f"{other}, with {key} {manifest['settings'].get(key)}, not {value}; name a new directory")
    known = {record["name"]: record["source"] for record in manifest["shards"]}
    for task in tasks:
        if known.pop(task.name, task.source.describe()) != task.source.describe():
            raise DataError(f"{other}: its {task.name} is not made of {task.source.describe()}; name a new directory")
        yield task
    if known:
        raise DataError(f"{other}, with more text: {min(known)} is of {known[min(known)]}; name a new directory")


def finish(directory, records, tokenizer_file, settings):
    """Write the manifest, remove what kills left behind, and open the corpus."""
    records = [record for record in records if record["tokens"]]
    if not records:
        clear_up(directory, ())
        (directory / tokenizer_file).unlink()
        raise DataError("the corpus is empty: no document has a sentence with a token in it")
    manifest = {
        "format": FORMAT,
        "tokenizer": tokenizer_file,
        "tokenizer_digest": settings["tokenizer_digest"],
        "vocab_size": settings["vocab_size"],
        "token_dtype": token_dtype(settings["vocab_size"]).name,
        "totals": {key: sum(record[key] for record in records) for key in COUNTS},
        "settings": settings,
        "shards": records,
    }
    write_json(directory / MANIFEST, {**manifest, "sha256": checksum(manifest)})
    settle(directory)
    clear_up(directory, {record["name"] for record in records})
    return Corpus.open(directory)


def clear_up(directory, names):
    """Remove files that kills and other builds have left, but not files that may be being written now."""
    left_over = [path for path in directory.glob("shard-*") if path.name.split(".")[0] not in names]
    left_over += directory.glob(f"*{PARTIAL}")
    for path in left_over:
        with suppress(OSError):                      # removed by now, or open
            if not path.name.endswith(PARTIAL) or time.time() - path.stat().st_mtime > HOUR:
                path.unlink()


def write_json(path, content):
    write_atomically(path, as_json(content))


def as_json(content):
    return (json.dumps(content, indent=1) + "\n").encode()
