"""Full disks, power cuts and kills leave the last good checkpoint."""

import errno
import itertools
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from checkpoints import (
    SMALL,
    assert_same,
    begin,
    names_in,
    python,
    save_step,
    state_of,
)

from minalbert import files
from minalbert.errors import TrainError
from minalbert.train import checkpoint, saved_steps
from minalbert.train.checkpoint import load, save, steps, verify

# When nothing more can be written.

FAULTS = [errno.ENOSPC, errno.EROFS, errno.EACCES]
PLACES = [
    ("os.mkdir", 1),
    ("huggingface.save", 1),
    ("write", 1),
    ("Path.write_bytes", 1),
    ("sync", 1),
    ("sync", 4),
    ("settle", 1),
    ("os.rename", 1),
]


def fail_at(monkeypatch, place, count, error):
    """The count-th call of it fails."""
    holder, name = checkpoint, place
    if "." in place:
        holder, name = getattr(checkpoint, place.split(".")[0]), place.split(".")[1]
    original, calls = getattr(holder, name), itertools.count(1)

    def failing(*args, **kwargs):
        if next(calls) == count:
            raise OSError(error, os.strerror(error), str(args[0]))
        return original(*args, **kwargs)

    monkeypatch.setattr(holder, name, failing)


@pytest.mark.parametrize("error", FAULTS, ids=[errno.errorcode[number] for number in FAULTS])
@pytest.mark.parametrize(("place", "count"), PLACES, ids=[f"{place} {count}" for place, count in PLACES])
def test_a_failure_to_write_is_one_sentence_and_costs_nothing(tmp_path, monkeypatch, place, count, error):
    save_step(tmp_path, 5)
    with monkeypatch.context() as patch:
        fail_at(patch, place, count, error)
        with pytest.raises(TrainError) as caught:
            save_step(tmp_path, 10, keep=1)
    path, cause = tmp_path / "step-00000010", os.strerror(error)
    assert str(caught.value) == f"{path} could not be saved ({cause}); the newest checkpoint is that of step 5"
    assert names_in(tmp_path) == ["step-00000005"]
    assert_same(load(tmp_path)[1], state_of(5))
    save_step(tmp_path, 10, keep=1)
    assert steps(tmp_path) == [10]


def test_the_first_checkpoint_may_fail(tmp_path):
    with pytest.raises(TrainError, match=r"could not be saved \(.*\); there is no earlier checkpoint"):
        save_step(tmp_path / "nowhere", 0)


def test_a_failure_to_replace_leaves_what_was_there(tmp_path, monkeypatch):
    save_step(tmp_path, 5)
    with monkeypatch.context() as patch:
        fail_at(patch, "os.rename", 2, errno.EACCES)
        with pytest.raises(TrainError, match="step-00000005 could not be saved"):
            save(tmp_path, SMALL, state_of(5)._replace(batch_index=99), {})
    assert names_in(tmp_path) == ["step-00000005"]
    assert_same(load(tmp_path)[1], state_of(5))


def test_what_cannot_be_removed_does_not_stop_a_run(tmp_path, monkeypatch):
    save_step(tmp_path, 5)
    with monkeypatch.context() as patch:
        fail_at(patch, "os.rename", 2, errno.EACCES)  # as Windows, where someone reads it
        save_step(tmp_path, 10, keep=1)
    assert steps(tmp_path) == [5, 10]
    save_step(tmp_path, 15, keep=1)
    assert steps(tmp_path) == [15]


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    save_step(sys.argv[1], 10)
except TrainError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on file sizes")
@pytest.mark.parametrize("name", ["model.safetensors", "moments.safetensors"])
def test_a_file_that_cannot_grow_is_a_failure_to_write(tmp_path, name):
    path = save_step(tmp_path, 5)
    done = python(LIMITED, tmp_path, (path / name).stat().st_size - 1)
    assert done.stderr == ""
    assert "step-00000010 could not be saved (File too large" in done.stdout
    assert done.stdout.endswith("; the newest checkpoint is that of step 5\n")
    assert names_in(tmp_path) == ["step-00000005"]
    assert_same(load(tmp_path)[1], state_of(5))


FULL = """
run = Path(sys.argv[1])
disk = run.parent
free = lambda: os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
run.mkdir()
before = free()
save_step(run, 5)
needed = before - free()
for room in range(0, needed, 4096):
    (disk / "filler").write_bytes(bytes(free() - room))
    try:
        save_step(run, 10)
        print("saved with room for", room)
    except TrainError as error:
        assert "(No space left on device" in str(error), error
    assert names_in(run) == ["step-00000005"], names_in(run)
    assert_same(load(run)[1], state_of(5))
    (disk / "filler").unlink()
save_step(run, 10)
assert steps(run) == [5, 10]
(run / ".step-00000001.partial").mkdir()
subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
for attempt in (lambda: save_step(run, 15), lock_module.lock(run).__enter__, lambda: saved_steps.clear_leftovers(run)):
    try:
        attempt()
        print("no word of a read-only disk")
    except TrainError as error:
        print(error)
"""


def test_a_full_disk_and_a_read_only_one_cost_nothing(tmp_path):
    before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = 'mount -t tmpfs -o size=400k tmpfs "$0" && exec "$@"'
    try:
        done = subprocess.run([*before, mount, tmp_path, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no unshare here, to mount a small disk")
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    done = python(FULL, tmp_path / "run", before=[*before, mount, tmp_path])
    read_only, run = "Read-only file system", tmp_path / "run"
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{run / 'step-00000015'} could not be saved ({read_only}); the newest checkpoint is that of step 10",
        f"{run / '.lock'} cannot be opened ({read_only}); a run must be able to write there: name another "
        "directory, or make it writable",
        f"{run / '.step-00000001.partial'}, left behind by a kill, cannot be removed: {read_only}",
    ]


# When the power is cut.


class Folder:
    """A checkpoint's directory: what is in it, and what of that is known to be on the disk."""

    def __init__(self):
        self.files, self.synced, self.names, self.removed = {}, {}, set(), False

    def after_a_cut(self, fate):
        """What was not synced may be there or not: `fate` is "lost", "torn" or "kept"."""
        there = self.names if fate == "lost" else self.files.keys()
        length = {"lost": 0.0, "torn": 0.5, "kept": 1.0}[fate]
        found = {name: self.synced.get(name, self.files[name][: int(length * len(self.files[name]))]) for name in there}
        if self.removed and fate != "lost":
            found = dict(sorted(found.items())[: len(found) // 2]) if fate == "torn" else {}
        return tuple(sorted(found.items()))


class Disk:
    """Watches a save, and tells what a power cut would leave at each of its instants.

    Of the changes to the run's names since these were last synced, any may be on the disk and any not.
    """

    def __init__(self, run, patch):
        self.run, self.seen, self.now, self.on_disk, self.changes = run, {}, {}, {}, []
        for holder, name in (
            (os, "mkdir"),
            (os, "rename"),
            (shutil, "rmtree"),
            (checkpoint, "sync"),
            (checkpoint, "settle"),
            (saved_steps, "settle"),
        ):
            patch.setattr(holder, name, self.watched(getattr(holder, name), getattr(self, name)))

    def watched(self, call, note):
        def watched(*paths, **options):
            self.look()
            call(*paths, **options)
            note(*map(Path, paths))
            self.look()

        return watched

    def look(self):
        for name, folder in self.now.items():
            folder.files = {file.name: file.read_bytes() for file in (self.run / name).iterdir()}
        for chosen in itertools.product((False, True), repeat=len(self.changes)):
            names = dict(self.on_disk)
            for change in itertools.compress(self.changes, chosen):
                change(names)
            for fate in ("lost", "torn", "kept"):
                tree = tuple(sorted((name, folder.after_a_cut(fate)) for name, folder in names.items()))
                self.seen.setdefault(tree)

    def change(self, change):
        change(self.now)
        self.changes.append(change)

    def mkdir(self, path):
        folder = Folder()
        self.change(lambda names: names.update({path.name: folder}))

    def rename(self, old, new):
        self.change(lambda names: old.name in names and names.update({new.name: names.pop(old.name)}))

    def rmtree(self, path):
        if path.name in self.now:
            self.now[path.name].removed = True
            self.change(lambda names: names.pop(path.name, None))

    def sync(self, file):
        self.now[file.parent.name].synced[file.name] = file.read_bytes()

    def settle(self, directory):
        if directory == self.run:
            self.on_disk, self.changes = dict(self.now), []
        else:
            self.now[directory.name].names = set(self.now[directory.name].files)


def lay_out(tree, run):
    for name, found in tree:
        (run / name).mkdir(parents=True)
        for file, content in found:
            (run / name / file).write_bytes(content)


def test_a_power_cut_at_any_instant_leaves_the_last_good_one(tmp_path, monkeypatch):
    run = tmp_path / "run"
    run.mkdir()
    saves = [state_of(step) for step in (5, 10, 15)] + [state_of(15)._replace(batch_index=99), state_of(20)]
    states = []
    with monkeypatch.context() as patch:
        disk = Disk(run, patch)
        for before, state in itertools.pairwise([None, *saves]):
            disk.seen.clear()
            save(run, SMALL, state, {}, keep=1)
            states += [(tree, before, state) for tree in disk.seen]
    assert len(states) > 100
    outcomes = set()
    for number, (tree, before, state) in enumerate(states):
        cut = tmp_path / f"cut-{number}"
        cut.mkdir()
        lay_out(tree, cut)
        saved_steps.clear_leftovers(cut)
        if before is None and not steps(cut):
            continue
        for step in steps(cut):
            verify(checkpoint.path_of(cut, step))  # none has its name before it is whole, or when it is no more
        _, found, _, _ = load(cut)
        right = state if (found.step, found.batch_index) == (state.step, state.batch_index) else before
        assert_same(found, right)
        outcomes.add(right is state)
        shutil.rmtree(cut)
    assert outcomes == {False, True}


def test_syncing_goes_as_far_as_the_system_can(tmp_path, monkeypatch):
    class Macos:
        F_FULLFSYNC = 51
        supported, calls = True, []

        def fcntl(self, handle, call):
            self.calls.append(call)
            if not self.supported:
                raise OSError(errno.ENOTSUP, "Operation not supported")

    (tmp_path / "file").write_text("text")
    system, synced = Macos(), []
    monkeypatch.setattr(files, "fcntl", system)
    monkeypatch.setattr(os, "fsync", synced.append)
    files.sync(tmp_path / "file")
    assert (system.calls, len(synced)) == ([51], 0)
    system.supported = False
    files.sync(tmp_path / "file")
    assert (system.calls, len(synced)) == ([51, 51], 1)


# When the process is killed.

KILLS = 30
SAVING = """
run = sys.argv[1]
sys.stdin.readline()
with lock_module.lock(run):
    saved_steps.clear_leftovers(run)
    last = 0
    if steps(run):
        _, found, _, said = load(run)
        assert said == [], said
        assert_same(found, state_of(found.step))
        last = found.step
    print(last, flush=True)
    for step in itertools.count(last + 1):
        save_step(run, step)
        print(step, flush=True)
"""


@pytest.mark.slow
def test_a_kill_at_any_instant_loses_nothing_that_was_saved(tmp_path):
    rng, last, cut_short = random.Random(0), 0, 0
    following = begin(SAVING, tmp_path)
    for _ in range(KILLS):
        process, following = following, begin(SAVING, tmp_path)  # which waits for its turn
        process.stdin.write("go\n")
        process.stdin.flush()
        first = process.stdout.readline()
        time.sleep(0.1 * rng.random())
        process.kill()
        rest, trouble = process.communicate()
        assert trouble == ""
        assert int(first) >= last, "a checkpoint that was said to be there is not"
        last = max(map(int, [first, *rest.split()]))
        cut_short += any(tmp_path.glob(".step-*"))
    following.kill()
    following.communicate()
    saved_steps.clear_leftovers(tmp_path)
    _, found, _, said = load(tmp_path)
    assert said == []
    assert last <= found.step <= last + 1
    assert_same(found, state_of(found.step))
    assert last > KILLS
    assert cut_short > KILLS / 4, "too few kills came in the middle of a save"
    assert set(names_in(tmp_path)) <= {".lock", *(f"step-{found.step - back:08d}" for back in range(3))}


def test_what_a_kill_left_is_cleared(tmp_path):
    save_step(tmp_path, 5)
    for name in (".step-00000006.partial", ".step-00000005.replaced", ".step-00000004.removed"):
        shutil.copytree(tmp_path / "step-00000005", tmp_path / name)
    (tmp_path / ".step-notes").mkdir()
    saved_steps.clear_leftovers(tmp_path)
    assert names_in(tmp_path) == [".step-notes", "step-00000005"]


def test_what_a_kill_left_is_not_in_the_way(tmp_path):
    path = save_step(tmp_path, 5)
    for ending in (".partial", ".replaced", ".removed"):
        shutil.copytree(path, tmp_path / f".{path.name}{ending}")
        (tmp_path / f".{path.name}{ending}" / "more").touch()
    save(tmp_path, SMALL, state_of(5)._replace(batch_index=99), {})
    save_step(tmp_path, 10, keep=1)
    assert names_in(tmp_path) == ["step-00000010"]


def test_a_kill_between_the_two_renames_of_a_replacement_is_undone(tmp_path):
    save_step(tmp_path, 5)
    os.rename(tmp_path / "step-00000005", tmp_path / ".step-00000005.replaced")
    saved_steps.clear_leftovers(tmp_path)
    assert_same(load(tmp_path)[1], state_of(5))
