"""What a benchmark asks of a system."""
