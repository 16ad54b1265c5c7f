"""Generated from protos/lookbench/v1; run `make protos`, never edit."""
