"""A run is asked to stop by a signal, and stops where it does no harm: at the end of a step.

Ctrl-C leaves with 130, the shells' code for it. SIGTERM and SIGUSR1 come from machines that need the place for
others: 75, the code for "try again later", tells them that the same command goes on from here.
"""

import signal
import threading

from .screen import tell

CODES = {"SIGINT": 130, "SIGTERM": 75, "SIGUSR1": 75}  # Windows has no SIGUSR1


class StopSignals:
    """    with StopSignals() as stop:
               while not stop.code: ...
    """

    def __init__(self):
        self.code, self.name = 0, None
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():        # elsewhere Python takes no signals
            for name in CODES:
                if number := getattr(signal, name, None):
                    self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _asked(self, number, frame):
        if self.code and number == signal.SIGINT:
            raise KeyboardInterrupt                  # twice: at once
        self.name = signal.Signals(number).name
        self.code = CODES[self.name]
        again = "; Ctrl-C once more stops without saving" if number == signal.SIGINT else ""
        tell(f"\n{self.name}: saving at the end of this step{again}")
