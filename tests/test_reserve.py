"""The room that a run holds in reserve is really on the disk, whatever lies in its place."""

import errno
import os

import pytest

from minalbert.train import reserve
from minalbert.train.reserve import Reserve, room_for

SIZE = 3 * 2**16


def there(path):
    kind = os.lstat(path)
    return kind.st_size, getattr(kind, "st_blocks", SIZE // 512) * 512 >= SIZE


def put_nothing(path):
    pass


def put_holes(path):
    with open(path, "wb") as file:
        file.truncate(SIZE)


def put_too_little(path):
    path.write_bytes(b"few")


def put_a_directory(path):
    path.mkdir()


def put_a_link(path):
    path.symlink_to(path.with_name("target"))


def put_a_pipe(path):
    os.mkfifo(path)


PUT = [put_nothing, put_holes, put_too_little, put_a_directory, put_a_link, put_a_pipe]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no pipes, and few links")
@pytest.mark.parametrize("put", PUT, ids=[put.__name__[4:] for put in PUT])
def test_a_reserve_takes_the_place_of_what_is_none(tmp_path, put):
    held = Reserve(tmp_path)
    put(held.path)
    assert held.hold(SIZE)
    assert there(held.path) == (SIZE, True)
    before = os.lstat(held.path)
    assert held.hold(SIZE)
    assert os.path.samestat(before, os.lstat(held.path))
    assert held.release()
    assert not held.release()


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, None])
def test_zeros_are_written_where_blocks_cannot_be_asked_for(tmp_path, monkeypatch, error):
    def refused(*_):
        raise OSError(error, "no")

    if error:
        monkeypatch.setattr(os, "posix_fallocate", refused, raising=False)
    else:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    assert Reserve(tmp_path).hold(SIZE + 5)
    assert (tmp_path / reserve.NAME).read_bytes() == bytes(SIZE + 5)


def test_without_room_nothing_is_left(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    monkeypatch.setattr(reserve, "write_zeros", full)
    assert not Reserve(tmp_path).hold(SIZE)
    assert list(tmp_path.iterdir()) == []


def test_room_is_that_of_whole_blocks_and_some_more(tmp_path):
    for name, size in (("one", 1), ("two", 4097), ("none", 0)):
        (tmp_path / name).write_bytes(bytes(size))
    assert 3 * reserve.BLOCK + reserve.SLACK <= room_for(tmp_path) <= 3 * reserve.BLOCK + 2 * reserve.SLACK
