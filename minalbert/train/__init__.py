"""Training: what happens between a batch and a trained model.

    from minalbert import train
    result = train.pretrain(train.Settings().change(corpus="corpus", steps=500), "runs/first")

    settings        every setting of a pretraining             sections, run_settings: of any run
    assemble, begin from settings to a run                     pretraining: what of it is this kind's own
    together        how several processes begin one run
    loop            the loop                                   gradient_step: one step of it
    state           where a run is                             watch: which steps to refuse
    checkpoint      what a kill leaves                         saved_steps: which of these there are
    run_directory   settings and identity of a run             process, environment
    records, log    what is reported and written down          training_data, evaluation, curves, tensorboard
    trials          find a rate, overfit one batch             trained         a model with its tokenizer
    filling         guesses at hidden words                    ordering: which text came first

Read in this order: loop, gradient_step, state, watch, checkpoint; then assemble, pretraining.
"""

from ..lazy import public

__getattr__, __dir__, __all__ = public(__name__, {
    "Settings": "settings", "pretrain": "pretraining", "prepare": "training_data", "Observer": "records",
    "read_lines": "log", "read_curves": "curves", "evaluate": "evaluation", "baselines": "evaluation",
    "open_trained": "trained", "fill": "filling", "swapped": "ordering", "find_rate": "trials", "overfit": "trials",
})
