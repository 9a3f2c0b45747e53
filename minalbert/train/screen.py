"""What a person sees of a run: a line that moves on a terminal, lines now and then elsewhere."""

import sys
import time
from contextlib import suppress

from tqdm import tqdm

QUIET = 15                                           # seconds between lines where nothing can move


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


def tell(text):
    print(text, file=Patient(sys.stderr), flush=True)


class Screen:
    def __init__(self, steps, first=0, file=None, quiet=False):
        self.file = Patient(file or sys.stderr)
        self.steps, self.quiet = steps, quiet
        self.moving = not quiet and self.file.isatty()
        self.held_out, self._shown = "", time.monotonic()
        self._first, self._begun = first, time.monotonic()
        self._bar = tqdm(
            total=steps, initial=first, file=self.file, disable=not self.moving, dynamic_ncols=True, mininterval=0.2,
            bar_format="{percentage:3.0f} %|{bar:12}| step {n_fmt}/{total_fmt}  {postfix} {remaining} left",
        )  # fmt: skip

    def say(self, text):
        if not self.quiet:
            tqdm.write(text, file=self.file)

    def evaluated(self, found, step):
        accuracies = (("MLM", found.mlm_accuracy), ("SOP", found.sop_accuracy))
        said = " ".join(f"{name} {accuracy:.0%}" for name, accuracy in accuracies if accuracy is not None)
        self.held_out = f"held-out {said} (step {step:,})"

    def step(self, step, losses, tokens_per_second):
        said = f"loss {losses['loss']:.2f}  {self.held_out}  {tokens_per_second:,.0f} tokens/s "
        if self.moving:
            self._bar.n = step
            self._bar.set_postfix_str(said, refresh=False)
            self._bar.update(0)
            return
        now = time.monotonic()
        if not self.quiet and (now - self._shown > QUIET or step == self.steps):
            left = (now - self._begun) / max(1, step - self._first) * (self.steps - step)
            print(f"step {step:,}/{self.steps:,}  {said} {clock(left)} left", file=self.file, flush=True)
            self._shown = now

    def close(self):
        self._bar.close()


def clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"
