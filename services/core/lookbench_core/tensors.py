"""Names and layouts of the tensors that exported graphs take and give."""

# uint8 [B, H, W, 3], RGB, as decoded; normalisation is part of the graph.
IMAGE_INPUT = "pixels"
# int64 [B, T].
TOKEN_IDS_INPUT = "input_ids"
# int64 [B, T]; 1 for a real token, 0 for padding.
ATTENTION_MASK_INPUT = "attention_mask"
# float32 [B, D], rows of L2 norm 1.
EMBEDDING_OUTPUT = "embedding"

MANIFEST_FILE = "lookbench.json"
"""Stands beside config.pbtxt in every model folder."""
CONFIG_FILE = "config.pbtxt"
GRAPH_FILE = "model.onnx"

GRAPH_DIGEST_PARAMETER = "lookbench_graph_digest"
"""Parameter of config.pbtxt: the server tells with it which graph it has loaded."""
