"""What a run tells: to a person, to metrics.jsonl, and whether it has got anywhere."""

from .evaluate import Evaluation, evaluate
from .metrics import Metrics, read_lines
from .screen import Screen
from .tensorboard import Board
from .watch import milestones


class Records:
    def __init__(self, run, settings, standing, prepared, quiet=False):
        self.settings, self.standing, self.prepared = settings, standing, prepared
        board = Board(run, standing.step) if settings.records.tensorboard else None
        self.metrics = Metrics(run, standing.position, standing.fresh, board)
        self.screen = Screen(settings.training.steps, standing.step, quiet=quiet)
        self.before, self.found, self.evaluated = first_evaluation(run), None, None      # evaluated: at which step

    def close(self):
        self.screen.close()
        self.metrics.close()

    def write(self, kind, **values):
        self.metrics.write(kind, step=self.standing.step, position=self.standing.position, **values)

    def event(self, event, text):
        self.write("event", event=event, text=text)
        step = self.standing.step
        self.screen.say(f"step {step:,}: {text}" if step else text)

    def step(self, losses, norm, rate, ratios, tokens):
        """`tokens`: of text, a second."""
        if self.standing.step % self.settings.records.log_every == 0:
            self.write(
                "train", **losses, rate=rate, gradient_norm=norm, tokens_per_second=round(tokens),
                seconds=round(self.standing.seconds, 3),
                **({"trust_ratios": {name: float(ratio) for name, ratio in ratios.items()}} if ratios else {}),
            )  # fmt: skip
        self.screen.step(self.standing.step, losses, tokens)

    def evaluate(self):
        self.found, self.evaluated = evaluate(self.standing.model, self.prepared.held_out), self.standing.step
        self.before = self.before or self.found
        self.write("eval", **self.found._asdict())
        self.screen.evaluated(self.found, self.standing.step)
        for event, text in milestones(self.found, self.prepared.baselines, self.settings.recipe.pairs):
            if event not in self.standing.reached:
                self.standing.reached.append(event)
                self.event(event, text)


def first_evaluation(run):
    """Of an earlier life, or None."""
    for line in read_lines(run):
        if line["kind"] == "eval":
            return Evaluation(*(line[name] for name in Evaluation._fields))
    return None
