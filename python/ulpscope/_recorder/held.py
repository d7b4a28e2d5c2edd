"""Numbers that are on a device, on their way to the host."""

from .._counting import kernels


class Held:
    """One that is copied, and is asked for later."""

    __slots__ = ("_copy", "_done")

    def __init__(self, tensor):
        self._copy, self._done = kernels.device().driver.copy_to_host(tensor)

    def __float__(self):
        if self._done is not None:
            self._done.synchronize()
            self._done = None
        return float(self._copy)

    def __bool__(self):
        return bool(float(self))


class AnyOf:
    """Whether any of several numbers is not 0."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers):
        self._numbers = numbers

    def __bool__(self):
        return any(float(of) > 0 for of in self._numbers)


def held(what, later):
    """A number, as it is now: Held if it is a tensor on a CUDA device that is asked for later."""
    is_there = later and getattr(what, "is_cuda", False) and what.numel() == 1
    return Held(what) if is_there else what


def number(what):
    """Of one that was held."""
    return float(what) if isinstance(what, Held) else what
