"""Building: the same bytes whoever builds, in whatever pieces, and however often it is killed."""

import errno
import gzip
import io
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent import futures
from pathlib import Path

import numpy as np
import pytest
import small_text

from minalbert import files
from minalbert.data.build import build, build_shard, plan
from minalbert.data.documents import Document, read_documents
from minalbert.data.packing import Packer
from minalbert.data.shards import Corpus
from minalbert.data.sources import ReadText, Stories, story_sources, text_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DataError, FileError

BETWEEN = {"lines": "\n\n", "long-lines": "\n\n", "paragraphs": "\n\n\n\n"}


@pytest.fixture
def text(tmp_path):
    return small_text.write_lines(tmp_path / "text.txt", small_text.documents())


@pytest.fixture
def undisturbed(text, tmp_path):
    """The bytes that every other way of building must give."""
    build(text_sources([text], shard_tokens=300), small_text.tokenizer(), tmp_path / "undisturbed")
    return small_text.bytes_of(tmp_path / "undisturbed")


def joined(corpus):
    """All shards as one: (tokens, lengths of sentences, of documents, topics)."""
    return [
        np.concatenate([shard.tokens for shard in corpus.shards]).tolist(),
        np.concatenate([np.diff(shard.sentences) for shard in corpus.shards]).tolist(),
        np.concatenate([np.diff(shard.documents) for shard in corpus.shards]).tolist(),
        np.concatenate([shard.topics for shard in corpus.shards]).tolist(),
    ]


# The same bytes.


def test_processes_threads_and_none_give_the_same_bytes(text, tmp_path, undisturbed):
    assert sum(name.endswith(".tok") for name in undisturbed) > 3
    sources = text_sources([text], shard_tokens=300)
    build(sources, small_text.tokenizer(), tmp_path / "processes", workers=2)
    assert small_text.bytes_of(tmp_path / "processes") == undisturbed
    with futures.ThreadPoolExecutor(3) as executor:
        build(sources, small_text.tokenizer(), tmp_path / "threads", workers=3, executor=executor)
    assert small_text.bytes_of(tmp_path / "threads") == undisturbed


def test_any_map_over_the_tasks_gives_the_same_bytes(text, tmp_path, undisturbed):
    sources = text_sources([text], shard_tokens=300)
    tasks, _, _ = plan(sources, small_text.tokenizer(), tmp_path / "mapped")
    tasks = pickle.loads(pickle.dumps(list(tasks)))
    names = [build_shard(task)["name"] for task in reversed(tasks)]
    with pytest.raises(DataError, match="did not finish"):
        Corpus.open(tmp_path / "mapped")
    build(sources, small_text.tokenizer(), tmp_path / "mapped")
    assert [f"{name}.tok" in undisturbed for name in names] == [True] * len(tasks)
    assert small_text.bytes_of(tmp_path / "mapped") == undisturbed


def as_a_kill_leaves_it(text, directory):
    """Half of the shards, one of them without its record, and no manifest."""
    tasks = list(plan(text_sources([text], shard_tokens=300), small_text.tokenizer(), directory)[0])
    for task in tasks[: len(tasks) // 2]:
        build_shard(task)
    (directory / f"{tasks[0].name}.json").unlink()


@pytest.mark.parametrize("half_way", [False, True])
def test_mpi_gives_the_same_bytes(text, tmp_path, undisturbed, half_way):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install mpi4py mpich)")
    if half_way:
        as_a_kill_leaves_it(text, tmp_path / "mpi")
    script = f"""
from mpi4py.futures import MPIPoolExecutor
from minalbert.data.build import build
from minalbert.data.sources import text_sources
import small_text
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        sources = text_sources([{str(text)!r}], shard_tokens=300)
        build(sources, small_text.tokenizer(), {str(tmp_path / "mpi")!r}, workers=2, executor=executor)
"""
    path = tmp_path / "mpi.py"
    path.write_text(script, encoding="utf-8")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    argv = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", path]
    subprocess.run(argv, env=environment(), check=True, timeout=120)
    assert small_text.bytes_of(tmp_path / "mpi") == undisturbed


@pytest.mark.parametrize("half_way", [False, True])
def test_dask_gives_the_same_bytes(text, tmp_path, undisturbed, half_way):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (pip install distributed)")
    if half_way:
        as_a_kill_leaves_it(text, tmp_path / "dask")
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        sources = text_sources([text], shard_tokens=300)
        build(sources, small_text.tokenizer(), tmp_path / "dask", workers=2, executor=client.get_executor())
    assert small_text.bytes_of(tmp_path / "dask") == undisturbed


@pytest.mark.parametrize("layout", BETWEEN)
@pytest.mark.parametrize("shard_tokens", [1, 7, 60, 1000, 10**6])
def test_a_file_cut_anywhere_is_the_same_text(tmp_path, layout, shard_tokens):
    texts = [[sentence.capitalize() + "." for sentence in text] for text in small_text.documents(40, fewest=2)]
    words = [*(word.capitalize() for word in small_text.WORDS), *small_text.WORDS]
    tokenizer = WordTokenizer([form for word in words for form in (word, word + ".")])
    path = small_text.write_lines(tmp_path / "text.txt", texts, BETWEEN[layout])
    whole = Corpus.from_documents(read_documents([path], layout), tokenizer)
    assert whole.totals()["documents"] == 40
    sources = text_sources([path], layout, shard_tokens)
    corpus = build(sources, tokenizer, tmp_path / "corpus")
    assert joined(corpus) == joined(whole)
    assert len(corpus.shards) == (40 if shard_tokens == 1 else 1 if shard_tokens == 10**6 else len(sources))


@pytest.mark.parametrize("text", ["\n\n \na b\n\t\n\nc\n\n\n", "a b\r\n\r\nc\r\n", "\n" * 70_000 + "a b\n\nc"])
def test_blank_lines_of_all_kinds_end_a_document(tmp_path, text):
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    corpus = build(text_sources([path], shard_tokens=1), WordTokenizer("abc"), tmp_path / "corpus")
    assert joined(corpus) == [[5, 6, 7], [2, 1], [1, 1], [-1, -1]]


def test_small_files_share_a_shard_and_blank_ones_leave_no_trace(tmp_path):
    for number, text in enumerate(["a", "", "b b", " \n \n", "c"]):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    sources = text_sources([tmp_path], shard_tokens=1000)
    assert len(sources) == 1
    assert joined(build(sources, WordTokenizer("abc"), tmp_path / "corpus"))[0] == [5, 6, 6, 7]
    sources = text_sources([tmp_path], shard_tokens=1)
    assert joined(build(sources, WordTokenizer("abc"), tmp_path / "apart"))[0] == [5, 6, 6, 7]


def test_compressed_files_and_pipes(text, tmp_path, monkeypatch):
    plain = joined(build(text_sources([text], shard_tokens=300), small_text.tokenizer(), tmp_path / "plain"))
    packed = tmp_path / "text.txt.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    corpus = build(text_sources([packed], shard_tokens=300), small_text.tokenizer(), tmp_path / "packed")
    assert (joined(corpus), len(corpus.shards)) == (plain, 1)

    for where, workers in (("pipe", 1), ("pipe2", 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
        sources = text_sources(["-"], shard_tokens=300)
        corpus = build(sources, small_text.tokenizer(), tmp_path / where, workers=workers)
        assert joined(corpus) == plain
        assert len(corpus.shards) > 3
    assert small_text.bytes_of(tmp_path / "pipe") == small_text.bytes_of(tmp_path / "pipe2")


def test_tiny_worlds_in_shards_are_the_same_stories(tmp_path):
    worlds = TinyWorlds(seed=5)
    tokenizer = WordTokenizer(worlds.words())
    corpus = build(story_sources(worlds, 25, 10), tokenizer, tmp_path / "corpus")
    assert [len(shard.topics) for shard in corpus.shards] == [10, 10, 5]
    assert joined(corpus) == joined(Corpus.from_documents(Stories(worlds, 0, 25).documents(), tokenizer))
    assert joined(corpus)[3] == [worlds.story(index).topic for index in range(25)]
    assert min(min(shard.tokens) for shard in corpus.shards) >= 5  # no word is unknown


# Done already.


def test_what_is_finished_is_not_made_again(text, tmp_path, undisturbed):
    directory = tmp_path / "undisturbed"
    before = {path.name: path.stat().st_mtime_ns for path in directory.glob("shard-*")}
    time.sleep(0.02)
    build(text_sources([text], shard_tokens=300), small_text.tokenizer(), directory)
    assert {path.name: path.stat().st_mtime_ns for path in directory.glob("shard-*")} == before
    assert small_text.bytes_of(directory) == undisturbed


@pytest.mark.parametrize("ending", ["tok", "sent", "doc", "topic", "json"])
def test_what_is_damaged_is_made_again(text, tmp_path, undisturbed, ending):
    directory = tmp_path / "undisturbed"
    path = directory / f"shard-000001.{ending}"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    (directory / f"shard-000002.{ending}").unlink()
    (directory / "manifest.json").write_text("{}", encoding="utf-8")
    build(text_sources([text], shard_tokens=300), small_text.tokenizer(), directory)
    assert small_text.bytes_of(directory) == undisturbed


def test_a_record_that_lost_its_last_byte_is_made_again(text, tmp_path, undisturbed):
    path = tmp_path / "undisturbed" / "shard-000001.json"
    path.write_bytes(path.read_bytes()[:-1])
    build(text_sources([text], shard_tokens=300), small_text.tokenizer(), path.parent)
    assert small_text.bytes_of(path.parent) == undisturbed


def test_another_corpus_is_not_written_over(text, tmp_path, undisturbed):
    directory, words = tmp_path / "undisturbed", small_text.tokenizer()
    other = small_text.write_lines(tmp_path / "other.txt", small_text.documents(90, seed=1))
    for sources, tokenizer, settings, said in [
        (text_sources([other], shard_tokens=300), words, None, "shard-000000 is not made of"),
        (text_sources([text], shard_tokens=300)[:-1], words, None, "more text"),
        (text_sources([text], shard_tokens=300), words, {"layout": "lines"}, "layout None, not lines"),
        (text_sources([text], shard_tokens=300), WordTokenizer(["a"]), None, "another tokenizer"),
    ]:
        with pytest.raises(DataError, match=said):
            build(sources, tokenizer, directory, settings=settings)
        assert small_text.bytes_of(directory) == undisturbed


def test_shards_of_other_text_are_not_taken_for_ours(text, tmp_path, undisturbed):
    """Left there by a build that did not finish."""
    other = small_text.write_lines(tmp_path / "other.txt", small_text.documents(90, seed=1))
    build(text_sources([other], shard_tokens=300), small_text.tokenizer(), tmp_path / "corpus")
    (tmp_path / "corpus" / "manifest.json").unlink()
    corpus = build(text_sources([text], shard_tokens=300), small_text.tokenizer(), tmp_path / "corpus")
    made = small_text.bytes_of(tmp_path / "corpus")
    assert undisturbed.items() <= made.items()
    assert len(corpus.shards) == sum(name.endswith(".tok") for name in made)  # theirs were more; they are gone


# Killed.

KILLED = """
import os, signal, sys
from pathlib import Path
import small_text
from minalbert import files
from minalbert.data.build import build
from minalbert.data.sources import text_sources

def kill():
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(9)

where, left = sys.argv[3], int(sys.argv[4])
write, replace = files.AtomicFile.write, os.replace

def killed_write(self, data):
    global left
    left -= where == "write"
    if not left:
        self._file.write(bytes(data)[: max(1, len(bytes(data)) // 2)])
        self._file.flush()
        kill()
    write(self, data)

def killed_replace(*names):
    global left
    left -= where == "replace"
    if not left:
        kill()
    replace(*names)

files.AtomicFile.write, os.replace = killed_write, killed_replace
build(text_sources([sys.argv[1]], shard_tokens=300), small_text.tokenizer(), sys.argv[2])
"""


def environment():
    here = Path(__file__).parent
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]), "OMP_NUM_THREADS": "1"}


def test_killed_at_every_stage_it_goes_on_to_the_same_bytes(text, tmp_path, undisturbed):
    directory = tmp_path / "killed"
    finished = set()
    for where, number in [
        ("write", 1),
        ("write", 9),
        ("replace", 3),
        ("replace", 8),
        ("write", 11),
    ]:  # the last: in the manifest
        argv = [sys.executable, "-c", KILLED, text, directory, where, str(number)]
        assert subprocess.run(argv, env=environment(), timeout=60).returncode != 0
        with pytest.raises(DataError, match="manifest"):
            Corpus.open(directory)
        now = {path.name for path in directory.glob("shard-*.json")}
        assert finished <= now
        finished = now
    assert finished
    left_behind = list(directory.glob(f"*{files.PARTIAL}"))
    assert left_behind
    for path in left_behind[1:]:
        os.utime(path, (0, 0))
    build(text_sources([text], shard_tokens=300), small_text.tokenizer(), directory)
    assert [path for path in left_behind if path.exists()] == left_behind[:1]  # somebody may be writing the young one
    left_behind[0].unlink()
    assert small_text.bytes_of(directory) == undisturbed


def test_a_build_within_another_disturbs_neither(text, tmp_path, undisturbed, monkeypatch):
    """The second begins and ends while the first has a shard open."""
    directory, finish = tmp_path / "twice", Packer.finish

    def build_again(packer):
        monkeypatch.setattr(Packer, "finish", finish)
        build(text_sources([text], shard_tokens=300), small_text.tokenizer(), directory)
        return finish(packer)

    monkeypatch.setattr(Packer, "finish", build_again)
    build(text_sources([text], shard_tokens=300), small_text.tokenizer(), directory)
    assert small_text.bytes_of(directory) == undisturbed


def test_a_build_that_came_to_nothing_does_not_claim_the_directory(text, tmp_path):
    (tmp_path / "none.txt").write_text("\ufeff\u00a0\n", encoding="utf-8")
    with pytest.raises(DataError, match="empty"):
        build(text_sources([tmp_path / "none.txt"]), WordTokenizer(["a"]), tmp_path / "corpus")
    assert not list((tmp_path / "corpus").iterdir())
    (tmp_path / "bad.txt").write_bytes(b"a \xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        build(text_sources([tmp_path / "bad.txt"]), WordTokenizer(["a"]), tmp_path / "corpus")
    assert build(text_sources([text]), small_text.tokenizer(), tmp_path / "corpus").totals()["tokens"]


def test_a_file_of_white_space_among_others_is_no_matter(text, tmp_path):
    (tmp_path / "none.txt").write_text("\ufeff\u00a0\r\n", encoding="utf-8")
    one = build(text_sources([text]), small_text.tokenizer(), tmp_path / "one")
    two = build(text_sources([text, tmp_path / "none.txt"]), small_text.tokenizer(), tmp_path / "two")
    assert one.totals() == two.totals()


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize("damage", ["cut", "newline", "another", "loop", "nested"])
def test_a_damaged_tokenizer_is_made_again(text, tmp_path, damage, manifest):
    corpus = build(text_sources([text]), small_text.tokenizer(), tmp_path)
    copy = tmp_path / corpus.manifest["tokenizer"]
    content = copy.read_bytes()
    copy.unlink()
    if damage == "loop":
        copy.symlink_to(copy.name)
    else:
        cuts = {"cut": content[:-9], "newline": content[:-1]}
        changed = cuts | {"another": content.replace(b"w7", b"x7"), "nested": b"[" * 10**5}
        copy.write_bytes(changed[damage])
    if not manifest:
        (tmp_path / "manifest.json").unlink()
        if damage == "another":  # then the copy is all that says what the corpus is
            with pytest.raises(DataError, match="holds a corpus made with another tokenizer"):
                build(text_sources([text]), small_text.tokenizer(), tmp_path)
            return
    assert build(text_sources([text]), small_text.tokenizer(), tmp_path).tokenizer().digest == corpus.tokenizer_digest
    assert copy.read_bytes() == content


class Endless:
    """A source in a worker that says who it is and never ends."""

    def __init__(self, directory):
        self.directory = directory

    def describe(self):
        return "endless"

    def documents(self):
        (self.directory / f"{os.getpid()}.worker").touch()
        time.sleep(120)
        yield Document(["w1"])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_workers_leave_with_their_parent(tmp_path):
    script = f"""
from pathlib import Path
import small_text, test_build
from minalbert.data.build import build
if __name__ == "__main__":
    sources = [test_build.Endless(Path({str(tmp_path)!r})) for _ in range(2)]
    build(sources, small_text.tokenizer(), {str(tmp_path / "corpus")!r}, workers=2)
"""
    (tmp_path / "endless.py").write_text(script, encoding="utf-8")
    parent = subprocess.Popen([sys.executable, tmp_path / "endless.py"], env=environment(), stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: len(list(tmp_path.glob("*.worker"))) == 2)
    finally:
        parent.kill()
        parent.wait()
    workers = [int(path.stem) for path in tmp_path.glob("*.worker")]
    assert eventually(lambda: not any(map(alive, workers)))


def eventually(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return met


def alive(process):
    """Is it there, and not only as an entry that nobody asked about?"""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


class Deadly(Endless):
    def documents(self):
        os._exit(1)


def test_a_dead_worker_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="a worker died"):
        build([Deadly(tmp_path)] * 2, small_text.tokenizer(), tmp_path / "corpus", workers=2)


# A full disk.


@pytest.mark.parametrize("name", ["shard-000002.tok", "shard-000001.sent", "shard-000003.json", "manifest.json"])
@pytest.mark.parametrize("when", ["write", "close"])
def test_a_full_disk_leaves_nothing_half_written(text, tmp_path, undisturbed, monkeypatch, name, when):
    class FullDisk(io.FileIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full(path, mode):
        if not Path(path).name.startswith(name):
            return open(path, mode)
        file = FullDisk(path, mode)
        return file if when == "write" else io.BufferedWriter(file, 2**20)  # complains when it is flushed

    directory = tmp_path / "full"
    sources = text_sources([text], shard_tokens=300)
    monkeypatch.setattr(files, "open", full, raising=False)
    with pytest.raises(FileError, match=f"{name} could not be written") as error:
        build(sources, small_text.tokenizer(), directory)
    assert os.strerror(errno.ENOSPC) in str(error.value)
    left = small_text.bytes_of(directory)
    assert name not in left
    assert "manifest.json" not in left
    assert left.items() <= undisturbed.items()  # what is there is whole; so there is no partial file either
    monkeypatch.undo()
    build(sources, small_text.tokenizer(), directory)
    assert small_text.bytes_of(directory) == undisturbed


def test_a_directory_that_cannot_be_made(text, tmp_path):
    with pytest.raises(DataError, match=r"cannot be made a directory"):
        build(text_sources([text]), small_text.tokenizer(), text / "corpus")


# Bad input.


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_bytes_in_a_part_are_named(tmp_path, workers):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b\n\n" * 50 + b"a \xff b\n\n" + b"a b\n\n" * 50)
    with pytest.raises(DataError, match=r"text\.txt:101: byte 0xff at place 3"):
        build(text_sources([path], shard_tokens=20), WordTokenizer("ab"), tmp_path / "corpus", workers=workers)
    with pytest.raises(DataError, match="manifest"):
        Corpus.open(tmp_path / "corpus")


@pytest.mark.parametrize("content", ["", "\n\n", "  \n\t\n"])
def test_blank_text_is_refused(tmp_path, content):
    (tmp_path / "text.txt").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="holds no text"):
        text_sources([tmp_path / "text.txt"])


def test_text_without_a_token_is_refused(tmp_path):
    with pytest.raises(DataError, match="the corpus is empty"):
        build([ReadText("nothing", (Document([""]),))], small_text.tokenizer(), tmp_path / "corpus")


def test_numbers_that_make_no_sense_are_refused(text, tmp_path):
    with pytest.raises(DataError, match="shard_tokens is 0"):
        text_sources([text], shard_tokens=0)
    with pytest.raises(DataError, match="workers is 0"):
        build(text_sources([text]), small_text.tokenizer(), tmp_path / "corpus", workers=0)


def test_text_from_a_pipe_does_not_pile_up(tmp_path):
    """At most two tasks a worker are in hand, however long the text is."""
    made, done = [], []

    class Counted(ReadText):
        def documents(self):
            time.sleep(0.002)
            done.append(self)
            return super().documents()

    def sources():
        for number in range(40):
            made.append(number)
            assert len(made) - len(done) <= 2 * 2 + 1
            yield Counted("pipe", (Document([f"w{number}"]),))

    with futures.ThreadPoolExecutor(1) as executor:
        corpus = build(sources(), small_text.tokenizer(), tmp_path / "corpus", workers=2, executor=executor)
    assert corpus.totals()["documents"] == len(made) == 40
