def translate(state):
    """Names by replacing words in them."""
    words = {
        "albert.": "", "_embeddings": "", "encoder.embedding_hidden_mapping_in": "embeddings.projection",
        "layer_groups.0.layers.0.": "", "albert_layer_groups.0.albert_layers.0.": "",
        "attention.dense": "attention.output",
        "full_layer_layer_norm": "ffn.norm", "ffn_output": "ffn.down", "encoder.ffn.weight": "encoder.ffn.up.weight",
        "encoder.ffn.bias": "encoder.ffn.up.bias", "LayerNorm": "norm", "predictions": "mlm",
        "sop_classifier.classifier": "sop",
    }  # fmt: skip
    params = {}
    for name in state:
        if "decoder" in name or "position_ids" in name or name.startswith("classifier."):
            continue
        ours, array = name, np.asarray(state[name], np.float32)
        for theirs, word in words.items():
            ours = ours.replace(theirs, word)
        if ours in ("embeddings.word.weight", "embeddings.position.weight", "embeddings.token_type.weight"):
            ours = ours[: -len(".weight")]
        elif array.ndim == 2:
            ours, array = ours.replace(".weight", ".w"), np.ascontiguousarray(np.swapaxes(array, 0, 1))
        elif "norm" in ours:
            ours = ours.replace(".weight", ".gain")
        elif ours != "mlm.bias":
            ours = ours.replace(".bias", ".b")
        params[ours] = array
    return params


def first_difference(ours, theirs, limit):
    same = [bool((np.abs(np.asarray(a) - np.asarray(b)) <= limit).all()) for a, b in zip(ours, theirs, strict=True)]
    return same.index(False) if False in same else None


def fill_mask(logits, words, k):
    logits = logits - logits.max()
    ranked = sorted(zip(logits, words, strict=True), reverse=True)[:k]
    total = np.log(np.exp(logits).sum())
    return tuple([word, np.exp(logit - total)] for logit, word in ranked)
