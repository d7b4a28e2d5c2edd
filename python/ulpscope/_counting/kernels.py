"""Counting by the kernels of _device, where values are on a device that has them."""

import warnings

from .._errors import RecorderError
from .host import integers, loaded_torch

_device = None
_refused = set()  # devices whose driver did
CAPTURED = "a CUDA graph is being captured: record outside of it, where it is replayed"


def device():
    """_device.counting, which imports what needs torch."""
    global _device
    if _device is None:
        from .._device import counting as _device
    return _device


def has_devices():
    """Whether torch uses CUDA's: asking more would begin to."""
    torch = loaded_torch()
    return torch is not None and torch.cuda.is_initialized()


def are_there():
    return has_devices() and device().driver.is_usable(loaded_torch().cuda.current_device())


def device_of(array):
    """The number of the CUDA device whose kernels can count these values, or None."""
    of, number = device(), array.get_device()
    return number if array.numel() <= of.MOST_VALUES and number not in _refused and of.driver.is_usable(number) else None


def begin(values, with_sums, on):
    """They have array, numel and type, and lie on the device of this number. Those that keep their
    array it does not count."""
    of = device()
    if on in _refused:
        return
    expect_no_capture(of.driver)
    try:
        places = [v.place for v in values]
        for v in values:
            of.driver.use(v.array)
        started = of.start(places, with_sums, on)
    except of.driver.OutOfMemory:
        return
    except of.driver.DeviceError as error:
        refuse(on, error)
        return
    for i, v in enumerate(values):
        v.started, v.array = (started, i), None


def is_capturing():
    return has_devices() and device().driver.is_capturing()


def expect_no_capture(driver):
    if driver.is_capturing():
        raise RecorderError(CAPTURED)


def begin_taken(taken, alike, with_sums):
    """As begin, of gradients that compiled code has taken; alike: what is known of them. Returns what has their tables, or None."""
    of = device()
    expect_no_capture(of.driver)
    if taken.device in _refused:
        return None
    try:
        taken.record_stream(of.driver.torch_stream(taken.device))
        sizes = alike.sizes(taken)
        return of.Started(sizes, integers(taken.addresses), with_sums, taken.device, alike.worker, alike.groups)
    except of.driver.OutOfMemory:
        return None
    except of.driver.DeviceError as error:
        refuse(taken.device, error)
        return None


def refuse(number, error):
    _refused.add(number)
    text = f"ulpscope: kernels do not run on cuda:{number} ({error}): torch's operations count there, which takes longer"
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def kinds_of(taken):
    """(number of values, type) of those that there are."""
    return tuple(place[1:] for place in taken.places() if place is not None)
