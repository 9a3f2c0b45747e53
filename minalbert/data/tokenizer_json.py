"""tokenizer.json and tokenizer_config.json, with which transformers' AutoTokenizer gives our ids.

They say in the terms of the library `tokenizers` what `Normaliser` and sentencepiece do, one rule after the other. The
characters of a rule are found by calling these two, because `tokenizers` has another version of Unicode.
"""

import functools
import json
import unicodedata
import warnings
from itertools import groupby

from .tokenizer import CLS, SEP, SPECIALS, UNK

WORD, INERT = "▁", "\U0010fffd"                      # INERT: a character that no vocabulary has, so that it is <unk>
CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",    # AlbertTokenizer would read the vocabulary alone
    "split_special_tokens": True,                    # [MASK] in a text is letters and brackets
    "clean_up_tokenization_spaces": False,
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIALS, strict=True)),
}


def files_for(normalizer, split, model, decoder):
    """{name: bytes} of both files."""
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(i, piece) for i, piece in enumerate(SPECIALS)],
        "normalizer": normalizer,
        "pre_tokenizer": split,
        "post_processor": template(),
        "decoder": decoder,
        "model": model,
    }
    texts = {"tokenizer.json": content, "tokenizer_config.json": CONFIG}
    return {name: (json.dumps(text, ensure_ascii=False, indent=1) + "\n").encode() for name, text in texts.items()}


def added_token(i, piece):
    return {"id": i, "content": piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True}


def template():
    def token(i, segment):
        return {"SpecialToken": {"id": SPECIALS[i], "type_id": segment}}

    first, second = ({"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB"))
    single = [token(CLS, 0), first, token(SEP, 0)]
    specials = {SPECIALS[i]: {"id": SPECIALS[i], "ids": [i], "tokens": [SPECIALS[i]]} for i in (CLS, SEP)}
    return {"type": "TemplateProcessing", "single": single, "pair": [*single, second, token(SEP, 1)],
            "special_tokens": specials}


# Whole words


def words_files(words):
    spaces = replace(in_class(is_space), " ")
    special = replace("(?<!\\S)(?:" + "|".join(map(quoted, SPECIALS)) + ")(?!\\S)", SPECIALS[UNK])
    vocabulary = {piece: i for i, piece in enumerate([*SPECIALS, *words])}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIALS[UNK]}
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    return files_for(sequence(spaces, special), split, model, None)


# sentencepiece


def sentencepiece_files(tokenizer, processor):
    """tokenizer: a SentencePieceTokenizer."""
    if taken_apart := tokenizer.taken_apart:
        warnings.warn(f"{len(taken_apart)} of the pieces join a digit and a comma, such as {taken_apart[0]!r}, and are "
                      "taken apart; tokenizer.json cannot say that: AutoTokenizer gives other ids for some numbers",
                      stacklevel=4)  # fmt: skip
    pieces = [[piece, processor.get_score(i)] for i, piece in enumerate(tokenizer.pieces)]
    model = {"type": "Unigram", "unk_id": UNK, "vocab": pieces, "byte_fallback": False}
    # A special piece in a text is cut after its first character, so that it is letters.
    cuts = "|".join(f"{quoted(piece[0])}(?={quoted(piece[1:])})" for piece in SPECIALS)
    split = {"type": "Split", "pattern": {"Regex": cuts}, "behavior": "MergedWithPrevious", "invert": False}
    decoder = {"type": "Metaspace", "replacement": WORD, "prepend_scheme": "always", "split": False}
    rules = [*clean_up(tokenizer), *sentencepieces_own(processor)]
    return files_for(sequence(*rules), split, model, decoder)


def clean_up(tokenizer):
    """What `Normaliser` does."""
    normaliser = tokenizer.normaliser
    yield replace(in_class(is_unassigned), INERT)
    yield replace(in_class(is_space) + "+", " ")
    yield {"type": "Strip", "strip_left": True, "strip_right": True}
    if normaliser.quotes:
        yield from (replace(quotes, '"') for quotes in ("``", "''"))
    yield {"type": "NFKD"}
    yield replace(in_class(unicodedata.combining), "")
    if normaliser.lower:
        if {"σ", "ς"} & set("".join(tokenizer.pieces)):
            skipped = in_class(is_skipped_by_sigma)
            cased = in_class(is_cased)
            yield replace(f"{cased}{skipped}*\\KΣ(?!{skipped}*{cased})", "ς")
        yield {"type": "Lowercase"}


def sentencepieces_own(processor):
    """What the model's own normaliser does, found by calling it with each character."""
    becomes = {}
    characters = [character for character in everything() if not is_space(character)]
    for character, found in zip(characters, processor.normalize([f"a{c}a" for c in characters]), strict=True):
        found = found.removeprefix(WORD)[1:-1]
        if found != character:
            becomes.setdefault(found, []).append(character)
    for found in ("", WORD):
        if found in becomes:
            yield replace(ranges(becomes[found]), found.replace(WORD, " "))
    yield replace(WORD, " ")                         # a space even where it is written
    if processor.normalize("\u1100\u1161") == WORD + "\uac00":
        yield {"type": "NFC"}
    yield replace(" +", " ")
    yield {"type": "Strip", "strip_left": True, "strip_right": True}
    yield replace(" ", WORD)
    yield {"type": "Prepend", "prepend": WORD}
    yield replace(f"{WORD}+$", "")


# Rules, and the characters that they are about


def sequence(*rules):
    return {"type": "Sequence", "normalizers": list(rules)}


def replace(pattern, by):
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": by}


def quoted(text):
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)


@functools.cache
def everything():
    """Every character but the halves of surrogate pairs."""
    return [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]


@functools.cache
def in_class(has):
    """A regular expression for all characters that have a property."""
    return ranges(filter(has, everything()))


def ranges(characters):
    """A regular expression for some characters, given in order."""
    numbered = enumerate(map(ord, characters))
    runs = [[number for _, number in run] for _, run in groupby(numbered, lambda pair: pair[1] - pair[0])]
    return "[" + "".join(f"{quoted(chr(run[0]))}-{quoted(chr(run[-1]))}" for run in runs) + "]"


def is_space(character):
    return character.isspace()


def is_unassigned(character):
    return unicodedata.category(character) == "Cn"


def is_cased(character):
    """By Python's rule for a Σ at the end of a word."""
    return (character + "Σ").lower().endswith("ς")


def is_skipped_by_sigma(character):
    return not is_cased(character) and ("A" + character + "Σ").lower().endswith("ς")
