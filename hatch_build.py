"""The wheel's build: puts the files that students start from into it, made from exercises/source."""

import importlib.util
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StudentFiles(BuildHookInterface):
    def initialize(self, version, build_data):
        """An editable installation needs none: the course makes them from the sources beside it."""
        if version == "editable":
            return
        course = Path(self.root, "exercises", "minalbert_course")
        spec = importlib.util.spec_from_file_location("handout", course / "handout.py")
        handout = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(handout)
        self.folder = tempfile.TemporaryDirectory()
        for name, text in handout.made_from(course.parent / "source").items():
            Path(self.folder.name, name).write_text(text, encoding="utf-8", newline="\n")
        build_data["force_include"][self.folder.name] = "minalbert_course/student"

    def finalize(self, version, build_data, artifact_path):
        if version != "editable":
            self.folder.cleanup()
