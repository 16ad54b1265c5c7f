"""Weights → ONNX → a folder of Triton's model repository, with a manifest and proof of parity."""
