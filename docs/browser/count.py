from minalbert import PRESETS
from minalbert.analysis import parameters, report
from minalbert.commands import params_lines

E = 128  # try 64, 748, 749 and 768

albert = PRESETS["albert-base-v2"].replace(embedding_size=E)
V, H = albert.vocab_size, albert.hidden_size
two = V * E + (E * H if E != H else 0)  # E = H needs no second one
one = V * H
print(f"V×E + E×H = {two:,}   V×H = {one:,}")
print(f"fewer while E is below V H / (V + H) = {V * H / (V + H):.1f}\n")

# The library counts the tensors it would make. Does it agree?
counted = parameters.word_embedding(albert)
assert (counted["factorised"], counted["one_table"]) == (two, one)

counts = report.one_model("albert-base-v2", albert, length=512, batch=1)
print("\n".join(params_lines.where_the_parameters_are(counts)) + "\n")
print("\n".join(params_lines.two_savings(counts)))
