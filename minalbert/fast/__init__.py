"""The model of `minalbert.model` once more, over buffers that are used again, one program for CPU and GPU.

`model` is written in pure pairs and is the specification. Here the same steps are taken by fused kernels, which
write into named arrays of a workspace. Once the first batch has passed, no array of activations is allocated, only
the tiles that a kernel works on; and nothing is walked over twice that could be done in one walk. What a backward
function needs, its forward left in the workspace.

Read in this order: workspace, part, encoder, ends, prepared, engine; then precision (which engine), crew and
accumulate (a batch over threads), and graph (a step as one launch).
"""
