"""What a run reports: to its log, and to an observer, which may show it to a person."""

import logging

alert_by_log = logging.getLogger("minalbert").warning


class Observer:
    """Hears what a run reports. This one shows nothing, and logs what must not be missed; commands have another."""

    def run_begins(self, text):
        """The next one of several runs begins."""

    def begin(self, step, steps):
        """The run is at this step, of so many."""

    def message(self, text):
        """A sentence."""

    def alert(self, text):
        """A sentence that is shown even if nothing else is."""
        alert_by_log(text)

    def step(self, step, losses, tokens_per_second):
        """A step was made."""

    def evaluated(self, evaluation, step):
        """The model was tested."""

    def close(self):
        """The run ends."""


class Records:
    def __init__(self, metrics, observer, state, test, log_every, before=None):
        """
        test       test(model) -> scores, a record of numbers; test.milestones(scores), pairs (event, text) of what they
                   show to be learnt; test.baselines, a record of what guessing scores
        before     the run's first scores, if they are from earlier
        """
        self.metrics, self.observer, self.state, self.test, self.log_every = metrics, observer, state, test, log_every
        self.before, self.latest, self.evaluated = before, None, None     # evaluated: at which step
        observer.begin(state.step, state.steps)

    def close(self):
        self.observer.close()
        self.metrics.close()

    def write(self, kind, **values):
        self.metrics.write(kind, step=self.state.step, position=self.state.batch_index, **values)

    def event(self, event, text):
        self.write("event", event=event, text=text)
        step = self.state.step
        self.observer.message(f"step {step:,}: {text}" if step else text)

    @property
    def due(self):
        """Is the step that was just made to be written down?"""
        return self.state.step % self.log_every == 0

    def step(self, losses, norm, rate, ratios, tokens):
        """`tokens`: of text, a second."""
        if self.due:
            trust = {"trust_ratios": ratios} if ratios else {}
            self.write("train", **losses, rate=rate, gradient_norm=norm, tokens_per_second=round(tokens),
                       seconds=round(self.state.seconds, 3), **trust)
        self.observer.step(self.state.step, losses, tokens)

    def evaluate(self):
        with self.state.whole_model():
            self.latest, self.evaluated = self.test(self.state.model), self.state.step
        self.before = self.before or self.latest
        self.write("eval", **self.latest._asdict())
        self.observer.evaluated(self.latest, self.state.step)
        for event, text in self.test.milestones(self.latest):
            if self.state.step and event not in self.state.reached:
                self.state.reached.append(event)
                self.event(event, text)
        best = self.state.best
        best.judge(self.state.step, self.latest._asdict())
        if best.exhausted:
            tests = f"{best.waiting} test{'s' * (best.waiting > 1)}"
            self.event("stopped early", f"{tests} brought no better {best.metric} than the "
                                        f"{best.scores[best.metric]:.3f} of step {best.step:,}")
