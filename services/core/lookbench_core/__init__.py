"""What the packages of LookBench services must agree on. No heavy imports."""
