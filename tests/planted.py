"""Which of the planted mistakes a run tries, in the library and in the exercises: a third, another each day."""

import datetime

THIRDS = "first", "second", "last"
OF_THE_DAY = THIRDS[datetime.date.today().toordinal() % 3]


def planted(config, mistakes, further=0):
    """All of them, or the third that `--planted` names; further: 1 or 2 for another third"""
    wanted = config.getoption("planted")
    return mistakes if wanted == "all" else mistakes[(THIRDS.index(wanted) + further) % 3 :: 3]
