import math


def span_forward(hidden, w, b, barred):
    B, T, H = hidden.shape
    scores = np.zeros((B, T, 2))
    for n in range(B):
        for t in range(T):
            for k in range(2):
                scores[n, t, k] = -1e30 if barred[n, t] else b[k] + sum(hidden[n, t, i] * w[i, k] for i in range(H))
    return scores, {"given": (hidden, w, barred)}


def span_backward(dscores, cache):
    hidden, w, barred = cache["given"]
    dhidden, dw, db = np.zeros(hidden.shape), np.zeros(w.shape), np.zeros(2)
    for n, t in np.ndindex(barred.shape):
        if not barred[n, t]:
            d = dscores[n, t]
            dhidden[n, t] = w @ d
            dw += np.outer(hidden[n, t], d)
            db += d
    return [dhidden, dw, db, None]


def span_loss_forward(scores, spans):
    B, T, _ = scores.shape
    loss, dscores = 0.0, np.zeros(scores.shape)
    for k in range(2):
        inside = [n for n in range(B) if 0 <= spans[n, k] < T]
        for n in inside:
            row, place = scores[n, :, k], spans[n, k]
            e = np.exp(row - row.max())
            loss += (math.log(e.sum()) + row.max() - row[place]) / len(inside) / 2
            dscores[n, :, k] = e / e.sum() / len(inside) / 2
            dscores[n, place, k] -= 1 / len(inside) / 2
    return loss, dscores


def span_loss_backward(dloss, cache):
    return dloss * cache, None


def best_span(scores, longest):
    best, found = -math.inf, None
    for i, (start, _) in enumerate(scores):
        for j in range(i, min(len(scores), i + longest)):
            if start + scores[j][1] > best:
                best, found = start + scores[j][1], (i, j)
    return found


def answer_text(text, places, first, start, end):
    covered = {first + i: place for i, place in enumerate(places)}
    return text[covered[start][0] : covered[end][1]] if start in covered else ""
