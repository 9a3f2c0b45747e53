"""Figures for notebooks and commands. Each function returns a matplotlib Figure, which `save` writes.

matplotlib is imported when the first figure is made.
"""

from .attention import attention_strip
from .histograms import histograms
from .rates import rate_curve
from .strips import instance_strip
from .style import save
from .training import training_curves
