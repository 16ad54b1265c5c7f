"""Rankings of a gallery for each query."""
