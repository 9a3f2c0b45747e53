"""What known mistakes make of a step of LAMB: of m and v, of the ratio, and of the new weights. `s` is a Case."""

import numpy as np


def direction(s, m, v, corrected=None, decay=True):
    corrected = s.corrected if corrected is None else corrected
    if corrected:
        m, v = m / (1 - s.betas[0] ** s.t), v / (1 - s.betas[1] ** s.t)
    u = m / (np.sqrt(v) + s.eps)
    return u + s.weight_decay * s.w if decay else u


def trust(s, u):
    w_norm, u_norm = np.linalg.norm(s.w), np.linalg.norm(u)
    r = w_norm / u_norm if w_norm and u_norm else 1.0
    return r if s.clamp is None else min(r, s.clamp)


def moment_mistakes(s, name, which, old, new, right):
    """Mistakes of m (which = 0, new = g), or of v (1, g²)."""
    b, other = s.betas[which], s.betas[1 - which]
    beta, others = ("β₁", "β₂") if which == 0 else ("β₂", "β₁")
    return {
        f"{beta} and 1 - {beta} have changed places": (1 - b) * old + b * new,
        f"{name} is returned as it was": old,
        f"{others} is used for {name}": other * old + (1 - other) * new,
        f"the factor 1 - {beta} is missing": b * old + new,
        f"the factor {beta} is missing": old + (1 - b) * new,
        f"the old {name} is left out": (1 - b) * new,
        f"the gradient is left out: this is {beta} {name}": b * old,
        f"the gradient is subtracted; it must be added to {beta} {name}": b * old - (1 - b) * new,
        f"1 + {beta} stands where 1 - {beta} must": b * old + (1 + b) * new,
        f"{name} is returned corrected; what is kept is {name} itself": right / (1 - b**s.t),
        "the betas are 0.9 and 0.999, not those that are given": (0.9, 0.999)[which] * old
        + (0.1, 0.001)[which] * new,
    }


def ways(s, m, v):
    """{what went wrong: its u}"""
    (b1, b2), root, decay = s.betas, np.sqrt(v), s.weight_decay * s.w
    c1, c2 = (1 - b1**s.t, 1 - b2**s.t) if s.corrected else (1.0, 1.0)
    m_hat, v_hat = m / c1, v / c2
    bare, right = direction(s, m, v, decay=False), np.sqrt(v_hat)
    found = {
        "ε is inside the root; it is added to √v": m_hat / np.sqrt(v_hat + s.eps) + decay,
        "ε is inside the root, squared; it is added to √v": m_hat / np.sqrt(v_hat + s.eps**2) + decay,
        ("m and v are not corrected" if s.corrected else "m and v are corrected for their start; this LAMB does not"):
            direction(s, m, v, corrected=not s.corrected),
        "the decay λ w is not part of u": bare,
        "u is made of the old m and v; they are updated first": direction(s, s.m, s.v),
        "u is made of the old m; it is updated first": direction(s, s.m, v),
        "u is made of the old v; it is updated first": direction(s, m, s.v),
        "u is made of g, not of m": direction(s, s.g, v),
        "u is made of a look ahead, β₁ m + (1 - β₁) g, as Nesterov's": direction(s, b1 * m + (1 - b1) * s.g, v),
        "u is made of g, which is not corrected, not of m": s.g / (right + s.eps) + decay,
        "the decay is subtracted in u; it must be added": bare - decay,
        "the decay is there twice": bare + 2 * decay,
        "the rate is in the decay; it comes only with the step": bare + s.rate * decay,
        "λ is squared": bare + s.weight_decay * decay,
        "w is added without λ": bare + s.w,
        "the decay is that of g, not of w": bare + s.weight_decay * s.g,
        "λ is added, not λ w": bare + s.weight_decay,
        "the sign of m is turned": decay - bare,
        "u is the decay alone": decay + 0 * s.w,
        "the root of v is missing": m_hat / (v_hat + s.eps) + decay,
        "v is squared, where its root must be taken": m_hat / (v_hat**2 + s.eps) + decay,
        "√v + ε is squared": m_hat / (right + s.eps) ** 2 + decay,
        "ε is left out": m_hat / right + decay,
        "ε is subtracted": m_hat / (right - s.eps) + decay,
        "ε multiplies √v; it must be added": m_hat / (right * s.eps) + decay,
        "ε is not the one that is given, but 1e-6": m_hat / (right + 1e-6) + decay,
        "ε is not the one that is given, but 1e-8": m_hat / (right + 1e-8) + decay,
        "m is multiplied by √v + ε; it must be divided": m_hat * (right + s.eps) + decay,
        "m is not divided by √v + ε": m_hat + decay,
        "m / √v, and ε added to that": m_hat / right + s.eps + decay,
        "√v + ε divided by m": (right + s.eps) / m_hat + decay,
        "the decay is divided by √v + ε, too": (m_hat + decay) / (right + s.eps),
        "λ is 0.01, not the one that is given": bare + 0.01 * s.w,
    }  # fmt: skip
    if s.corrected:
        n1, n2 = 1 - b1 ** (s.t + 1), 1 - b2 ** (s.t + 1)
        p1, p2 = 1 - b1 ** (s.t - 1), 1 - b2 ** (s.t - 1)
        corrections = {
            "the corrections are those of the step after; the first step has t = 1": (n1, n2),
            "the correction of m is that of the step after; the first step has t = 1": (n1, c2),
            "the correction of v is that of the step after; the first step has t = 1": (c1, n2),
            "the corrections are those of the step before; the first step has t = 1": (p1, p2),
            "the correction of m is that of the step before; the first step has t = 1": (p1, c2),
            "the correction of v is that of the step before; the first step has t = 1": (c1, p2),
            "v is not corrected": (c1, 1.0),
            "m is not corrected": (1.0, c2),
            "v is corrected with β₁": (c1, c1),
            "m is corrected with β₂": (c2, c2),
            "the betas of the corrections have changed places": (c2, c1),
            "m is divided by 1 - β₁, without the power t": (1 - b1, c2),
            "v is divided by 1 - β₂, without the power t": (c1, 1 - b2),
            "m and v are divided by 1 - β, without the power t": (1 - b1, 1 - b2),
            "m is multiplied by 1 - β₁ᵗ; it must be divided": (1 / c1, c2),
            "v is multiplied by 1 - β₂ᵗ; it must be divided": (c1, 1 / c2),
            "m is divided by 1 - β₁ t, not by 1 - β₁ᵗ": (1 - b1 * s.t, c2),
            "m is divided by β₁ᵗ": (b1**s.t, c2),
            "v is divided by β₂ᵗ": (c1, b2**s.t),
            "m is divided by 1 + β₁ᵗ": (1 + b1**s.t, c2),
            "v is divided by 1 + β₂ᵗ": (c1, 1 + b2**s.t),
        }
        found |= {says: m / d1 / (np.sqrt(v / d2) + s.eps) + decay for says, (d1, d2) in corrections.items()}
        found["the root of v̂ is of v alone, which is corrected afterwards"] = m_hat / (root / c2 + s.eps) + decay
        found["ε is corrected, too"] = m_hat / ((root + s.eps) / np.sqrt(c2)) + decay
    return found


def ratios(s, u):
    """{what went wrong: its r}"""
    w, W, U = s.w, np.linalg.norm(s.w), np.linalg.norm(u)
    found = {
        "the ratio is the wrong way round: ‖w‖ / ‖u‖": U / W,
        "‖g‖ in the place of ‖u‖": W / np.linalg.norm(s.g),
        "a norm is a root; these are sums of squares": (W / U) ** 2,
        "the root is taken twice": np.sqrt(W / U),
        "‖w‖ is a sum of squares, without its root": W * W / U,
        "‖u‖ is a sum of squares, without its root": W / (U * U),
        "the largest entries are compared, not the norms": abs(w).max() / abs(u).max(),
        "these are sums of |x|; a norm is the root of the sum of squares": abs(w).sum() / abs(u).sum(),
        "these are sums of the entries; a norm is the root of the sum of squares": w.sum() / u.sum(),
        "‖w‖ is not divided by ‖u‖": W,
        "this is ‖u‖": U,
        "this is 1 / ‖u‖": 1 / U,
        "the two norms are multiplied": W * U,
        "the ratio is 1, as if the norms were not used, or one of them were zero or not a number": 1.0,
        "the ratio is cut at 1": min(W / U, 1.0),
        "the ratio is made at least 1": max(W / U, 1.0),
        "the ratio is cut at 10; this LAMB has no such limit": min(W / U, 10.0),
        "‖w‖ is cut at 10; this LAMB has no such limit": min(W, 10.0) / U,
        "a small number is added to ‖u‖": W / (U + 1e-6),
        "ε is added to ‖u‖": W / (U + s.eps),
        "norms are means of squares under the root, of w alone": W / U / np.sqrt(w.size),
        "norms are means of squares under the root, of u alone": W / U * np.sqrt(w.size),
        "the rate is in the ratio": s.rate * W / U,
    }
    if w.ndim == 2:
        spectral = np.linalg.svd(w, compute_uv=False)[0] / np.linalg.svd(u, compute_uv=False)[0]
        found["the norm of a matrix is taken for its largest singular value; it must be √(Σ x²)"] = spectral
    if s.corrected:
        found = {says: min(r, s.clamp) for says, r in found.items()}
        found["the ratio is not clamped"] = W / U
        found["the ratio is made at least `clamp`; it must be at most that"] = max(W / U, s.clamp)
        found["the ratio is always `clamp`"] = s.clamp
        found["the ratio is kept between 1 / clamp and clamp; it may be as small as it is"] = max(W / U, 1 / s.clamp)
        found["‖w‖ is clamped; the ratio must be"] = min(W, s.clamp) / U
    return found


def finite(suspects):
    return {says: answer for says, answer in suspects.items() if np.isfinite(answer).all()}


def ratio_mistakes(s, m, v):
    with np.errstate(all="ignore"):
        found = ratios(s, direction(s, m, v))
        return finite(found | {says: trust(s, u) for says, u in ways(s, m, v).items() if np.isfinite(u).all()})


def weight_mistakes(s, m, v, ratio):
    with np.errstate(all="ignore"):
        u, bare = direction(s, m, v), direction(s, m, v, decay=False)
        r, decay = trust(s, u), s.weight_decay * s.w
        found = {
            "the step goes up the hill: its sign is wrong": s.w + s.rate * r * u,
            "the trust ratio is not used": s.w - s.rate * u,
            "the rate is not used": s.w - r * u,
            "the ratio is the wrong way round: ‖w‖ / ‖u‖": s.w - s.rate * u / r,
            "the decay is outside u; its length then escapes the ratio": s.w - s.rate * (trust(s, bare) * bare + decay),
            "the decay is outside the ratio": s.w - s.rate * (r * bare + decay),
            "the ratio is that of u with decay, the step that without": s.w - s.rate * r * bare,
            "the ratio is that of u without decay": s.w - s.rate * trust(s, bare) * u,
            "w is returned as it was": s.w,
            "this is the step itself, not the new weights": -s.rate * r * u,
            "this is the step itself, with the wrong sign": s.rate * r * u,
            "the sign of the new w is turned": s.rate * r * u - s.w,
            "the rate is squared": s.w - s.rate**2 * r * u,
            "the root of the rate is taken": s.w - np.sqrt(s.rate) * r * u,
            "the ratio is squared": s.w - s.rate * r * r * u,
            "the step is divided by the rate; it must be multiplied": s.w - r * u / s.rate,
            "‖w‖ alone stands where the ratio must": s.w - s.rate * np.linalg.norm(s.w) * u,
            "w is multiplied by the step": s.w * s.rate * r * u,
            "rate and ratio are added; they must be multiplied": s.w - (s.rate + r) * u,
            "the step goes along the gradient": s.w - s.rate * r * s.g,
            "the step goes along m": s.w - s.rate * r * m,
            "u is added to rate and ratio; all three must be multiplied": s.w - (s.rate * r + u),
            "this is m": m,
            "this is v": v,
        }
        if np.size(ratio) == 1 and abs(np.sum(ratio) - r) > 1e-4 * r:
            says = "the step is right for the ratio that is returned, and that is wrong"
            found = {says: s.w - s.rate * ratio * u} | found
        if s.corrected:
            W, U = np.linalg.norm(s.w), np.linalg.norm(u)
            found["the ratio is not clamped here"] = s.w - s.rate * W / U * u
        for says, other in ways(s, m, v).items():
            found[says] = s.w - s.rate * trust(s, other) * other
        found |= {says: s.w - s.rate * other * u for says, other in ratios(s, u).items()}
        return finite(found)


def vector_mistakes(s, m, v):
    with np.errstate(all="ignore"):
        u, decayed = direction(s, m, v, decay=False), direction(s, m, v)
        clamped = trust(s, u) == s.clamp
        ratio = f"the ratio is used{', or its clamp' if clamped else ''}; vectors are exempt"
        found = {
            "decay and ratio are used; vectors are exempt from both": s.w - s.rate * trust(s, decayed) * decayed,
            "the decay is used; vectors are exempt": s.w - s.rate * decayed,
            ratio: s.w - s.rate * trust(s, u) * u,
            "the decay is used, outside u; vectors are exempt": s.w - s.rate * (u + s.rate * s.weight_decay * s.w),
            "the step goes up the hill: its sign is wrong": s.w + s.rate * u,
            "the rate is not used": s.w - u,
            "w is returned as it was": s.w,
            "this is the step itself, not the new weights": -s.rate * u,
            "the rate is squared": s.w - s.rate**2 * u,
            "the sign of the new w is turned": s.rate * u - s.w,
            "the step is divided by the rate; it must be multiplied": s.w - u / s.rate,
        }
        bare = s._replace(weight_decay=0.0)
        return finite(found | {says: s.w - s.rate * other for says, other in ways(bare, m, v).items()})
