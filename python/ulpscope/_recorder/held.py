"""Numbers that are on a device, on their way to the host."""

from .._counting import kernels
from .._counting.host import loaded_torch


class Held:
    """One that is copied, and is asked for later."""

    __slots__ = ("_number", "_place", "_dtype", "_done")

    def __init__(self, tensor):
        driver = kernels.device().driver
        kernels.expect_no_capture(driver)
        self._place, self._done = driver.copy_to_host(tensor)
        self._dtype, self._number = tensor.dtype, None

    def __float__(self):
        if self._number is None:
            self._done.synchronize()
            self._number, self._done = kernels.device().driver.number_at(self._place, self._dtype), None
        return self._number

    def __bool__(self):
        return bool(float(self))


class AnyOf:
    """Whether any of several numbers is above 0."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers):
        self._numbers = numbers

    def __bool__(self):
        return any(float(of) > 0 for of in self._numbers)


def held(what, later):
    """A number as it is now, whatever becomes of what it is read from: Held if that is on a CUDA device and it is asked for later."""
    if what is None or isinstance(what, (bool, int, float, Held)):
        return what
    torch = loaded_torch()
    if later and torch is not None and type(what) is torch.Tensor and what.is_cuda and what.numel() == 1:
        if kernels.device().driver.is_usable(what.get_device()):
            return Held(what)
    return float(what)


def number(what):
    """Of one that was held."""
    return float(what) if isinstance(what, Held) else what
