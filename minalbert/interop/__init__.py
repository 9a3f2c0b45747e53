"""Files of other libraries: `huggingface` reads and writes the directories of `transformers`."""
