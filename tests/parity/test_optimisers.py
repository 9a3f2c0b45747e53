"""Our optimisers and others': 30 steps on the same weights and the same gradients.

The gradients are drawn beforehand, anew for each step, for a gradient that followed the weights would let one lost
bit grow. Errors are relative to how far a tensor has come in those steps.

`apex` and `timm` are no light packages; what their LAMB does is written out below in PyTorch, as they publish it:
gradients clipped by their global norm, moments, a ratio for the groups that have weight decay, none for the rest.
"""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")

from minalbert import PRESETS, Params  # noqa: E402
from minalbert.optim import AdamW, Lamb, Moments, clip_factor, global_norm  # noqa: E402
from minalbert.params import initialise  # noqa: E402

STEPS, RATE, CLIP = 30, 0.002, 1.0
LIMITS = {"float64": 1e-12, "float32": 2e-4}  # at least three times what was seen


@pytest.fixture(autouse=True, scope="module")
def quiet():
    torch.set_num_threads(1)


def spared(name):
    """Said by the names, as in the released code; ours goes by the shapes."""
    return name.endswith((".gain", ".bias", ".b"))


def weights(dtype):
    """The preset's shapes, biases away from zero; one tensor all zero, as a fresh head may be, and a large one."""
    params = initialise(PRESETS["tiny"], dtype="float64")
    rng = np.random.default_rng(3)
    for name, tensor in params.items():
        if spared(name):
            tensor += 0.1 * rng.standard_normal(tensor.shape)
    params["sop.w"][...] = 0.0
    params["mlm.dense.w"] *= 8  # a ratio above 1, for the clamp
    return params.astype(dtype)


def gradients(params, seed=4):
    """A tensor's gradients differ in size from another's and from step to step; the norm crosses CLIP."""
    rng = np.random.default_rng(seed)
    sizes = {name: 10.0 ** rng.uniform(-5, -2) for name in params}
    for step in range(STEPS):
        grads = Params.zeros(params.shapes, params.dtype)
        for name, tensor in grads.items():
            tensor[...] = (rng.standard_normal(tensor.shape) + 0.3) * sizes[name] * (0.5, 1.0, 3.0)[step % 3]
        yield grads


def rates():
    return [RATE * (step + 1) / STEPS for step in range(STEPS)]


def ours(optimiser, params, clip=None):
    params = params.copy()
    moments = Moments.zeros(params)
    for step, (grads, rate) in enumerate(zip(gradients(params), rates(), strict=True)):
        scale = clip_factor(global_norm(grads), clip) if clip else 1.0
        optimiser.step(params, grads, moments, rate, step + 1, scale)
    return params


def in_torch(params, make):
    """The same steps by an optimiser of two groups: with decay, and without."""
    tensors = {name: torch.nn.Parameter(torch.tensor(tensor)) for name, tensor in params.items()}
    groups = [
        {"params": [tensors[name] for name in params if not spared(name)], "weight_decay": 0.01},
        {"params": [tensors[name] for name in params if spared(name)], "weight_decay": 0.0},
    ]
    optimiser = make(groups)
    for grads, rate in zip(gradients(params), rates(), strict=True):
        for name, tensor in tensors.items():
            tensor.grad = torch.tensor(grads[name])
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


class PublishedLamb(torch.optim.Optimizer):
    """LAMB as apex (FusedLAMB) and timm describe it."""

    def __init__(self, groups, betas=(0.9, 0.999), eps=1e-6, bias_correction=True, max_grad_norm=1.0, trust_clip=False):
        super().__init__(groups, {"betas": betas, "eps": eps, "weight_decay": 0.01, "lr": 1e-3})
        self.bias_correction, self.max_grad_norm, self.trust_clip = bias_correction, max_grad_norm, trust_clip

    @torch.no_grad()
    def step(self):
        every = [p for group in self.param_groups for p in group["params"]]
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(p.grad) for p in every]))
        divisor = torch.clamp(norm / self.max_grad_norm, min=1.0) if self.max_grad_norm else 1.0
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            group["step"] = group.get("step", 0) + 1
            correction1 = 1 - beta1 ** group["step"] if self.bias_correction else 1.0
            correction2 = 1 - beta2 ** group["step"] if self.bias_correction else 1.0
            for p in group["params"]:
                state, grad = self.state[p], p.grad / divisor
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["m"].lerp_(grad, 1 - beta1)
                state["v"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                denominator = (state["v"].sqrt() / math.sqrt(correction2)).add_(group["eps"])
                update = (state["m"] / correction1).div_(denominator)
                if group["weight_decay"]:
                    update.add_(p, alpha=group["weight_decay"])
                    w_norm, u_norm = p.norm(2.0), update.norm(2.0)
                    ratio = torch.where((w_norm > 0) & (u_norm > 0), w_norm / u_norm, torch.ones_like(w_norm))
                    update.mul_(ratio.clamp(max=1.0) if self.trust_clip else ratio)
                p.add_(update, alpha=-group["lr"])


def distance(mine, theirs, before):
    """The worst tensor: the largest difference over how far it has come."""
    return max(np.abs(mine[name] - theirs[name]).max() / np.abs(theirs[name] - before[name]).max() for name in before)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("fused", [False, True], ids=["foreach", "fused"])
def test_adamw_is_torchs(dtype, fused):
    params = weights(dtype)
    way = {"fused": True} if fused else {"foreach": True}
    theirs = in_torch(params, lambda groups: torch.optim.AdamW(groups, betas=(0.9, 0.999), eps=1e-6, **way))
    assert distance(ours(AdamW(), params), theirs, params) < LIMITS[dtype]
    assert distance(ours(AdamW(weight_decay=0.0), params), theirs, params) > 10 * LIMITS[dtype]


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bias_correction": True},
        {"bias_correction": True, "clamp": 1.0},
        {"betas": (0.8, 0.99), "eps": 1e-3},
    ],
    ids=["as ALBERT", "bias correction", "bias correction and clamp", "other numbers"],
)
def test_lamb_is_the_published_one(dtype, settings):
    params = weights(dtype)
    settings = {"bias_correction": False} | settings
    peer = {name: value for name, value in settings.items() if name != "clamp"} | {"trust_clip": "clamp" in settings}
    theirs = in_torch(params, lambda groups: PublishedLamb(groups, max_grad_norm=CLIP, **peer))
    assert distance(ours(Lamb(**settings), params, CLIP), theirs, params) < LIMITS[dtype]
    for other in (
        {"bias_correction": not settings["bias_correction"]},
        {"clamp": None if "clamp" in settings else 0.05},
    ):
        assert distance(ours(Lamb(**settings | other), params, CLIP), theirs, params) > 10 * LIMITS[dtype]


def test_the_gradients_are_clipped_in_some_steps_only():
    factors = [float(clip_factor(global_norm(grads), CLIP)) for grads in gradients(weights("float64"))]
    assert min(factors) < 0.9
    assert max(factors) == 1.0


def optax_masked(optax, params, adapted):
    """optax's parts, put together by hand: its own `lamb` would adapt every tensor."""
    labels = {name: "spared" if spared(name) else "adapted" for name in params}
    chains = {
        "adapted": optax.chain(
            optax.scale_by_adam(0.9, 0.999, 1e-6), optax.add_decayed_weights(0.01),
            *([optax.scale_by_trust_ratio()] if adapted else []),
        ),
        "spared": optax.scale_by_adam(0.9, 0.999, 1e-6),
    }  # fmt: skip
    return optax.multi_transform(chains, labels)


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb(bias_correction=True)], ids=["AdamW", "LAMB"])
def test_optax_makes_the_same_steps(optimiser):
    jax = pytest.importorskip("jax", reason="a second peer: pip install optax")
    optax = pytest.importorskip("optax", reason="a second peer: pip install optax")
    jax.config.update("jax_enable_x64", True)

    params = weights("float64")
    tensors = {name: jax.numpy.asarray(tensor) for name, tensor in params.items()}
    transform = optax_masked(optax, params, isinstance(optimiser, Lamb))
    state = transform.init(tensors)
    update = jax.jit(transform.update)
    for grads, rate in zip(gradients(params), rates(), strict=True):
        grads = {name: jax.numpy.asarray(grad) for name, grad in grads.items()}
        updates, state = update(grads, state, tensors)
        tensors = {name: tensor - rate * updates[name] for name, tensor in tensors.items()}
    theirs = {name: np.asarray(tensor) for name, tensor in tensors.items()}
    assert distance(ours(optimiser, params), theirs, params) < LIMITS["float64"]
