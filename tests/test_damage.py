"""Two hundred damages to files, other ones each time: each is named with what to do about it, or has no effect.

A thousand: python tests/damage.py. One again: python tests/damage.py --seed S --number I, both as printed here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("damage.py")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each damage has a process of its own, by fork")
def test_every_damage_is_named_or_has_no_effect():
    done = subprocess.run([sys.executable, SCRIPT, "--count", "200"], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
