"""Everything between raw text and a batch.

Read in this order: documents, normalise, tokenizer, shards, chunks, pairs, masking, instances.
"""
