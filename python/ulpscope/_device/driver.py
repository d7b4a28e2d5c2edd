"""CUDA's driver, by ctypes: no toolkit and no compiler is needed where this runs.

torch makes the context; whoever asks for a kernel has a tensor on the device. https://docs.nvidia.com/cuda/cuda-driver-api
"""

import contextlib
import ctypes
import functools
import os
import threading

from .._counting.host import loaded_torch

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
SHARED_OPTIN = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
CAPABILITY = 7, 5  # which the PTX is for


class DeviceError(RuntimeError):
    """The driver refuses."""


class OutOfMemory(DeviceError):
    """The device has no more."""


@functools.lru_cache(None)
def library():
    """None without a driver."""
    for name in ("nvcuda.dll",) if os.name == "nt" else ("libcuda.so.1", "libcuda.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def call(function, *arguments):
    code = getattr(library(), function)(*arguments)
    if code != 0:
        name = ctypes.c_char_p()
        library().cuGetErrorName(code, ctypes.byref(name))
        refused = OutOfMemory if code == OUT_OF_MEMORY else DeviceError
        raise refused(f"{function}: {(name.value or b'error %d' % code).decode()}")


@functools.lru_cache(None)
def is_usable(device):
    """Whether the kernels run on torch's device of this number."""
    torch = loaded_torch()
    if getattr(torch.version, "cuda", None) is None or library() is None:
        return False
    return torch.cuda.get_device_capability(device) >= CAPABILITY


@functools.lru_cache(None)
def attribute(device, which):
    """Of the current device, whose number this is."""
    number, value = ctypes.c_int(), ctypes.c_int()
    call("cuCtxGetDevice", ctypes.byref(number))
    call("cuDeviceGetAttribute", ctypes.byref(value), which, number)
    return value.value


def shared_limit(device):
    """The most shared memory, in bytes, that a block can have."""
    return attribute(device, SHARED_OPTIN)


@functools.lru_cache(None)
def module(name, device):
    """The kernels of a file, compiled for the current device, whose number this is."""
    path = os.path.join(os.path.dirname(__file__), name + ".ptx")
    try:
        with open(path, "rb") as file:
            text = file.read() + b"\0"
    except OSError as error:
        raise DeviceError(f"{path}: {error.strerror}: copy the whole folder of the package") from None
    of = ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(of), text)
    return of


_here = threading.local()  # of which devices the driver has a context in this thread


def on(device):
    """A context in which torch's device of this number is the current one, for the driver too."""
    if loaded_torch().cuda.current_device() != device:
        return _on_another(device)
    _expect_context(device)
    return contextlib.nullcontext()


@contextlib.contextmanager
def _on_another(device):
    with loaded_torch().cuda.device(device):
        _expect_context(device)
        yield


def _expect_context(device):
    """A thread in which torch did nothing yet has none."""
    known = _here.__dict__.setdefault("devices", set())
    if device in known:
        return
    context = ctypes.c_void_p()
    if library().cuCtxGetCurrent(ctypes.byref(context)) == 0 and not context:
        number = ctypes.c_int()
        call("cuDeviceGet", ctypes.byref(number), device)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        call("cuCtxSetCurrent", context)
    known.add(device)


@functools.lru_cache(None)
def _stream_of():
    """torch's function that says a device's current stream without making an object of it."""
    torch = loaded_torch()
    return getattr(torch._C, "_cuda_getCurrentRawStream", lambda device: torch.cuda.current_stream(device).cuda_stream)


def stream(device):
    """torch's current one there, as the driver has it."""
    return _stream_of()(device)


def torch_stream(device):
    return loaded_torch().cuda.current_stream(device)


def use(tensor):
    """Tells torch's allocator that the current stream uses its memory, whenever it is freed."""
    tensor.record_stream(torch_stream(tensor.device))


def memory(size):
    """So many bytes of the current device's memory, for the current stream."""
    torch = loaded_torch()
    try:
        return torch.empty(size, dtype=torch.uint8, device="cuda")
    except getattr(torch.cuda, "OutOfMemoryError", RuntimeError):  # from torch 1.13 on
        raise OutOfMemory(f"{size} bytes") from None


def zeros(size):
    return memory(size).zero_()


def is_capturing():
    """Whether what is begun now would become part of a graph."""
    return loaded_torch().cuda.is_current_stream_capturing()


def copy_to_device(to, at, size, stream):
    """Of memory that the host shares with the device, without waiting."""
    call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_void_p(at), ctypes.c_size_t(size), ctypes.c_void_p(stream))


class Event:
    """What a stream of a device had at some time, which the host waits for without using the processor. free() is for who has it."""

    _free = {}  # by device

    def __init__(self, device):
        self.device = device
        free = self._free.setdefault(device, [])
        try:
            self.of = free.pop()
        except IndexError:
            self.of = ctypes.c_void_p()
            with on(device):
                call("cuEventCreate", ctypes.byref(self.of), 3)  # CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING

    def record(self, stream):
        with on(self.device):
            call("cuEventRecord", self.of, ctypes.c_void_p(stream))

    def hold_up(self, stream):
        """What the stream is given from now on comes after it."""
        call("cuStreamWaitEvent", ctypes.c_void_p(stream), self.of, 0)

    def synchronize(self):
        with on(self.device):
            call("cuEventSynchronize", self.of)

    def is_past(self):
        return library().cuEventQuery(self.of) == 0

    def free(self):
        self._free[self.device].append(self.of)


def waiting(event):
    """For a thread of compiled code, by addresses: what makes the event's context its own; what changes its mode towards graphs that
    are captured meanwhile; and what waits for the event. Of the first and the last each function has an argument."""
    with on(event.device):
        context = ctypes.c_void_p()
        call("cuCtxGetCurrent", ctypes.byref(context))
    enter, wait = (address_of("cuCtxSetCurrent"), context.value), (address_of("cuEventSynchronize"), event.of.value)
    return enter, address_of("cuThreadExchangeStreamCaptureMode"), wait


@functools.lru_cache(None)
def address_of(function):
    return ctypes.cast(getattr(library(), function), ctypes.c_void_p).value


class Copies:
    """Of numbers to the host, one after the other on a stream: all have come when its event has."""

    def __init__(self, device, stream):
        self.device, self.stream, self._event, self.places = device, stream, None, []

    def end(self):
        """No more are added."""
        with _lock:
            if _copies.get(self.device) is self:
                del _copies[self.device]
            if self._event is None:
                event = Event(self.device)
                event.record(self.stream)
                self._event = event

    def synchronize(self):
        self.end()
        self._event.synchronize()

    def __del__(self):
        """Nobody asks for them any more."""
        _numbers.give_back(self.places, (self.device, self.stream))
        if self._event is not None:
            self._event.free()


_copies = {}  # by device: what more are added to
_lock = threading.RLock()  # of these


def copy_to_host(tensor):
    """Of a number, as the host has it once end_copies() was called and what it returns here was waited for: where, and that."""
    device = tensor.get_device()
    its = stream(device)
    use(tensor)
    with on(device), _lock:
        copies = _copies.get(device)
        if copies is None or copies.stream != its:
            if copies is not None:
                copies.end()
            copies = _copies[device] = Copies(device, its)
        place = _numbers.take((device, its))
        copies.places.append(place)
        call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(place), ctypes.c_uint64(tensor.data_ptr()),
             ctypes.c_size_t(tensor.element_size()), ctypes.c_void_p(its))  # fmt: skip
    return place, copies


def end_copies():
    """Before another thread waits for them."""
    for copies in list(_copies.values()):
        copies.end()


def number_at(place, dtype):
    """Of torch's type."""
    size = loaded_torch().empty(0, dtype=dtype).element_size()
    return float(loaded_torch().frombuffer((ctypes.c_char * size).from_address(place), dtype=dtype))


class Numbers:
    """Places for single numbers that the host shares with devices. One that is free again is for copies of its stream, which come after
    what that still writes there."""

    def __init__(self):
        self._memory, self._next, self._free = [], 0, {}

    def take(self, stream):
        free = self._free.get(stream)
        if free:
            return free.pop()
        if not self._memory or self._next == self._memory[-1].size:
            self._memory.append(HostMemory(1 << 16))
            self._next = 0
        self._next += 8
        return self._memory[-1].address + self._next - 8

    def give_back(self, places, stream):
        self._free.setdefault(stream, []).extend(places)


_numbers = Numbers()


@functools.lru_cache(None)
def side(device):
    return loaded_torch().cuda.Stream(device)


def on_the_side(device, memory, begin):
    """Begins, by begin(stream), what follows all that the current stream has, without holding that up. It uses this memory. Returns
    what synchronize() waits for it."""
    beside, done = side(device), Event(device)
    done.record(stream(device))
    done.hold_up(beside.cuda_stream)
    memory.record_stream(beside)
    begin(beside.cuda_stream)
    done.record(beside.cuda_stream)
    return done


class Kernel:
    def __init__(self, function):
        self._function, self._shared = function, 48 << 10

    def _allow(self, shared):
        if shared > self._shared:
            call("cuFuncSetAttribute", self._function, MAX_DYNAMIC_SHARED, shared)
            self._shared = shared

    def blocks_at_once(self, threads, shared):
        """On the current device."""
        self._allow(shared)
        number = ctypes.c_int()
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(number), self._function, threads, ctypes.c_size_t(shared))
        return max(1, number.value) * attribute(loaded_torch().cuda.current_device(), MULTIPROCESSORS)

    def launch(self, grid, threads, arguments, shared=0, stream=0):
        """grid: blocks in two dimensions; arguments: ctypes values; shared: bytes of shared memory for each block; stream: as
        torch has it in cuda_stream."""
        self._allow(shared)
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        call("cuLaunchKernel", self._function, *grid, 1, threads, 1, 1, shared, ctypes.c_void_p(stream), pointers, None)


@functools.lru_cache(None)
def kernel(file, name, device):
    """The current device's, whose number this is."""
    function = ctypes.c_void_p()
    call("cuModuleGetFunction", ctypes.byref(function), module(file, device), name.encode())
    return Kernel(function)


class HostMemory:
    """Memory of the host that devices write to: under one address on both sides. It stays until the process ends, whoever may still
    write there."""

    def __init__(self, size):
        self.size, of = size, ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(of), ctypes.c_size_t(size), 3)  # portable, and mapped
        self.address = of.value
