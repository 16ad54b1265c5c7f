"""Reading benchmarks of every format into one, and opening what was read."""
