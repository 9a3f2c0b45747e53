"""Exercise 8's spans of words that have several pieces: which tokens are masked, once all draws are made."""

import numpy as np

from minalbert.data import masking, random_draws
from minalbert.data.recipe import Recipe

from ...compare import Wrong, equal, shown
from .altered import altered
from .sentences import CLS, MASK, ORDINARY, SEP, whole

LIST = "it must be a list of lists of positions"
SPECIAL = (None, 1, None, MASK, None, 0, None, 1)    # a token among the words of each input


def words_of(input_ids, begins, special=ORDINARY, every_first=True, across=()):
    """The words of an input; with other arguments, what known mistakes make of them."""
    words, inside = [], False
    for place, token in enumerate(input_ids):
        if token < special:
            inside = inside and token in across
            continue
        if begins[place] or not (inside or (words and not every_first)):
            words.append([])
        words[-1].append(place)
        inside = True
    return words


def spans_of(words, order, lengths, budget, mistake=None):
    """The spans in their order, or what a known mistake makes of them."""
    left, taken, spans = budget, set(), []
    size = len if mistake == "words" else lambda span: len(joined(span))
    for word, n in zip(order, lengths, strict=True):
        span = [words[word]]
        while (len(joined(span)) if mistake == "tokens" else len(span)) < n and word + len(span) < len(words):
            following = words[word + len(span)]
            if mistake != "gaps" and following[0] != span[-1][-1] + 1:
                break
            if mistake == "taken" and not taken.isdisjoint(following):
                break
            span.append(following)
        if mistake == "late" and not taken.isdisjoint(joined(span)):
            continue
        if mistake == "stops" and size(span) > left:
            break
        if mistake == "cut":
            span = [joined(span)[:left]] if left else []
        while span and size(span) > left and mistake != "budget":
            span = [] if mistake == "left out" else span[1:] if mistake == "front" else span[:-1]
        if mistake == "cut word" and left and not span:
            span = [words[word][:left]]
        if mistake == "stops at nothing" and not span:
            break
        if not span or (mistake != "twice" and not taken.isdisjoint(joined(span))):
            continue
        spans.append(joined(span))
        taken.update(joined(span))
        left -= size(span)
    return spans


def joined(span):
    return [place for word in span for place in word]


# Texts for the checks


def pieces(draw, words, special=None):
    """[CLS] a [SEP] b [SEP] of words of one to four pieces, and which tokens begin a word; padding at the end.

    Where a part was shortened at its front, it begins in the middle of a word. special: a token among them
    """
    ids, begins = [CLS], [False]
    for part in range(2):
        sizes = draw.integers(1, 5, max(1, words // 2 + part))
        inside = [i == 0 for size in sizes for i in range(size)]
        inside[0] = bool(part)
        ids += draw.integers(ORDINARY, 60, len(inside)).tolist()
        begins += inside
        if special is not None and part:
            ids, begins = [*ids[:-1], special, ids[-1]], [*begins[:-1], False, False]
        ids, begins = [*ids, SEP], [*begins, False]
    padding = int(draw.integers(0, 4))
    return np.array(ids + [0] * padding), np.array(begins + [False] * padding)


def lists(name, value):
    """Lists of whole numbers, or Wrong."""
    if not isinstance(value, list | tuple | np.ndarray):
        raise Wrong(f"{name} is {shown(value)}; {LIST}")
    if any(np.ndim(part) != 1 for part in value):
        raise Wrong(f"{name} is {shown(value)}; {LIST}", "the positions must be grouped, a list for each")
    return [whole(f"{name}[{i}]", part) for i, part in enumerate(value)]


def bare(draw):
    """Words of one to eight pieces without a special token, at the end neither."""
    sizes = draw.integers(1, 9, 5)
    return draw.integers(ORDINARY, 60, int(sizes.sum())), np.concatenate([np.arange(size) == 0 for size in sizes])


def long_words(draw):
    """More tokens than ALBERT has places, in words of up to 40 pieces."""
    sizes = draw.integers(10, 41, 30)
    return draw.integers(ORDINARY, 60, int(sizes.sum())), np.concatenate([np.arange(size) == 0 for size in sizes])


def compare_words(yours, draw):
    asked = [pieces(draw, 2 + 2 * number, SPECIAL[number]) for number in range(len(SPECIAL))] + [bare(draw)]
    asked += [(np.array([CLS, SEP, 0]), np.zeros(3, bool)), long_words(draw)]
    asked.append((asked[-1][0][:9], np.arange(9) == 5))                      # from the middle of a word
    tried = [(lists("words", found), words_of(*given), word_mistakes(*given))
             for given, found in zip(asked, yours.each("find_words", asked), strict=True)]
    cause = cause_of_all(tried) or altered(
        "words", [(found, right) for found, right, _ in tried], words_of,
        [{"input_ids": ids.tolist(), "begins": begins.astype(int).tolist()} for ids, begins in asked])  # fmt: skip
    for (ids, _), (found, right, _) in zip(asked, tried, strict=True):
        where = f"words of input_ids {shown(ids.tolist())}"
        equal(f"the number of {where}", len(found), len(right), cause)
        equal(where, found, right, cause)


def cause_of_all(tried):
    """The first mistake that gives what came back for every input. tried: (found, right, mistakes: {says: answer})"""
    return next((says for says in tried[0][2] if all(known[says] == found for found, _, known in tried)), None)


def word_mistakes(ids, begins):
    right = words_of(ids, begins)
    text = np.cumprod(ids != 0).sum()                # tokens before the first padding
    return {
        "what stands behind a [PAD] is left out; padding may stand anywhere": words_of(ids[:text], begins[:text]),
        "special tokens belong to no word": words_of(ids, begins, special=-1),
        "[PAD] alone is left out; all special tokens must be": words_of(ids, begins, special=1),
        "a special token begins a word; special tokens belong to no word": words_of(ids, begins | (ids < ORDINARY), -1),
        "[MASK] is a special token, too": words_of(ids, begins, special=MASK),
        "the first ordinary token of a part begins a word, whatever `begins` says":
            [word for word in words_of(ids, begins) if begins[word[0]]],
        "a word goes on behind a special token; a special token ends it":
            words_of(ids, begins, across=range(ORDINARY)),
        "a word goes on behind [UNK]; each special token ends it": words_of(ids, begins, across=[1]),
        "a word goes on behind [MASK]; each special token ends it": words_of(ids, begins, across=[MASK]),
        "a word goes on behind [UNK] and [MASK]; each special token ends it": words_of(ids, begins, across=[1, MASK]),
        "every piece is a word of its own": [[place] for word in right for place in word],
        "these are token ids; the positions are asked for": [[int(ids[i]) for i in word] for word in right],
        "the last word is missing": right[:-1],
        "the first word is missing": right[1:],
        "all words together are one": [joined(right)],
        "each word has its first piece alone": [word[:1] for word in right],
    }  # fmt: skip


def given_spans(draw, words):
    """words, order, lengths, budget"""
    found = words_of(*pieces(draw, words))
    order = draw.rng.permutation(len(found)).tolist()
    budget = max(1, round(len(joined(found)) * float(draw.uniform(0.15, 0.6))))
    return found, order, draw.integers(1, 4, len(found)).tolist(), budget


def compare_spans(yours, draw):
    asked = []
    for number in range(24):
        words, order, lengths, budget = given_spans(draw, 2 + number)
        if number % 4 == 0:                          # words of one piece, so that neighbours meet often
            words = [word[:1] for word in words]
        asked.append((words, order, lengths, {7: 1000, 9: 0, 12: 1}.get(number, budget)))
    asked += [*alone(draw), many(), far_positions()]
    compare_chosen("spans", yours, [(given, spans_of(*given)) for given in asked])


def alone(draw):
    """One word is all that there is: it just fits, or has one token too many."""
    start, size, n = (int(draw.integers(*limits)) for limits in ((1, 9), (2, 5), (1, 4)))
    word = list(range(start, start + size))
    return [([word], [0], [n], budget) for budget in (size, size - 1)]


def many():
    """Forty spans of one token each."""
    places = range(1, 41)
    return [[place] for place in places], [place - 1 for place in places], [1] * 40, 40


def far_positions():
    """Words at positions up to 1101, beyond ALBERT's 512."""
    words = [[place, place + 1] for place in (470, 511, 530, 700, 1100)]
    return words, [4, 1, 2, 0, 3], [1, 2, 1, 3, 1], 6


def compare_chosen(name, yours, asked):
    """asked: (what choose_spans is given, the right spans), of every input"""
    answers = yours.each("choose_spans", [given for given, _ in asked])
    tried = [(lists(name, answer), right) for answer, (_, right) in zip(answers, asked, strict=True)]
    if all(found == right for found, right in tried):
        return
    known = [span_mistakes(*given) for given, _ in asked]
    cause = cause_of_all([(*one, mistakes) for one, mistakes in zip(tried, known, strict=True)]) or altered(
        "spans", tried, spans_of,
        [dict(zip(("words", "order", "lengths", "budget"), given, strict=True)) for given, _ in asked])  # fmt: skip
    if not cause and all(found == right or len(given[0]) == 1 for given, (found, right) in
                         zip([given for given, _ in asked], tried, strict=True)):  # fmt: skip
        cause = "perhaps: it is right for more words; a single word is a case of its own"
    for (found, right), (given, _) in zip(tried, asked, strict=True):
        compare_one(name, found, right, given, cause)


def compare_one(name, found, right, asked, cause):
    words, budget = asked[0], asked[-1]
    there = [place for span in found for place in span]
    if not cause and len(there) > budget:
        cause = f"{len(there)} tokens are chosen, more than the budget of {budget}"
    if not cause and len(set(there)) < len(there):
        cause = "a token is chosen twice: a span with a word that is taken must be left out"
    if not cause and sorted(there) == sorted(joined(right)):
        cause = "these tokens, but not span by span in the order of choice"
    where = f"{name}, of {len(words)} words and a budget of {budget},"
    for i, (mine, span) in enumerate(zip(found, right, strict=False)):
        equal(f"{where} number {i}", mine, span, cause)
    equal(f"the number of {where}", len(found), len(right), cause)


MISTAKES = {
    "gaps": "a span goes on behind a [SEP]; it must end where positions have a gap",
    "left out": "a span that is too long is left out; it must be shortened, by whole words",
    "front": "a span that is too long is shortened at its front; its last word must go",
    "cut": "a span is cut within a word where the budget ends; words are masked whole",
    "cut word": "a word is cut where the budget ends; words are masked whole",
    "twice": "words are taken twice: a span with a word that is taken must be left out",
    "late": "a span is left out for a word that it loses where it is shortened: shorten it first, then look",
    "stops": "it stops at the first span that is too long; it must be shortened, and others may still fit",
    "stops at nothing": "it stops where nothing of a span remains; that one is left out, and others may still fit",
    "taken": "a span ends before a word that is taken; as a whole it must be left out",
    "words": "the budget counts words; it must count tokens",
    "tokens": "the lengths count tokens; they must count words",
    "budget": "the budget is not looked at",
}


def span_mistakes(words, order, lengths, budget):
    found = {says: spans_of(words, order, lengths, budget, name) for name, says in MISTAKES.items()}
    right, given = spans_of(words, order, lengths, budget), lengths
    return found | {
        "lengths[i] belongs to the i-th span that is tried, not to word number i":
            spans_of(words, order, [given[word] for word in order], budget),
        "the words are tried from left to right; `order` says which one comes next":
            spans_of(words, sorted(order), given, budget),
        "every span is one word": spans_of(words, order, [1] * len(order), budget),
        "the last span is missing": right[:-1],
        "these are numbers of words; the positions of their tokens are asked for":
            [[i for i, word in enumerate(words) if word[0] in span] for span in right],
    }  # fmt: skip


# As the library


def compare_library(yours, draw):
    """The random numbers of an instance of the library's, and the spans that it makes of them."""
    recipe, given = Recipe(spans_cross_segments=False), []
    for number in range(6):
        ids, begins = pieces(draw, 30 + 5 * number)
        found = yours.find_words(ids, begins)
        inside = np.flatnonzero(ids >= ORDINARY)
        halves = np.array([[int((inside < np.flatnonzero(ids == SEP)[0]).sum()), 0]])
        halves[0, 1] = len(inside) - halves[0, 0]
        words = masking.find_words(np.arange(len(inside)), begins[inside], halves, recipe.spans_cross_segments)
        right = [inside[a:b].tolist() for a, b in zip(words.start, words.stop, strict=True)]
        equal("words", lists("words", found), right, "seen: they are not those of the library's instance")
        key, budget = random_draws.keys(int(draw.integers(0, 1000)), 0, 0), masking.budgets(halves.sum(1) + 3, recipe)
        chosen = masking.choose_spans(words, budget, key, recipe)
        spans = [joined(right[a : a + n]) for a, n in zip(chosen.word, chosen.count, strict=True)]
        given.append(((right, *drawn(words, key, recipe), int(budget[0])), spans))
    compare_chosen("spans (of an instance of the library's)", yours, given)


def drawn(words, key, recipe):
    """order, lengths: the library's draws for one instance, of all its words."""
    count, order, lengths = int(words.count[0]), [], []
    shuffled, bounds = np.arange(count), masking.ngram_bounds(recipe)
    for rank in range(0, count, masking.AT_ONCE):
        for top, pick, n in zip(*masking.next_words(key, words.first, words.count, rank, bounds), strict=True):
            if n[0]:
                order.append(int(shuffled[pick[0]]))
                lengths.append(int(n[0]))
                shuffled[pick] = shuffled[top]
    return order, lengths
