"""Keeping BLAS to the calling thread while our own threads share the work."""

import threading
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class OneThreadEach:
    """Within the context a matrix product runs on the thread that asks for it.

    The setting is the whole process's; it is put back when the last of several
    users leaves.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._guard:
            if not self._users:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._users -= 1
            if not self._users:
                self._limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: milliseconds


ONE_THREAD_EACH = OneThreadEach()
