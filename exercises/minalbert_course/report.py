"""What a student reads after a check: points, and for what is wrong the place, the numbers, the formula, the cause."""

import textwrap

from minalbert.gradcheck.diagnose import certain

SHOWN = 3                                            # failures explained, of many


def lines(marks, width=100, shown=SHOWN):
    """`shown`: how many failures are explained; None: all."""
    lesson = marks.lesson
    title = f"{lesson.name} {lesson.title}"
    yield f"{title:<{width - 20}} {marks.points:g} / {marks.of:g}"
    badges = [f"[{o.earned:g}/{o.check.points:g}] {o.check.title}".replace(" ", "\xa0") for o in marks.outcomes]
    yield from (f"  {line}".replace("\xa0", " ") for line in textwrap.wrap("   ".join(badges), width - 2))
    for note in dict.fromkeys(outcome.note for outcome in marks.outcomes if outcome.note):
        titles = ", ".join(outcome.check.title for outcome in marks.outcomes if outcome.note == note)
        yield from textwrap.wrap(f"{titles}: {note}", width, initial_indent="  ", subsequent_indent="  ")
    if marks.remark:
        yield from textwrap.wrap(marks.remark, width, initial_indent="  ", subsequent_indent="  ")
        if all(outcome.seen == marks.remark for outcome in marks.outcomes):
            return
    missed = unlike(marks.missed)
    for outcome in missed[:shown]:
        yield ""
        yield from explained(lesson, outcome, width)
    if missed[:shown] != missed:
        yield ""
        others = len(missed) - shown
        yield f"  and {others} more that {'is' if others == 1 else 'are'} not right yet"


def unlike(missed):
    """One outcome of those with the same reason, such as a function that is not written."""
    seen, found = set(), []
    for outcome in missed:
        if outcome.seen not in seen:
            seen.add(outcome.seen)
            found.append(outcome)
    return found


def explained(lesson, outcome, width=100):
    wrap = textwrap.TextWrapper(width, subsequent_indent=" " * 13)
    title = "" if outcome.seen.startswith(outcome.check.title) else f"{outcome.check.title}: "
    yield from wrap.wrap(f"  {title}{outcome.seen}")
    if outcome.check.formula and outcome.ran:
        yield from wrap.wrap(f"  formula    {outcome.check.formula}")
    if outcome.cause:
        word, cause = ("looks like", outcome.cause) if certain(outcome.cause) else outcome.cause.split(": ", 1)
        yield from wrap.wrap(f"  {word:10} {cause}")
    if outcome.of:
        yield f"  hint       minalbert exercise hint {lesson.exercise} --of {outcome.of}"
