"""What mistakes make of tanh, of GELU in both forms, and of their derivatives: {mistake: array}"""

import math

import numpy as np

from minalbert.layers.erf import erf

C, A = math.sqrt(2 / math.pi), 0.044715
NO_DY = "dy is not multiplied in: this is dy/dx alone, which the chain rule multiplies by what comes from above"


def cdf(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def pdf(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def wrong_tanh(x):
    return {
        "this is the logistic function 1 / (1 + exp(-x))": 1 / (1 + np.exp(-x)),
        "this is tanh(x / 2)": np.tanh(x / 2),
        "this is tanh(2 x)": np.tanh(2 * x),
        "this is tanh(|x|)": np.tanh(np.abs(x)),
        "this is sinh": np.sinh(x),
        "this is tan": np.tan(x),
        "this is arctan": np.arctan(x),
        "this is 1 - tanh² x, the derivative": 1 - np.tanh(x) ** 2,
        "this is tanh² x": np.tanh(x) ** 2,
        "this is tanh(tanh x)": np.tanh(np.tanh(x)),
        "this is x itself": x,
    }


def wrong_tanh_slopes(x, dy):
    y = np.tanh(x)
    ways = {
        "1 - y is used where 1 - y² is meant": 1 - y,
        "1 - |y| is used where 1 - y² is meant": 1 - np.abs(y),
        "1 + y² is used where 1 - y² is meant": 1 + y * y,
        "1 + y is used where 1 - y² is meant": 1 + y,
        "1 - y³ is used where 1 - y² is meant": 1 - y**3,
        "1 - y⁴ is used where 1 - y² is meant": 1 - y**4,
        "1 - 2 y is used where 1 - y² is meant": 1 - 2 * y,
        "1 - x² is used where 1 - y² is meant": 1 - x * x,
        "1 - x is used where 1 - y² is meant": 1 - x,
        "y (1 - y), the logistic function's, is used where 1 - y² is meant": y * (1 - y),
        "y² is used where 1 - y² is meant": y * y,
        "(1 - y)² is used where 1 - y² is meant": (1 - y) ** 2,
        "(1 - y²)² is used where 1 - y² is meant": (1 - y * y) ** 2,
        "1 / (1 + y²), arctan's, is used where 1 - y² is meant": 1 / (1 + y * y),
        "1 - dy² is used where 1 - y² is meant": 1 - dy * dy,
        "tanh is taken twice: the cache holds y already, and dx = dy (1 - y²)": 1 - np.tanh(y) ** 2,
        "y is used where 1 - y² is meant": y,
        "dy comes in twice": dy * (1 - y * y),
    }
    return {NO_DY: 1 - y * y, "this is dy itself": dy} | {says: dy * slope for says, slope in ways.items()}


def gates(x):
    def gate(u):
        return 0.5 * x * (1 + np.tanh(u))

    u, cube = C * (x + A * x**3), A * x**3
    return {
        "this is the erf form x Φ(x); ALBERT's is the tanh form": x * cdf(x),
        "the constant is 0.044715, not 0.44715": gate(C * (x + 0.44715 * x**3)),
        "the constant is 0.044715, not 0.0044715": gate(C * (x + 0.0044715 * x**3)),
        "√(2/π) is missing in u": gate(x + cube),
        "√(2/π) multiplies x alone, not the sum x + 0.044715 x³": gate(C * x + cube),
        "√(2/π) multiplies x³ alone, not the sum x + 0.044715 x³": gate(x + C * cube),
        "the term 0.044715 x³ is missing in u": gate(C * x),
        "the term x is missing in u": gate(C * cube),
        "the term 0.044715 x³ is subtracted in u": gate(C * (x - cube)),
        "0.044715 x³ is multiplied with x in u, where it must be added": gate(C * x * cube),
        "x² is used where x³ is meant": gate(C * (x + A * x**2)),
        "x⁴ is used where x³ is meant": gate(C * (x + A * x**4)),
        "3 x is used where x³ is meant": gate(C * (x + A * 3 * x)),
        "√(2π) or 1/√(2π) is used where √(2/π) is meant": gate(math.sqrt(2 * math.pi) * (x + cube)),
        "1/√(2π) is used where √(2/π) is meant": gate((x + cube) / math.sqrt(2 * math.pi)),
        "√(π/2) is used where √(2/π) is meant": gate((x + cube) / C),
        "√2/π is used where √(2/π) is meant": gate(math.sqrt(2) / math.pi * (x + cube)),
        "2/√π is used where √(2/π) is meant": gate(2 / math.sqrt(math.pi) * (x + cube)),
        "1/√π is used where √(2/π) is meant": gate((x + cube) / math.sqrt(math.pi)),
        "√2 is used where √(2/π) is meant": gate(math.sqrt(2) * (x + cube)),
        "2/π is used where √(2/π) is meant": gate(2 / math.pi * (x + cube)),
        "the 1 in 1 + tanh u is missing": 0.5 * x * np.tanh(u),
        "1 - tanh u is used where 1 + tanh u is meant": gate(-u),
        "tanh is missing: this is ½ x (1 + u)": 0.5 * x * (1 + u),
        "the factor x is missing: this is the gate alone": 0.5 * (1 + np.tanh(u)),
        "x is added, where it must be multiplied": x + 0.5 * (1 + np.tanh(u)),
        "this is ½ x + tanh u: brackets are missing": 0.5 * x + np.tanh(u),
        "tanh² u is used where tanh u is meant": 0.5 * x * (1 + np.tanh(u) ** 2),
        "this is x times the logistic function of 1.702 x": x / (1 + np.exp(-1.702 * x)),
        "this is x times the logistic function of x": x / (1 + np.exp(-x)),
        "this is x² times the gate": 0.5 * x * x * (1 + np.tanh(u)),
        "this is max(x, 0)": np.maximum(x, 0),
        "this is u": u,
    }


def constants_found(x, y):
    """Does y follow from other constants in u? Which?"""
    whole, right = (x, y), [C, C * A]
    sure = (np.abs(x) > 0.05) & (np.abs(y / x - 0.5) < 0.49)
    x, y = x[sure], y[sure]
    if x.size < 4:
        return None
    u, powers = np.arctanh(2 * y / x - 1), np.stack([x, x**3], axis=1)
    first, second = np.linalg.lstsq(powers, u, rcond=None)[0]
    x, y = whole
    made = 0.5 * x * (1 + np.tanh(first * x + second * x**3))
    if not np.abs(made - y).max() < 1e-7 * np.abs(y).max() or np.allclose([first, second], right, rtol=1e-6, atol=0):
        return None
    return (
        f"your u is {first:.6g} (x + {second / first:.6g} x³); it must be √(2/π) (x + 0.044715 x³), and √(2/π) is "
        "0.797885"
    )


def slopes(x):
    """Mistakes of dy/dx."""
    t, u1 = np.tanh(C * (x + A * x**3)), C * (1 + 3 * A * x**2)
    gate, bend = 0.5 * (1 + t), 0.5 * x * (1 - t * t)
    t10, u10 = np.tanh(C * (x + 10 * A * x**3)), C * (1 + 30 * A * x**2)
    return {
        "this is the derivative of the erf form, Φ(x) + x φ(x), which differs by up to a thousandth; forward is the "
        "tanh form": cdf(x) + x * pdf(x),
        "the factor 3 in u' is missing: the derivative of x³ is 3 x²": gate + bend * C * (1 + A * x**2),
        "the factor in u' is 3, not 2: the derivative of x³ is 3 x²": gate + bend * C * (1 + 2 * A * x**2),
        "3 x is used where 3 x² is meant in u'": gate + bend * C * (1 + 3 * A * x),
        "3 x³ is used where 3 x² is meant in u'": gate + bend * C * (1 + 3 * A * x**3),
        "x³ is used where 3 x² is meant in u'": gate + bend * C * (1 + A * x**3),
        "u stands in the place of u'": gate + bend * C * (x + A * x**3),
        "the 1 in u' is missing": gate + bend * C * 3 * A * x**2,
        "the product rule's second term, ½ x (1 - tanh² u) u', is missing": gate,
        "the product rule's first term, ½ (1 + tanh u), is missing": bend * u1,
        "the product rule's second term has the wrong sign": gate - bend * u1,
        "the 1 of the product rule's first term is missing": t / 2 + bend * u1,
        "1 - tanh u is used in the product rule's first term, where 1 + tanh u is meant": 0.5 * (1 - t) + bend * u1,
        "the ½ of the product rule's first term is missing": 2 * gate + bend * u1,
        "the product rule's first term is 1": 1 + bend * u1,
        "both terms are multiplied, where they must be added": gate * bend * u1,
        "u' is missing: the chain rule goes on from tanh into u": gate + bend,
        "√(2/π) is missing in u'": gate + bend * u1 / C,
        "√(2/π) multiplies 1 alone in u'": gate + bend * (C + 3 * A * x**2),
        "the factor x of the product rule's second term is missing": gate + 0.5 * (1 - t * t) * u1,
        "x² is used in the product rule's second term, where x is meant": gate + x * bend * u1,
        "1 - tanh u is used where 1 - tanh² u is meant": gate + 0.5 * x * (1 - t) * u1,
        "1 + tanh² u is used where 1 - tanh² u is meant": gate + 0.5 * x * (1 + t * t) * u1,
        "tanh² u is used where 1 - tanh² u is meant": gate + 0.5 * x * t * t * u1,
        "1 - tanh² u is missing": gate + 0.5 * x * u1,
        "1 - u² is used where 1 - tanh² u is meant": gate + 0.5 * x * (1 - (C * (x + A * x**3)) ** 2) * u1,
        "1 - tanh² x is used where 1 - tanh² u is meant": gate + 0.5 * x * (1 - np.tanh(x) ** 2) * u1,
        "the ½ of the product rule's second term is missing": gate + 2 * bend * u1,
        "u' is taken to be √(2/π): the derivative of 0.044715 x³ is missing": gate + bend * C,
        "the constant is 0.044715, not 0.44715": 0.5 * (1 + t10) + 0.5 * x * (1 - t10 * t10) * u10,
        "this is y, not its derivative": x * gate,
    }


def of_erf(x):
    """Mistakes of Φ."""
    return {
        "erf is asked at x, not at x / √2": 0.5 * (1 + erf(x)),
        "erf is asked at x / 2, not at x / √2": 0.5 * (1 + erf(x / 2)),
        "erf is asked at x √2, not at x / √2": 0.5 * (1 + erf(x * math.sqrt(2))),
        "erf is asked at 2 x, not at x / √2": 0.5 * (1 + erf(2 * x)),
        "the 1 in 1 + erf is missing": 0.5 * erf(x / math.sqrt(2)),
        "this is 1 - Φ: the sign of erf is wrong": 0.5 * (1 - erf(x / math.sqrt(2))),
        "erf itself runs from -1 to 1; Φ is a probability": erf(x / math.sqrt(2)),
        "this is ½ + erf, where ½ (1 + erf) is meant": 0.5 + erf(x / math.sqrt(2)),
        "this is the tanh form's gate; Φ is asked with erf": 0.5 * (1 + np.tanh(C * (x + A * x**3))),
        "this is the logistic function": 1 / (1 + np.exp(-x)),
        "this is the logistic function of 1.702 x": 1 / (1 + np.exp(-1.702 * x)),
        "this is φ, the density": pdf(x),
    }


def slopes_of_erf(x):
    """Mistakes of dy/dx in the erf form."""
    return {
        "the product rule's second term, x φ(x), is missing": cdf(x),
        "the product rule's first term, Φ(x), is missing": x * pdf(x),
        "the product rule's second term has the wrong sign": cdf(x) - x * pdf(x),
        "the factor x of the product rule's second term is missing": cdf(x) + pdf(x),
        "x² φ(x) is used where x φ(x) is meant": cdf(x) + x * x * pdf(x),
        "x Φ(x) is used where Φ(x) is meant": x * cdf(x) + x * pdf(x),
        "Φ(x) and φ(x) are exchanged": pdf(x) + x * cdf(x),
        "Φ(x) and x φ(x) are multiplied, where they must be added": cdf(x) * x * pdf(x),
        "φ is not divided by √(2π)": cdf(x) + x * np.exp(-x * x / 2),
        "the inner derivative 1/√2 of erf(x / √2) is missing, or φ's constant is off by √2":
            cdf(x) + math.sqrt(2) * x * pdf(x),
        "φ has exp(-x²), not exp(-x²/2)": cdf(x) + x * np.exp(-x * x) / math.sqrt(2 * math.pi),
        "1 - Φ(x) is used where Φ(x) is meant": 1 - cdf(x) + x * pdf(x),
        "1 is used where Φ(x) is meant": 1 + x * pdf(x),
        "x is added, where it must be multiplied": cdf(x) + x + pdf(x),
        "this is y, not its derivative": x * cdf(x),
        "the derivative of φ is used where that of Φ, φ itself, is meant": cdf(x) - x * x * pdf(x),
    }  # fmt: skip


def half_multiplied(dy, one, other):
    """What dx is where dy multiplies one of the product rule's two terms. one, other: a term's name, and its numbers"""
    return {f"dy multiplies {name} alone; it must multiply the sum of both terms": dy * term + rest
            for (name, term), (_, rest) in ((one, other), (other, one))}  # fmt: skip
