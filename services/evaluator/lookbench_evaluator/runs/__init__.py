"""Runs: what they are, where they are kept, how they are executed."""
