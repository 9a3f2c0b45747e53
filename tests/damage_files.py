"""Ways to damage a file, drawn at random. Each returns what it did; `twin` is the same file in another world."""

import os
import shutil
from typing import NamedTuple

from damage_worlds import RELATIVES


class Damage(NamedTuple):
    world: str
    kind: str  # whose files: ACTIONS
    paths: list  # in the world; a second one is the partner of a swap
    what: str
    nobody: bool  # does a user without root meet it?

    @property
    def takes_away(self):
        """A whole checkpoint: the run's newest is the one before."""
        return self.paths[0].name.startswith("step-") and self.what.startswith(("remove", "a "))

    def __str__(self):
        return f"{self.world}: {self.what} {' '.join(map(str, self.paths))}{', without root' if self.nobody else ''}"


def damage(world, originals, kinds, rng):
    """Damage a world, a copy of originals/NAME. Returns a Damage, or None if nothing changed."""
    kind = rng.choice(kinds)
    file = rng.choice(files_of(world, kind))
    how = rng.choice([flip, flip, cut, extend, zero, swap, replace, replace, remove, retype, retype, close])
    twin = originals / f"{world.name}-{rng.choice(RELATIVES)}" / file.relative_to(world)
    before, partner = content(file), None
    if how is swap:
        partner = partner_of(file, rng)
        what = partner and swap(file, partner)
    elif file.is_dir() and how not in (replace, remove, retype, close):
        return None
    else:
        what = how(file, rng, twin)
    if not what or (how not in (retype, close, remove) and content(file) == before):
        return None
    nobody = os.getuid() != 0 or how is close or rng.random() < 0.5
    return Damage(world.name, kind, [path.relative_to(world) for path in (file, partner) if path], what, nobody)


def files_of(world, kind):
    """In order, and last the directories that stand for all their files."""
    if kind == "checkpoint":
        return [*sorted(world.glob("run/step-*/*")), *sorted(world.glob("run/step-*"))]
    files = sorted(path for path in (world / kind).iterdir() if path.is_file() and path.name != ".lock")
    return [*files, world / "corpus"] if kind == "run" else files


def content(path):
    return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()


def flip(file, rng, twin):
    data = bytearray(file.read_bytes())
    place, bit = int(rng.random() * len(data)), rng.randrange(8)
    data[place] ^= 1 << bit
    as_bits_rot(file, data)
    return f"flip bit {bit} of byte {place} in"


def zero(file, rng, twin):
    data = bytearray(file.read_bytes())
    first, last = sorted(int(rng.choice([0, 1, rng.random()]) * len(data)) for _ in range(2))
    data[first:last] = bytes(last - first)
    as_bits_rot(file, data)
    return f"zero bytes {first} to {last} of"


def as_bits_rot(file, data):
    """On a disk, where no clock takes notice."""
    before = file.stat()
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(file, rng, twin):
    size = file.stat().st_size
    left = rng.choice([0, int(rng.random() * size), max(0, size - 1)])
    os.truncate(file, left)
    return f"cut to {left} bytes"


def extend(file, rng, twin):
    more = rng.choice([b"\0", b"\n", rng.randbytes(16), file.read_bytes()])
    with open(file, "ab") as end:
        end.write(more)
    return f"extend by {len(more)} bytes"


def partner_of(file, rng):
    """One of the same ending beside it, or its namesake in a directory beside; of a checkpoint another."""
    around = [*file.parent.iterdir(), *file.parent.parent.glob(f"*/{file.name}")]
    alike = [path for path in around if path != file and (path.suffix, path.is_dir()) == (file.suffix, file.is_dir())]
    return rng.choice(sorted(alike)) if alike and file.name != "corpus" else None


def swap(file, other):
    aside = file.with_name("aside")
    file.rename(aside)
    other.rename(file)
    aside.rename(other)
    return "swap"


def replace(file, rng, twin):
    if not twin.exists():
        return None
    remove(file, rng, twin)
    (shutil.copytree if twin.is_dir() else shutil.copy2)(twin, file)
    return "replace by another world's"


def remove(file, rng, twin):
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    return "remove"


def retype(file, rng, twin):
    """Something else under its name."""
    kinds = ("file", "pipe", "loop") if file.is_dir() else ("directory", "pipe", "device", "loop", "dangling link")
    kind = rng.choice(kinds)
    remove(file, rng, twin)
    if kind == "directory":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "file":
        file.write_bytes(b"nothing\n")
    else:
        file.symlink_to({"loop": file.name, "device": "/dev/zero", "dangling link": "nowhere"}[kind])
    return f"a {kind} for"


def close(file, rng, twin):
    """To its owner, who is without root."""
    around = [] if file.name == "corpus" else [(file.parent, 0), (file.parent, 0o555)]
    place, mode = rng.choice([(file, 0), (file, 0), *around])
    place.chmod(mode)
    return f"mode {mode:03o} for{'' if place == file else ' the directory of'}"
