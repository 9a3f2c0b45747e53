"""Fine-tuning: tasks, their data, their scores. `task` says what a task is."""

from ..lazy import public

__getattr__, __dir__, __all__ = public(__name__, {
    "open_task": "opening", "finetune": "finetuning", "TaskSettings": "settings", "open_finetuned": "finetuned",
    "save_facts": "finetuned", "classify": "classifying", "answer": "answering", "minimal_pairs": "preferences",
    "pseudo_log_likelihoods": "preferences",
})
