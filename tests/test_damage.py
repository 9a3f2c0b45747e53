"""Damages to files: each is named with what to do, or has no effect; and none costs a step.

A thousand others: python tests/damage.py, and one again: --seed S --number I, as printed here. A hundred kills with
faults in between: python tests/kills.py. Here they are the same each time, so that a red test is the change's.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DAMAGE, KILLS = (Path(__file__).with_name(name) for name in ("damage.py", "kills.py"))
SEED = "2026"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each damage has a process of its own, by fork")
def test_two_hundred_damages_are_named_or_have_no_effect():
    done = subprocess.run([sys.executable, DAMAGE, "--count", "200", "--seed", SEED], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each life of the run is a process of its own, by fork")
def test_faults_between_kills_lose_no_step():
    done = subprocess.run([sys.executable, KILLS, "--kills", "8", "--seed", SEED], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
