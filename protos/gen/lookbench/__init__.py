"""Generated code of the `lookbench` API; see protos/lookbench."""
