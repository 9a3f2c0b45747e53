"""On each of four ranks: form the groups of three thousand runs, and print what a row and a column then add up to."""

import numpy as np

from minalbert.parallel import world

RUNS = 3000


def main():
    ranks = world()
    for _ in range(RUNS):
        for model_ranks in (1, 2, 4):
            ranks.form_groups(model_ranks)
    ranks.form_groups(2)
    sums = []
    for group in (ranks.model_group, ranks.data_group):
        vector = np.array([10.0**ranks.rank])
        group.add(vector)
        sums.append(int(vector[0]))
    known = ranks.gather(sums)
    if ranks.rank == 0:
        print(known)


if __name__ == "__main__":
    main()
