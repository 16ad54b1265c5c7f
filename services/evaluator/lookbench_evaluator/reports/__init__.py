"""From per-query values to tables that people read."""
