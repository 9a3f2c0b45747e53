"""Tiny worlds: a corpus of short English-like stories in which topic and order are two knobs.

There are sixteen scripts. Eight are lines (bake, fish, ...): a step has its place in the story. Eight are rings (a
farm's year, a ferry's round, ...): a story begins anywhere, so that only the succession of steps reveals their order. A
story is a pure function of (seed, knobs, index); nothing is stored. It comes with its labels.

Read in this order: schemas, lines, rings, lexicon, grammar, scripts, stories; then the tasks for models that were
trained on them: step_tasks, span_tasks, grammar_tasks, tasks.
"""

from bisect import bisect
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from ...arguments import flag, is_whole, number, whole
from ...errors import DataError, named_fields
from . import lexicon
from .scripts import CONNECTIVE_WORDS, SCHEMAS, base_words, words_of_sentence
from .stories import Story, make_story

LARGEST_SCALE = 5.1                                  # some 8,000 words

SHARES = ("ring_fraction", "topic_strength", "order_strength", "p_conn", "p_true_conn", "p_fill", "p_pron",
          "p_branch", "p_handover", "p_long", "p_place", "p_adverb", "p_adjective")  # fmt: skip


@named_fields(DataError)
@dataclass(frozen=True)
class TinyWorlds:
    """The knobs of the stories. `story(index)` makes one; `documents(start, stop)` makes training text."""

    seed: int = 0
    ring_fraction: float = 0.5                       # of the stories
    topic_strength: float = 1.0                      # 0: only the verbs reveal the topic
    order_strength: float = 1.0                      # 0: every story has its steps shuffled
    entity_cues: bool = True                         # False: no a/an, it, she, he reveals what was named before
    lexicon_scale: float = 1.0                       # how many times the base vocabulary, in surnames and adjectives
    p_conn: float = 0.3                              # connectives that do not depend on the order
    p_true_conn: float = 0.0                         # connectives that do depend on it: a planted shortcut
    p_fill: float = 0.2                              # weather, feelings, passers-by
    p_pron: float = 0.4
    p_branch: float = 0.125                          # a condition swaps two blocks
    p_handover: float = 0.05                         # an item goes from hand to hand
    hops: int = 0                                    # how often; 0: once to six times
    p_long: float = 0.1                              # two episodes, the second with new people and things
    p_place: float = 0.1
    p_adverb: float = 0.15
    p_adjective: float = 0.15

    def __post_init__(self):
        whole("seed", self.seed, error=DataError)
        for name in SHARES:
            number(name, getattr(self, name), least=0, most=1, error=DataError)
        number("p_fill", self.p_fill, least=0, most=0.9, error=DataError)    # at 1, fillers would never end
        number("lexicon_scale", self.lexicon_scale, least=1, most=LARGEST_SCALE, error=DataError)
        flag("entity_cues", self.entity_cues, DataError)
        if not is_whole(self.hops) or self.hops not in range(7):
            raise DataError(f"hops is {self.hops!r}; it must be a whole number from 1 to 6, or 0 for any of them")

    def story(self, index):
        return make_story(self, whole("index", index, error=DataError))

    def documents(self, start, stop):
        """The stories as documents for `WordTokenizer(self.words())`: lower case, words and full stops apart."""
        from ..documents import Document

        for index in range(whole("start", start, error=DataError), whole("stop", stop, error=DataError)):
            story = self.story(index)
            sentences = [words_of_sentence(text) for text in story.sentences]
            yield Document(sentences, f"tiny worlds, seed {self.seed}, story {index}", story.topic)

    def words(self):
        """Every word of all stories, in lower case, and the full stop; always in the same order."""
        return list(dict.fromkeys([*base_words(), *map(str.lower, self._surnames), *self._adjectives]))

    def surname(self, random):
        return self._surnames[bisect(self._surname_shares, random())] if self._surnames else ""

    def adjective(self, random):
        return self._adjectives[bisect(self._adjective_shares, random())]

    @property
    def _extra_words(self):
        return round((self.lexicon_scale - 1) * len(base_words()))

    @cached_property
    def _surnames(self):
        return lexicon.surnames(self._extra_words // 2)

    @cached_property
    def _adjectives(self):
        return lexicon.ADJECTIVES + lexicon.modifiers(self._extra_words - self._extra_words // 2)

    @cached_property
    def _surname_shares(self):
        return _zipf(len(self._surnames))

    @cached_property
    def _adjective_shares(self):
        return _zipf(len(self._adjectives))


def _zipf(count):
    """Cumulative shares of words in 0..1; the k-th word's share is proportional to 1/k."""
    ends = list(accumulate(1 / rank for rank in range(1, count + 1)))
    return [end / ends[-1] for end in ends[:-1]]
