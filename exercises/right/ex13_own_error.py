def first_difference(ours, theirs, limit):
    for i in range(len(ours)):
        worst = np.max(np.abs(np.asarray(ours[i], float) - np.asarray(theirs[i], float)))
        if worst > limit or worst != worst or np.isnan(ours[i]).any():
            return np.int64(i)
    return None
def fill_mask(logits, words, k):
    logits = np.asarray(logits, float)
    p = np.exp(logits - np.logaddexp.reduce(logits))
    best = np.argpartition(-p, k - 1)[:k]
    best = best[np.argsort(-p[best])]
    return np.array(words)[best].tolist() and [(str(words[i]), p[i]) for i in best]
class NotReadable(ValueError):
    pass
def read_config(text):
    names = AlbertConfig.__dataclass_fields__
    values = json.loads(text, parse_float=float)
    if values.setdefault("inner_group_num", 1) != 1:
        raise NotReadable(values["inner_group_num"])
    for key in list(values):
        if key not in names:
            del values[key]
    return values
