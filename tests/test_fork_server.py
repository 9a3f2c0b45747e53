"""Workers are copies of one process: each is as one that was started alone, and the server's end harms none."""

import os
import select
import signal
import sys
import tempfile

import pytest
from exercise_files import solution

from minalbert_course.catalogue import find
from minalbert_course.grade import process
from minalbert_course.grade.fenced import Fenced

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
LESSON = find("ex01")
TELLS = """
def relative_error(a, b):
    import os, sys, tempfile
    import numpy as np
    found = {"drawn": np.random.random(), "folder": os.getcwd(), "temporary": tempfile.gettempdir(),
             "home": os.environ["HOME"], "leader": os.getpid() == os.getpgid(0), "names": sorted(sys.modules)}
    return found
"""


@pytest.fixture
def submission(tmp_path):
    path = tmp_path / "ex01_finite_differences.py"
    path.write_text(solution("ex01") + TELLS, encoding="utf-8")
    return path


@pytest.fixture
def server(monkeypatch, tmp_path):
    """One for this test alone."""
    process.started.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield process.server()
    process.server().stop()
    process.started.cache_clear()


def told(host):
    return host.call("relative_error", (1.0, 2.0), {}, ())[0]


def test_each_copy_has_its_own_folder_and_random_numbers(submission, server):
    with Fenced(LESSON, submission) as one, Fenced(LESSON, submission) as other:
        first, second = told(one), told(other)
        assert first["drawn"] != second["drawn"]
        for host, found in ((one, first), (other, second)):
            assert {found["folder"], found["temporary"], found["home"]} == {host.worker.folder}
        assert os.getsid(one.worker.process.pid) != os.getsid(other.worker.process.pid)


def test_a_copy_has_nothing_that_a_worker_of_its_own_process_does_not_have(submission, server, monkeypatch):
    with Fenced(LESSON, submission) as host:
        copy = set(told(host)["names"])
    monkeypatch.setattr(process.sys, "platform", "another")  # where workers are started one by one
    with Fenced(LESSON, submission) as host:
        alone = set(told(host)["names"])
    assert copy == alone


def test_a_server_that_was_killed_is_replaced(submission, server):
    with Fenced(LESSON, submission) as host:
        server.process.kill()
        server.process.wait()
        assert told(host)["home"] == host.worker.folder  # a copy goes on without it
    with Fenced(LESSON, submission) as host:
        assert told(host)["home"] == host.worker.folder
    assert process.server() is not server
    assert not [name for name in os.listdir(submission.parent) if name.startswith("minalbert-")]


def test_an_answer_that_nobody_waited_for_is_not_taken_for_another(submission, server, monkeypatch):
    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    with Fenced(LESSON, submission) as host:
        asked = {"wait": host.worker.process.pid, "seconds": 0}
        with monkeypatch.context() as patched:
            patched.setattr(type(server.socket), "recv", interrupt)
            with pytest.raises(Interrupted):
                server.request(asked)  # "not yet" comes, and nobody reads it
        assert select.select([server.socket], [], [], 60)[0]
        os.kill(host.worker.process.pid, signal.SIGKILL)
        assert server.request(asked | {"seconds": 20})
        assert server.request(asked)  # once more, where it is known already
