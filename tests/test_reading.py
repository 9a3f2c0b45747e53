"""What was written is read back through `files`: whole and unchanged, or one sentence that names the file and why."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from minalbert import files
from minalbert.array_file import ArrayFile
from minalbert.errors import DamagedError, FileError, MissingFileError
from minalbert.files import Record, read, read_json, read_toml, record_of, verify, write_atomically

ADVICE = "make it again"


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "file"
    return path, Record(11, write_atomically(path, b"what it was"))


def test_an_unchanged_file_is_read(written):
    path, record = written
    verify(path, record, ADVICE)
    assert read(path, ADVICE, record) == b"what it was"
    assert record_of(path, ADVICE) == record


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"what it is.", "its SHA-256 is"), (b"what it wa", "has 10 bytes, and had 11"), (b"", "has 0 bytes")],
)
def test_a_changed_file_is_damaged(written, content, words):
    path, record = written
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=words) as error:
        verify(path, record, ADVICE)
    assert str(path) in str(error.value)
    assert str(error.value).endswith("; make it again")
    with pytest.raises(DamagedError, match=words):
        read(path, ADVICE, record)


def test_a_missing_file_and_a_directory_in_its_place(written):
    path, record = written
    path.unlink()
    with pytest.raises(MissingFileError, match="file is missing; make it again"):
        verify(path, record, ADVICE)
    path.mkdir()
    with pytest.raises(DamagedError, match="is a directory where a file must be; make it again"):
        read(path, ADVICE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DamagedError, match="is a pipe or a device where a file must be"):
        read(tmp_path / "pipe", ADVICE)


@pytest.mark.skipif(os.name == "nt", reason="holes in files are of other systems")
@pytest.mark.parametrize("parse", [read_json, read_toml])
def test_a_file_too_large_for_text_is_not_read_into_memory(tmp_path, parse, monkeypatch):
    with open(tmp_path / "file", "wb") as file:
        file.truncate(2**40)
    monkeypatch.setattr(files, "read", None)
    with pytest.raises(DamagedError, match=r"has 1,099,511,627,776 bytes, too many for \w{4} .*; make it again"):
        parse(tmp_path / "file", ADVICE)


@pytest.mark.skipif(os.name == "nt", reason="modes are of other systems")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_usual_mode(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", b"what it was")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_no_file_takes_the_place_of_a_pipe_or_a_directory(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name, kind in (("pipe", "a pipe or a device"), ("directory", "a directory")):
        with pytest.raises(FileError, match=f"{name} could not be written: it is {kind}"):
            write_atomically(tmp_path / name, b"what it was")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["directory", "pipe"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_not_called_damaged(written):
    path, record = written
    path.chmod(0)
    with pytest.raises(FileError, match=r"cannot be read \(Permission denied\); chmod makes it") as error:
        verify(path, record, ADVICE)
    assert not isinstance(error.value, DamagedError)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"\0\0\0{", "is not JSON"),  # which looks like UTF-32
        (b"5", "holds a int"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON"),
    ],
)
def test_what_is_not_a_json_object_is_one_sentence(tmp_path, content, words):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DamagedError, match=words):
        read_json(tmp_path / "file", ADVICE)


def test_json_and_toml_are_dicts(tmp_path):
    path = Path(tmp_path / "file")
    path.write_text(json.dumps({"a": [1]}), encoding="utf-8")
    assert read_json(path, ADVICE) == {"a": [1]}
    for encoding in ("utf-8", "utf-8-sig"):  # with the mark that Windows' Notepad writes first
        path.write_text("a = [1]", encoding=encoding)
        assert read_toml(path, ADVICE) == {"a": [1]}
    path.write_text("a = " + "[" * 100_000, encoding="utf-8")
    with pytest.raises(DamagedError, match="is nested too deeply to be TOML"):
        read_toml(path, ADVICE)


def test_slices_of_an_array_are_read_if_its_file_has_the_size(tmp_path):
    path, array = tmp_path / "file", np.arange(5, dtype="<u2")
    array.tofile(path)
    found = ArrayFile(path, "<u2", 5, ADVICE)
    assert len(found) == 5
    for which in (slice(None), slice(1, 3), slice(3, 99), slice(-2, None), slice(4, 2)):
        assert found[which].tolist() == array[which].tolist()
    with pytest.raises(DamagedError, match="has 10 bytes; it must have 12"):
        ArrayFile(path, "<u2", 6, ADVICE)
    path.write_bytes(b"")
    assert ArrayFile(path, "<u2", 0, ADVICE)[:].size == 0


def test_an_array_whose_file_is_cut_off_meanwhile_is_one_sentence(tmp_path):
    path = tmp_path / "file"
    np.arange(5000, dtype="<u2").tofile(path)
    found = ArrayFile(path, "<u2", 5000, ADVICE)
    os.truncate(path, 4100)
    assert found[:2050][-1] == 2049
    with pytest.raises(DamagedError, match="file was cut off while it was read: it ends at byte 4,100; make it again"):
        found[2040:2060]


def test_a_large_file_is_looked_at_block_by_block(tmp_path, monkeypatch):
    path, content, seen = tmp_path / "file", bytes(range(256)) * 5, []
    record = Record(len(content), write_atomically(path, content))
    monkeypatch.setattr(files, "BLOCK", 1000)
    verify(path, record, ADVICE, lambda block: seen.append(bytes(block)))
    assert [len(block) for block in seen] == [1000, 280]
    assert b"".join(seen) == content
