import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

FROM = "Hugging Face's tokenizers 0.23: truncation longest_first, template [CLS] $A [SEP] $B:1 [SEP]:1"
ASKED = [[4, 3, 16], [9, 4, 12], [3, 11, 10], [8, 8, 13], [12, 2, 9]]  # of first, of second, max_length


def numbers():
    words = {"[CLS]": 2, "[SEP]": 3} | {str(i): i for i in range(100, 300)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[SEP]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    found = {"asked": np.array(ASKED)}
    for number, (first, second, max_length) in enumerate(ASKED):
        tokenizer.enable_truncation(max_length, strategy="longest_first")
        parts = (" ".join(map(str, range(start, start + size))) for start, size in ((100, first), (200, second)))
        encoded = tokenizer.encode(*parts)
        found[f"input_ids_{number}"] = np.array(encoded.ids)
        found[f"token_type_ids_{number}"] = np.array(encoded.type_ids)
    return found
