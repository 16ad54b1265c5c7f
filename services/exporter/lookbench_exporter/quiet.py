"""Keeping the training libraries off the user's screen."""

import contextlib
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drops warnings and log lines below ERROR for the duration.

    The libraries warn about their own insides (deprecated calls between two of
    their modules, optional packages): nothing that a user could act on. What
    matters of an export is checked, and refused with an error.
    """
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
