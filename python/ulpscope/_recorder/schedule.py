"""Which calls of step() are recorded."""

from .._errors import RecorderError


class Schedule:
    __slots__ = ("every", "calls", "is_open")

    def __init__(self, every):
        if every < 1:
            raise RecorderError(f"every={every}: must be 1 or more")
        self.every, self.calls, self.is_open = every, 0, True

    @property
    def is_due(self):
        return self.is_open and self.calls % self.every == 0
