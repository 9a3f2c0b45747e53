"""The batch script with which Slurm starts the ranks of a run, and starts them again until the run has ended.

    srun --mpi=pmi2     the ranks find each other by PMI 2, as MPICH and Intel MPI do
    srun -K1            a rank that is killed ends the others, which would wait for it
    --signal=USR1@...   some time before the limit: all ranks save at the same step, and leave with 75
    scontrol requeue    after 75 the job waits in the queue again, and resumes from the newest checkpoint
"""

import shlex

SAVING = 120                                         # seconds before the time limit
DIRECTIVES = ("--job-name=minalbert", f"--signal=USR1@{SAVING}", "--requeue", "--open-mode=append")


def batch_script(command, ranks, directives=()):
    """The text of a script for `sbatch`. directives: more of its options; the last of one name counts."""
    lines = [f"#SBATCH {one}" for one in (f"--ntasks={ranks}", *DIRECTIVES, *directives)]
    return "\n".join([
        "#!/bin/sh",
        *lines,
        "",
        f"srun --mpi=pmi2 -K1 {shlex.join(command)}",
        "code=$?",
        'if [ "$code" -eq 75 ]; then',
        '    scontrol requeue "$SLURM_JOB_ID"',
        "fi",
        'exit "$code"',
        "",
    ])  # fmt: skip
