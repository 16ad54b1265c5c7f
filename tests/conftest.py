"""Settings of all tests."""

from hypothesis import settings

# A busy machine makes a case slow; how fast things are is measured in tests/perf.
settings.register_profile("lookbench", deadline=None)
settings.load_profile("lookbench")
