"""The evaluator: runs retrieval systems on benchmarks and keeps their numbers."""
