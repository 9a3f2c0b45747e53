"""What a directory holds that a model has no use for, kept so that saving the model again writes it back.

    settings     all of config.json, of which the model understands some: pad_token_id, id2label, ...
    tensors      of heads that the model does not have, with strict=False: classifier.weight, ...
    files        the tokenizer's and others that belong to a model, as bytes
    digest       of the tokenizer that the model was trained with: config.json or a checkpoint's state.json has it
"""

from typing import NamedTuple

from ..arguments import text
from ..errors import MissingFileError, PretrainedError
from ..files import exists, read
from ..sealed import STATE, read_note

TOKENIZER_FILES = ("spiece.model", "tokenizer.model", "tokenizer.recipe.json", "tokenizer.json",
                   "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")  # fmt: skip
OTHER_FILES = "generation_config.json", "README.md", "LICENSE", "LICENSE.txt", "NOTICE"
NOT_KEPT = ("minalbert", "dtype", "torch_dtype")     # written from the config
TASK = "minalbert_task"                              # what the model was fine-tuned for: its facts
OF_HEADS = (TASK, "architectures", "id2label", "label2id", "problem_type")
ADVICE = "restore it from a copy, or remove it"


class Unread(NamedTuple):
    settings: dict
    tensors: dict
    files: dict
    digest: str | None


NOTHING = Unread({}, {}, {}, None)                   # of a model that was not read


def unread_of(directory, settings, tensors):
    """settings: what config.json holds."""
    kept = {key: value for key, value in settings.items() if key not in NOT_KEPT}
    return Unread(kept, tensors, files_in(directory), digest_of_tokenizer(directory, settings))


def with_tokenizer(unread, tokenizer):
    """The files of a tokenizer in the place of those that were there."""
    others = {name: content for name, content in unread.files.items() if name in OTHER_FILES}
    return unread._replace(files=others | tokenizer.files(), digest=tokenizer.digest)


def with_other_heads(unread):
    """Without what config.json says of the heads that the model had."""
    return unread._replace(settings={name: value for name, value in unread.settings.items() if name not in OF_HEADS})


def files_in(directory):
    """name -> bytes, of those that are there."""
    found = {}
    for name in TOKENIZER_FILES + OTHER_FILES:
        try:
            found[name] = read(directory / name, ADVICE)
        except MissingFileError:
            continue
    return found


def digest_of_tokenizer(directory, settings):
    if digest := settings.get("minalbert", {}).get("tokenizer"):
        return text(f"tokenizer in {directory}/config.json", digest, PretrainedError)
    if exists(directory / STATE, ADVICE):            # a checkpoint
        return read_note(directory / STATE, ADVICE).get("circumstances", {}).get("tokenizer")
    return None
