"""Other libraries' weights. `state_dict` converts names and arrays; `huggingface` reads and writes directories."""
