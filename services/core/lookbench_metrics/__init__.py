"""Retrieval metrics, one a file, in numpy."""
