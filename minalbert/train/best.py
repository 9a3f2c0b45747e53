"""Which step of a run did best in its tests, and how long to wait for a better one.

Decisions depend on the tests alone and their memory is in each checkpoint: a run that was stopped chooses as one that
was not.
"""

import math


class BestStep:
    def __init__(self, metric=None, stop_after=0, memory=None):
        """
        metric       the score that counts, the higher the better; None: all steps are alike
        stop_after   tests without a better score that end a run; 0: never
        """
        self.metric, self.stop_after = metric, stop_after
        memory = memory or {}
        self.step, self.scores, self.waiting = memory.get("step"), memory.get("scores"), memory.get("waiting", 0)

    @property
    def memory(self):
        """All that its decisions depend on, for the checkpoint; None if there is nothing to remember."""
        if self.step is None:
            return None
        return {"step": self.step, "scores": self.scores, "waiting": self.waiting}

    def judge(self, step, scores):
        """Take notice of a test, {name: score}. The first of equal scores is the best; step 0 is no candidate."""
        if self.metric is None or step == 0:
            return
        if self.step is None or comparable(scores[self.metric]) > comparable(self.scores[self.metric]):
            self.step, self.scores, self.waiting = step, scores, 0
        else:
            self.waiting += 1

    @property
    def exhausted(self):
        """Were there stop_after tests without a better score?"""
        return 0 < self.stop_after <= self.waiting


def comparable(score):
    return -math.inf if math.isnan(score) else score
