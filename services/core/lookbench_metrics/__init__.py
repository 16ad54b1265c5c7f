"""Retrieval metrics, one a file, in numpy.

`Judged` holds the grades of rankings; `registry` names the metrics; `summary`
averages them. docs/metrics.md defines each metric and says what other
libraries mean by the same word.
"""
