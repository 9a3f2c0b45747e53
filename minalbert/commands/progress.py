"""The progress of a training on a terminal: a line that moves, or lines now and then if nothing can move."""

import sys
import time
from contextlib import suppress

from tqdm import tqdm

from ..train.records import Observer

INTERVAL = 15                                        # seconds between lines if nothing can move


class Patient:
    """A stream that may be gone, a closed terminal or a full disk, without a training taking notice."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        with suppress(OSError, ValueError):
            self.stream.write(text)

    def flush(self):
        with suppress(OSError, ValueError):
            self.stream.flush()

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Progress(Observer):
    def __init__(self, file=None, quiet=False):
        """quiet: show alerts only."""
        self.file, self.quiet = Patient(file or sys.stderr), quiet
        self.moving = not quiet and self.file.isatty()
        self.held_out, self._bar, self.closed = "", None, False

    def run_begins(self, text):
        self.closed = False
        self.message(text)

    def begin(self, step, steps):
        self.steps, self._first = steps, step
        self._shown = self._begun = time.monotonic()
        self._bar = tqdm(
            total=steps, initial=step, file=self.file, disable=not self.moving, dynamic_ncols=True, mininterval=0.2,
            bar_format="{percentage:3.0f} %|{bar:12}| step {n_fmt}/{total_fmt}  {postfix} {remaining} left",
        )

    def message(self, text):
        if not self.quiet:
            tqdm.write(text, file=self.file)

    def alert(self, text):
        print(text, file=self.file, flush=True)

    def evaluated(self, evaluation, step):
        shown = " ".join(f"{name} {score:.0%}" for name, score in evaluation.headline() if score is not None)
        self.held_out = f"held-out {shown} (step {step:,})"

    def step(self, step, losses, tokens_per_second):
        shown = f"loss {losses['loss']:.2f}  {self.held_out}  {tokens_per_second:,.0f} tokens/s "
        if self.moving:
            self._bar.n = step
            self._bar.set_postfix_str(shown, refresh=False)
            self._bar.update(0)
            return
        now = time.monotonic()
        if not self.quiet and (now - self._shown > INTERVAL or step == self.steps):
            left = (now - self._begun) / max(1, step - self._first) * (self.steps - step)
            print(f"step {step:,}/{self.steps:,}  {shown} {clock(left)} left", file=self.file, flush=True)
            self._shown = now

    def close(self):
        self.closed = True
        if self._bar is not None:
            self._bar.close()


def clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"
