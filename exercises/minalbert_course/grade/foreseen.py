"""The steps that an exercise's checks will ask, known from a complete answer that was marked before.

All complete answers are asked the same, so that the next one is asked it many steps at a time; to wait for each answer
takes longer than to compute it. Where the checks ask something else, as they do of a wrong answer, what was asked too
early must leave no trace: the rest is asked of a new worker, which is asked the steps up to there before. So no
submission is asked anything else, or in another order, than one that is marked alone.
"""

TOGETHER = 64                                        # steps in one question, at most


class Foreseen:
    """steps: in their order; at: how many of them the checks have asked"""

    def __init__(self, steps=()):
        self.steps, self.at, self.answers = steps, 0, []

    def known(self, steps):
        """Count those of these steps, which the checks ask now, that are the next ones."""
        following = self.steps[self.at : self.at + len(steps)]
        pairs = zip(steps, following, strict=False)
        return next((i for i, (step, other) in enumerate(pairs) if not step.is_as(other)), len(following))

    def answer(self, number, ask):
        """To the step of that number. ask(steps) -> the answers to the first of them, or Stopped"""
        while (known := len(self.answers)) <= number:
            self.answers += ask(self.steps[known : known + TOGETHER])
        return self.answers[number]
