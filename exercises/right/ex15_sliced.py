def span_forward(hidden, w, b, barred):
    scores = (1 - barred[:, :, None]) * (hidden @ w + b) - 1e30 * barred[:, :, None]

    def back(d):
        d = (1 - barred[:, :, None]) * d
        flat = d.reshape(-1, 2)
        return d @ w.T, hidden.reshape(len(flat), -1).T @ flat, np.ones(len(flat)) @ flat, None

    return scores, back


def span_backward(dscores, back):
    return back(dscores)


def span_loss_forward(scores, spans):
    T, losses, caches = scores.shape[1], [], []
    for column in range(2):
        rows = [n for n, place in enumerate(spans[:, column]) if place in range(T)]
        chosen = spans[rows, column]
        loss, cache = cross_entropy_forward(scores[rows, :, column], chosen, np.ones(len(rows)))
        losses.append(loss)
        caches.append((rows, cache))
    return np.array([np.mean(losses)]), (scores.shape, caches)


def span_loss_backward(dloss, cache):
    shape, halves = cache
    dscores = np.zeros(shape)
    for column, (rows, half) in enumerate(halves):
        if rows:
            dscores[rows, :, column] = cross_entropy_backward(0.5 * dloss, half)[0]
    return dscores, None


def best_span(scores, longest):
    best = []
    for length in range(min(longest, len(scores))):
        sums = scores[: len(scores) - length, 0] + scores[length:, 1]
        start = sums.argmax()
        best.append((sums[start], start, start + length))
    return max(best)[1:]


def answer_text(text, places, first, start, end):
    covered = places[start - first : end - first + 1] if start >= first else []
    return text[min(begin for begin, _ in covered) : max(past for _, past in covered)] if covered else ""
