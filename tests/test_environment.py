"""pyproject.toml, environment.yml and requirements.lock tell one story, and no file tells where we live."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IN_THE_LOCK = ("grade", "notebooks", "train", "dev")  # gpu and parity depend on the machine
OF_CONDA = {"msgpack-python": "msgpack"}  # other names there


def declared():
    extras = PROJECT["optional-dependencies"]
    lines = PROJECT["dependencies"] + [line for extra in IN_THE_LOCK for line in extras[extra]]
    return {r.name: r.specifier for r in map(Requirement, lines)}


def locked():
    """name -> pins, several where Python versions need their own."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = {}
    for line in re.findall(r"^[a-z].*?(?= \\$)", text, flags=re.MULTILINE):
        requirement = Requirement(line)
        pins.setdefault(requirement.name, []).append(requirement)
    return pins


def test_environment_yml_lists_what_pyproject_declares():
    lines = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    conda = {OF_CONDA.get(r.name, r.name): r.specifier for r in map(Requirement, lines)}
    assert conda.pop("python") == Requirement(f"python{PROJECT['requires-python']}").specifier
    assert conda.pop("pip") == ""
    assert conda == declared()


def test_the_lock_pins_a_version_that_each_declaration_allows():
    pins = locked()
    for name, allowed in declared().items():
        assert pins[name], name
        for requirement in pins[name]:
            (pin,) = requirement.specifier
            assert pin.operator == "=="
            assert pin.version in allowed, f"{name} is locked at {pin.version}, declared {allowed}"


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_lock_has_one_pin_for_each_python(python):
    environment = default_environment() | {"python_version": python, "python_full_version": f"{python}.9"}
    pins = locked()
    for name in declared():
        fitting = [r for r in pins[name] if r.marker is None or r.marker.evaluate(environment)]
        assert len(fitting) == 1, name


def test_every_pin_has_a_hash_and_no_file_an_address():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    blocks = re.split(r"\n(?=[a-z])", text.strip())
    assert len(blocks) > 50
    assert all("--hash=sha256:" in block for block in blocks)


def test_core_is_small_and_versions_are_declared():
    core = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert core == {"numpy", "safetensors", "threadpoolctl", "tqdm"}
    assert set(PROJECT["optional-dependencies"]) == {
        "bf16",
        "fast",
        "gpu",
        "grade",
        "notebooks",
        "site",
        "train",
        "dev",
        "mpi",
        "parity",
    }
    named = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line}
    assert named == {"3.11", "3.12", "3.13", "3.14"}
