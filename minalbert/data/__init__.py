"""Everything between raw text and a batch.

    text        documents, sentences                     files become lists of sentences, one document at a time
    stories     tiny_worlds                              or they are made up: topic and order, each with its own knob
    tokens      normalise, tokenizer                     sentences become numbers
    shards      shards, build                            numbers in files that can be mapped into memory
    instances   recipe, chunks, pairs, masking,          which sentences, in which order, which words are hidden:
                instances                                a pure function of (seed, epoch, instance number)
    to look at  strip, stats, audit                      one instance, all of them, and what gives them away

Read in this order. `released` is the released script's algorithm, one instance at a time, to compare with.
"""
