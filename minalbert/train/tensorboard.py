"""Event files for TensorBoard. tensorboardX brings the format; its thread is not used, because a full disk would end
it and then block the training."""

import time
from contextlib import suppress
from pathlib import Path

from ..errors import TrainError


class Board:
    def __init__(self, run, step, alert):
        """For a run at this step: TensorBoard drops what it has of later ones. alert(text) tells of a full disk."""
        self.alert = alert
        try:
            from tensorboardX.proto.event_pb2 import Event, SessionLog
            from tensorboardX.record_writer import RecordWriter
            from tensorboardX.summary import scalar
        except ImportError as error:
            raise TrainError("tensorboard needs a writer of event files: pip install 'minalbert[train]'") from error
        self._event, self._scalar = Event, scalar
        self._writer = None
        try:
            self._writer = RecordWriter(str(Path(run) / f"events.out.tfevents.{time.time_ns()}"))
        except OSError as error:
            alert(f"no event file can be written ({error.strerror}); training goes on without")
        self._record(file_version="brain.Event:2")
        self._record(step=step + 1, session_log=SessionLog(status=SessionLog.START))

    def write(self, kind, values):
        """Each number of a line of metrics.jsonl, named train/loss and so on."""
        for name, value in values.items():
            if isinstance(value, int | float) and name not in ("step", "position"):
                self._record(step=values["step"], summary=self._scalar(f"{kind}/{name}", value))

    def close(self):
        if self._writer:
            with suppress(OSError):
                self._writer.close()

    def _record(self, **content):
        if self._writer is None:
            return
        try:
            self._writer.write(self._event(wall_time=time.time(), **content).SerializeToString())
            self._writer.flush()
        except OSError as error:
            self.alert(f"the event file cannot be written ({error.strerror}); training goes on without")
            self.close()
            self._writer = None
