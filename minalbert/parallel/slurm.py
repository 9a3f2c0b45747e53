"""The batch script with which Slurm starts the ranks of a run, and starts them again until the run has ended.

    launch --mpiexec srun     the supervisor, on the job's first node: it starts the ranks again where one dies or hangs
    SLURM_MPI_TYPE=pmi2       the ranks find each other by PMI 2, as MPICH and Intel MPI do
    SLURM_KILL_BAD_EXIT=1     srun ends when a rank is killed, whose others would wait for it
    MINALBERT_HEARTBEAT       the heartbeats' place, which all nodes see: where the job was submitted
    --signal=B:USR1@...       some time before the limit: the supervisor has all ranks save, and leaves with 75
    scontrol requeue          after 75 the job waits in the queue again, and resumes from the newest checkpoint
"""

import shlex

SAVING = 120                                         # seconds before the time limit
DIRECTIVES = ("--job-name=minalbert", f"--signal=B:USR1@{SAVING}", "--requeue", "--open-mode=append")


def batch_script(command, ranks, directives=()):
    """The text of a script for `sbatch`. command: of a supervisor; directives: more options, the last of a name counts

    A signal interrupts the shell's `wait`, so it waits until the supervisor is gone.
    """
    lines = [f"#SBATCH {one}" for one in (f"--ntasks={ranks}", *DIRECTIVES, *directives)]
    return "\n".join([
        "#!/bin/sh",
        *lines,
        "",
        'export SLURM_MPI_TYPE="${SLURM_MPI_TYPE:-pmi2}" SLURM_KILL_BAD_EXIT=1',
        'export MINALBERT_HEARTBEAT="$SLURM_SUBMIT_DIR"',
        f"{shlex.join(command)} &",
        "supervisor=$!",
        "trap 'kill -USR1 $supervisor' USR1",
        "wait $supervisor",
        "code=$?",
        "while kill -0 $supervisor 2>/dev/null; do",
        "    wait $supervisor",
        "    code=$?",
        "done",
        'if [ "$code" -eq 75 ]; then',
        '    scontrol requeue "$SLURM_JOB_ID"',
        "fi",
        'exit "$code"',
        "",
    ])  # fmt: skip
