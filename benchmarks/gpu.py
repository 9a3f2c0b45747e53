"""The first hour on a card: are the results right, what can the card do, how long does a step take, and PyTorch's?

    python benchmarks/gpu.py [--out benchmarks/results] [--anyway]
    python benchmarks/gpu.py --dry-run           # every line of it, in small, on a pretended GPU: no figure of any use

Writes <date>-gpu-<card>.md. Without a GPU it says so and leaves with code 2; where a result is wrong it times nothing,
unless told to do so anyway, and leaves with code 1. PyTorch's side is left out where PyTorch is not installed.
"""

import argparse
import contextlib
import datetime
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent


def measure(sizes, torch, tests, anyway=False):
    """All that the report tells. Called when there is a GPU, or one is pretended: CuPy is imported here."""
    import gpu_ceilings
    import gpu_correct
    import gpu_steps
    from gpu_clock import versions

    torch_steps = None
    if torch:
        from gpu_torch import steps as torch_steps

    found = {"versions": versions(torch)}
    say("tests on the device")
    found["tests"] = gpu_correct.device_tests(**tests)
    say("gradients against the CPU")
    found["gradients"] = gpu_correct.gradients(*small_model(sizes))
    if wrong(found) and not anyway:
        return found
    say("what the card can do")
    found["rates"] = gpu_ceilings.ceilings(sizes)
    found["steps"] = {}
    for size, length in sizes.cases:
        say(f"steps of {size} × {length}")
        found["steps"][size, length] = gpu_steps.measure(sizes, size, length, found["rates"]["bf16"], torch_steps)
    say("matrix products")
    found["products"] = gpu_ceilings.table(sizes, torch)
    return found


def small_model(sizes):
    """(config, sequences, tokens) that a CPU passes through in seconds, with all kernels of the large one."""
    config = sizes.config.replace(num_hidden_layers=2, vocab_size=min(sizes.config.vocab_size, 3000))
    return config, 4, min(160, config.max_position_embeddings)


def wrong(found):
    return any(code for *_, code in found["tests"]) or not all(error <= most for _, error, most in found["gradients"])


def say(what):
    print(what, file=sys.stderr, flush=True)


def installed_torch():
    with contextlib.suppress(ImportError):
        import torch

        return torch if torch.cuda.is_available() else None
    return None


def write(found, sizes, out, pretended):
    from gpu_report import text

    card, today = found["versions"]["GPU"], datetime.date.today()
    title = f"{'PRETENDED, no figure is of a GPU: ' if pretended else ''}{card}, {today}"
    path = Path(out) / f"{today}-gpu-{re.sub(r'[^a-z0-9]+', '-', card.lower()).strip('-')}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(found, sizes, title), encoding="utf-8")
    return path


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="directory of the report (default: benchmarks/results; of a dry run: none)")
    parser.add_argument("--anyway", action="store_true", help="time it though a result is wrong")
    parser.add_argument("--dry-run", action="store_true", help="in small, on a pretended GPU, without PyTorch")
    options = parser.parse_args(arguments)
    if options.dry_run:
        return dry_run(options)
    from minalbert.kernels import gpu

    if reason := gpu.missing():
        print(f"nothing can be measured: {reason}")
        return 2
    from gpu_clock import FULL

    torch = installed_torch()
    if torch is None:
        say("PyTorch is not installed, or sees no GPU: its side is left out")
    found = measure(FULL, torch, {}, options.anyway)
    print(write(found, FULL, options.out or HERE / "results", pretended=False))
    return 1 if wrong(found) else 0


def dry_run(options):
    sys.path[:0] = [str(HERE.parent / "tests" / "cuda"), str(HERE.parent / "tests")]
    from pretended import pretended_gpu

    tests = {"device": "pretended", "card": "pretended", "files": [HERE.parent / "tests" / "test_backend.py"],
             "kernels": ["tests/cuda/test_launch.py"]}  # fmt: skip
    with pretended_gpu():
        from gpu_clock import TINY
        from gpu_report import text

        found = measure(TINY, None, tests, options.anyway)
        if options.out:
            print(write(found, TINY, options.out, pretended=True))
        else:
            print(text(found, TINY, "PRETENDED, no figure is of a GPU"))
    return 1 if wrong(found) else 0


if __name__ == "__main__":
    sys.exit(main())
