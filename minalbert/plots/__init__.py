"""Figures for notebooks and commands. Each function returns a matplotlib Figure, which `save` writes.

matplotlib is imported when the first figure is made.
"""

from .attention import attention_strip
from .bandwidths import bandwidth_curves
from .bars import bars
from .compared import compared
from .distributions import distribution_bars
from .dots import share_dots
from .explorer import explorer
from .functions import curves, error_curves, stages
from .gradients import gradient_errors
from .heads import head_grid
from .histograms import histograms
from .labels import label_curves
from .layers import layer_differences
from .matrices import matrices
from .moving import lamb_beside_adam, masked_text, shared_passes
from .rates import rate_curve
from .ratios import ratio_curves
from .smoothness import smoothness_curves
from .strips import instance_strip
from .style import save
from .training import training_curves
from .treemap import treemap
from .words import word_shares
