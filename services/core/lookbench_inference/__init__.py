"""Asking served models: preprocessing, batching, transport."""
