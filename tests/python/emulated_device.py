"""CUDA's driver, emulated: kernels run on the host, on the host's memory. Tensors of the host pass for those of a device."""

import contextlib
import ctypes
import os
import sys
import threading
from unittest import mock

LIBRARY = os.environ.get("ULP_EMULATED_COUNTING", "")


class Gate:
    """Open or not: for Python, and for compiled code."""

    def __init__(self, is_open):
        self.opened, self.flag = threading.Event(), ctypes.c_int(is_open)
        if is_open:
            self.opened.set()

    def open(self):
        self.flag.value = 1
        self.opened.set()


class Event:
    """Has happened, unless it is held back."""

    def __init__(self, gate=None):
        self.gate = gate or Gate(True)

    def synchronize(self):
        self.gate.opened.wait()

    def is_past(self):
        return self.gate.opened.is_set()

    def free(self):
        pass


class Kernel:
    def __init__(self, of, name):
        self.of, self.name = of, name

    def blocks_at_once(self, threads, shared):
        return self.of.slots

    def launch(self, grid, threads, arguments, shared=0, stream=0):
        of = self.of
        assert shared <= of.limit
        if of.refuses:
            raise of.DeviceError("cuLaunchKernel: CUDA_ERROR_NO_BINARY_FOR_GPU")
        of.launches.append((self.name, grid))
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        result = of.library.ulp_emulate(self.name.encode(), *grid, threads, shared, pointers, of.order)
        assert result == 0, (self.name, result)


class Emulated:
    """In place of _device/driver.py."""

    def __init__(self, driver, torch, shared=227 << 10, slots=6, order=0):
        """driver: the module that it replaces; shared: bytes that a block can have; slots: blocks at once; order: of blocks."""
        self.torch, self.limit, self.slots, self.order, self.launches = torch, shared, slots, order, []
        self.DeviceError, self.OutOfMemory = driver.DeviceError, driver.OutOfMemory
        self.gate, self.memory_left, self.refuses, self.capturing, self.used = None, None, False, False, []
        self.refusals = 0
        self.library = ctypes.CDLL(LIBRARY)
        self.library.ulp_emulate.argtypes = [
            ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64
        ]  # fmt: skip

    def hold_back(self):
        """What is begun from now on is not done until release()."""
        self.gate = Gate(False)

    def release(self):
        self.gate.open()
        self.gate = None

    def is_usable(self, device):
        return True

    def waiting(self, event):
        wait = ctypes.cast(self.library.ulp_emulated_wait, ctypes.c_void_p).value
        return (0, 0), 0, (wait, ctypes.addressof(event.gate.flag))

    def is_capturing(self):
        return self.capturing

    def shared_limit(self, device):
        return self.limit

    def on(self, device):
        return contextlib.nullcontext()

    def torch_stream(self, device):
        return "stream"

    def stream(self, device):
        return 0

    def use(self, tensor):
        self.used.append(tensor.data_ptr())

    def on_the_side(self, device, memory, begin):
        begin(0)
        return Event(self.gate)

    def copy_to_host(self, tensor):
        return tensor.clone(), Event(self.gate)

    def end_copies(self):
        pass

    def number_at(self, copy, dtype):
        return float(copy)

    def memory(self, size):
        if self.memory_left is not None and size > self.memory_left:
            self.refusals += 1
            raise self.OutOfMemory(f"{size} bytes")
        return self.torch.full((size,), 0xA5, dtype=self.torch.uint8)

    def zeros(self, size):
        return self.memory(size).zero_()

    def copy_to_device(self, to, at, size, stream):
        ctypes.memmove(to, at, size)

    def kernel(self, file, name, device):
        return Kernel(self, name)

    class HostMemory:
        def __init__(self, size):
            self.size = size
            self.bytes = ctypes.create_string_buffer(b"\xa5" * size, size)
            self.address = ctypes.addressof(self.bytes)


@contextlib.contextmanager
def device(package, torch, **named):
    """Tensors of the host pass for those of a device whose driver is Emulated, which it yields. package: as support.load gives it."""
    counting = sys.modules[package.__name__ + "._device.counting"]
    kernels = sys.modules[package.__name__ + "._counting.kernels"]
    emulated = Emulated(counting.driver, torch, **named)
    counting.plan_of.cache_clear()
    counting.tables_on.clear()
    kernels._refused.clear()
    of_tensor = {"is_cuda": True, "is_cpu": False, "get_device": lambda tensor: 0, "record_stream": lambda tensor, stream: None}
    with mock.patch.object(counting, "driver", emulated), contextlib.ExitStack() as patches:
        for name, value in of_tensor.items():
            patches.enter_context(mock.patch.object(torch.Tensor, name, value))
        patches.enter_context(mock.patch.object(torch.Tensor, "__dlpack_c_exchange_api__", None, create=True))  # tells the truth
        patches.enter_context(mock.patch.object(torch.cuda, "is_initialized", lambda: True))
        patches.enter_context(mock.patch.object(torch.cuda, "current_device", lambda: 0))
        yield emulated
    counting.plan_of.cache_clear()
