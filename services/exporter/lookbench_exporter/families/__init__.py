"""One file a family. See `lookbench_exporter.family` for what a family is."""
