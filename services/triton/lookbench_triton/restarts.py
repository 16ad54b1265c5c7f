"""How often, and how soon, a server may be started again."""

from collections import deque


class RestartBudget:
    """At most `limit` restarts within `window` seconds: the first at once, then with pauses."""

    def __init__(self, limit: int = 5, window: float = 600.0, second_pause: float = 1.0) -> None:
        self.limit, self.window = limit, window
        self._second_pause = second_pause
        self._times: deque[float] = deque()

    def next_pause(self, now: float) -> float | None:
        """Seconds to wait before the restart that this call counts; None when it is one too many.

        `now`: monotonic seconds.
        """
        while self._times and now - self._times[0] > self.window:
            self._times.popleft()
        if len(self._times) >= self.limit:
            return None
        earlier = len(self._times)
        pause: float = self._second_pause * 2 ** (earlier - 1) if earlier else 0.0
        self._times.append(now)
        return pause
