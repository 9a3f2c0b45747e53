import mpmath
import numpy as np

FROM = "mpmath.diff with 40 digits, of the second example of Squire and Trapp, SIAM Review 40 (1998), page 110"


def numbers():
    with mpmath.workdps(40):
        derivative = mpmath.diff(lambda x: mpmath.exp(x) / (mpmath.sin(x) ** 3 + mpmath.cos(x) ** 3), mpmath.mpf("1.5"))
    return {"derivative": np.array([float(derivative)])}
