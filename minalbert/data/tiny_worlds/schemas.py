"""The form of a script, the steps that several scripts share, and how a step is written.

A step is the sentence without its subject:

    (took|fetched) [bowl] from the <shelf|rack>     ( ) one of these words     [ ] the story's own bowl
    (ate|shared) <bread|soup> with {helper}         < > one of these nouns     { } the second person's name
    = wash                                          the shared step of that name

A noun in < > may get an adjective; `topic_strength` may replace it by a noun that reveals no topic.
"""

from typing import NamedTuple

SHARED = {                                           # the same words, in many scripts and at many places in them
    "open": "(opened|unlatched|unbolted) the <gate|door|hatch> for {helper}",
    "close": "(closed|shut|fastened) the <gate|door|hatch> with a <bolt|latch|chain>",
    "draw": "(fetched|drew|carried) <water|coal|firewood> from the <well|shed|yard>",
    "wash": "(washed|rinsed|wiped) the <buckets|cups|bowls> with a <rag|sponge|cloth>",
    "sweep": "(swept|mopped|scrubbed) the <floor|steps|porch> with a <broom|mop|brush>",
    "count": "(counted|checked|numbered) the <boxes|sacks|barrels> by the <door|gate|wall>",
    "carry": "(carried|dragged|rolled) the <boxes|sacks|barrels> to the <shed|cart|cellar>",
    "rest": "(rested|sat|leaned) on a <bench|stool|crate> beside {helper}",
    "sit": "(sat|dozed|leaned) on a <bench|stool|chair> in the <hallway|lobby|corridor>",
    "write": "(wrote|noted|copied) the <date|hour|weather> in a <notebook|ledger|diary>",
    "eat": "(ate|shared|tasted) some <bread|cheese|soup> with {helper}",
    "greet": "(greeted|met|hailed) {helper} at the <gate|door|corner>",
    "lamp": "(lit|trimmed|lifted) the <lamp|lantern|candle> by the <window|stairs|door>",
}  # fmt: skip


class Schema(NamedTuple):
    name: str
    kind: str                                        # "line" or "ring"
    place: str                                       # in the bakery|kitchen|pantry
    things: dict                                     # name -> the nouns a story may choose from
    condition: str                                   # a sentence that, early in a story, swaps two blocks
    steps: str                                       # one a line
    either: tuple = ()                               # step i may change places with step i + 1
    blocks: tuple = ()                               # (start, middle, stop) of the two blocks, in a line

    def step_texts(self):
        lines = [line.strip() for line in self.steps.strip().splitlines()]
        return [SHARED[line[2:]] if line.startswith("= ") else line for line in lines]

    def place_texts(self):
        where, the, nouns = self.place.split(" ")
        return tuple(f"{where} {the} {noun}" for noun in nouns.split("|"))
