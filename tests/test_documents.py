"""Files become documents: what begins and ends one, what is an error, and how much memory it takes."""

import errno
import gzip
import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minalbert.data.documents import find_files, read_documents
from minalbert.data.sentences import split_sentences
from minalbert.errors import DataError


def read(path, *arguments, **settings):
    return list(read_documents(path, *arguments, **settings))


def sentences(path, *arguments, **settings):
    return [document.sentences for document in read(path, *arguments, **settings)]


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return str(path)

    return write


def test_a_blank_line_ends_a_document_and_says_where_it_began(write):
    path = write("\n one. \ntwo.\n\n \t\nthree.\n\n")
    assert sentences(path) == [["one.", "two."], ["three."]]
    assert [document.source for document in read(path)] == [f"{path}:2", f"{path}:6"]
    assert [document.topic for document in read(path)] == [None, None]


def test_the_end_of_a_file_ends_a_document(write):
    assert sentences([write("one.\ntwo."), write("three.", "b.txt")]) == [["one.", "two."], ["three."]]


def test_windows_line_ends_and_byte_order_mark(write):
    assert sentences(write(b"\xef\xbb\xbfone.\r\ntwo.\r\n\r\nthree.\r\n")) == [["one.", "two."], ["three."]]


def test_a_byte_order_mark_alone_is_an_empty_file(write):
    with pytest.raises(DataError, match=r"a\.txt holds no text"):
        read(write(b"\xef\xbb\xbf\n"))


def test_long_lines_are_split_into_sentences(write):
    path = write("One came. Two came.\nThree came.\n\nFour came.\n")
    assert sentences(path, "long-lines") == [["One came.", "Two came.", "Three came."], ["Four came."]]


def test_paragraphs_are_joined_before_they_are_split(write):
    path = write("One\ncame. Two\ncame.\n\nThree\n\n\nFour\n\n\n\nFive\n\n\n\n\n\nSix")
    assert sentences(path, "paragraphs") == [["One came.", "Two came.", "Three", "Four"], ["Five"], ["Six"]]
    assert [document.source.rpartition(":")[2] for document in read(path, "paragraphs")] == ["1", "12", "18"]


def test_another_splitter_can_take_its_place(write):
    path = write("a;b\nc")
    assert sentences(path, "paragraphs", splitter=lambda text: text.split(";")) == [["a", "b c"]]


def test_a_folder_that_cannot_be_read_is_not_left_out(write, tmp_path, monkeypatch):
    write("one.")
    write("two.", "sub/b.txt")
    original = os.scandir

    def scandir(path):
        if str(path).endswith("sub"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(DataError, match=r"sub cannot be read \(Permission denied\); chmod makes it readable"):
        find_files(tmp_path)


def test_directories_globs_and_compressed_files_are_read_in_order(write, tmp_path):
    write("b.", "box/b.txt")
    write("a.", "box/deep/a.txt")
    write(gzip.compress(b"c."), "box/c.txt.gz")
    write("not text", "box/readme.md")
    assert sentences(tmp_path / "box") == [["b."], ["c."], ["a."]]
    assert sentences(str(tmp_path / "box" / "*.txt*")) == [["b."], ["c."]]
    assert sentences(str(tmp_path / "**" / "*.txt")) == [["b."], ["a."]]


def test_a_name_with_signs_of_a_glob_is_a_file_if_there_is_one(write):
    assert sentences(write("one.", "a[1].txt")) == [["one."]]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("één.\n\ntwee.".encode())))
    documents = read("-")
    assert [document.sentences for document in documents] == [["één."], ["twee."]]
    assert documents[1].source == "standard input:3"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"one\nt\xe9n\n", r"a\.txt:2: byte 0xe9 at place 2 of the line is not UTF-8"),
        (b"one\ntwo\0three\n", r"a\.txt:2: there is a zero byte: the file is binary"),
        ("one\n".encode("utf-16"), r"a\.txt: the file is UTF-16"),
        (b"", r"a\.txt holds no text"),
        (b"\n \n\t\n", r"a\.txt holds no text"),
    ],
)
def test_what_is_no_text_is_named_with_its_line(write, content, complaint):
    with pytest.raises(DataError, match=complaint):
        read(write(content))


def test_a_damaged_compressed_file_is_named(write):
    whole = gzip.compress(b"one two three.\n" * 1000, mtime=0)
    with pytest.raises(DataError, match=r"a\.txt\.gz:\d+: the compressed file is cut off or damaged"):
        read(write(whole[:-20], "a.txt.gz"))
    with pytest.raises(DataError, match=r"a\.txt\.gz:1: the compressed file is cut off or damaged"):
        read(write("plain", "a.txt.gz"))


def test_empty_files_among_others_are_no_error(write):
    assert sentences([write("", "empty.txt"), write("one.")]) == [["one."]]


def test_a_path_that_leads_nowhere_is_an_error_before_anything_is_read(write, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, complaint in [
        (tmp_path / "none.txt", "does not exist"),
        (tmp_path / "*.none", "matches no file"),
        (tmp_path / "empty", r"directory without \.txt or \.txt\.gz files"),
    ]:
        with pytest.raises(DataError, match=complaint):
            read_documents([write("one."), path])
    with pytest.raises(DataError, match="no file was given"):
        find_files([])
    with pytest.raises(DataError, match="layout is 'pages'; it must be one of: lines, long-lines, paragraphs"):
        read_documents(write("one."), "pages")


def test_what_is_too_long_to_hold_is_an_error(write):
    path = write("short.\n\n" + "one two three.\n" * 10)
    assert len(read(path, longest=140)) == 2
    with pytest.raises(DataError, match=r"a\.txt:3: the document that begins here is longer than 139 characters; a bl"):
        read(path, longest=139)
    with pytest.raises(DataError, match=r"a\.txt:1: .* longer than 139 characters; 3 blank lines must end each"):
        read(path, "paragraphs", longest=139)
    with pytest.raises(DataError, match=r"a\.txt:1: the line is longer than 5 bytes"):
        read(path, longest=5)


words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=9)


@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_written_documents_come_back(tmp_path_factory, documents, blanks, final):
    path = tmp_path_factory.mktemp("corpus") / "a.txt"
    text = ("\n" * (blanks + 1)).join("\n".join(document) for document in documents) + "\n" * final
    path.write_bytes(text.encode("utf-8"))
    assert sentences(path) == documents


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Bingley came.", "He left."],
        ["“Why?” said she.", "“Because.”", "He left."],
        ["Is it so?!", "(Yes.)", "It is…", "42 were there."],
        ["J. S. Bach wrote No. 5 in May.", "So did I.", "He did, e.g. Opus 3."],
        ["It cost 3.50 at example.org today.", "No.", "Élan matters!"],
        ["He said no.", "Then he left"],
        ["it ended. then it went on"],
    ],
)
def test_sentences_end_where_the_rules_say(expected):
    assert split_sentences(" ".join(expected)) == expected
    assert split_sentences("  " + "\n".join(expected) + " ") == expected


@given(st.text(st.sampled_from('aA.!?…"”( \n1')))
def test_splitting_loses_nothing_but_white_space(text):
    split = split_sentences(text)
    assert "".join("".join(split).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in split)


READER = """
import resource, sys
from pathlib import Path
from minalbert.data.documents import read_documents

def peak():
    if sys.platform == "linux":                      # where ru_maxrss begins with that of the process that started it
        return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

before = peak()
documents = sentences = 0
for document in read_documents("-", sys.argv[1]):
    documents += 1
    sentences += len(document.sentences)
print(documents, sentences, peak(), peak() - before)
"""


@pytest.mark.parametrize(("layout", "chapters"), [("lines", 200), ("paragraphs", 40)])
def test_memory_stays_flat(layout, chapters):
    """200 MB pass through a pipe in documents of 1 MB (40 MB in paragraphs, which take longer)."""
    pytest.importorskip("resource", reason="memory is measured with the module resource, which Windows lacks")
    chapter = b"The fox ran. It saw the hen, and it was glad of it, for it had not eaten.\n" * 13500 + b"\n" * 4
    command = [sys.executable, "-c", READER, layout]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        for _ in range(chapters):
            reader.stdin.write(chapter)
        reader.stdin.close()
        documents, count, memory, growth = map(int, reader.stdout.read().split())
    assert reader.returncode == 0
    assert documents == chapters
    assert count == chapters * 13500 * (1 if layout == "lines" else 2)
    assert memory < 600e6
    assert growth < 60e6
