"""Tensors on their way to tables, wherever they are."""

import functools

from .._errors import RecorderError
from . import kernels
from .bits import is_numpy, on_host
from .compiled import counting
from .host import loaded_torch, np
from .on_device import table_of_entries, to_host, vector_of_bits
from .on_host import tables_of_bits
from .small import count_small
from .tables import as_compiled
from .types import TYPES, TYPES_BY_NUMBER

TINY = 1 << 12  # and below which tensors are counted together


class Values:
    """The values of one tensor, on their way to a table."""

    def __init__(self, name, array, blocks=None):
        """blocks: a BlockCounter, which counts now, or None."""
        torch = loaded_torch()
        self.table = self.vector = self.started = self.blocks = None
        self.device = None  # the number of one that counts by kernels
        self.parts = 0  # not known
        if not hasattr(array, "__array__") and hasattr(array, "__dlpack__"):
            array = (np if torch is None else torch).from_dlpack(array)
        if torch is not None and isinstance(array, torch.Tensor):
            array = array.detach()
            if hasattr(array, "to_local"):
                array = array.to_local()
            if array.device.type == "mps":  # knows no 64-bit floats, and is the host's memory
                array = array.cpu()
            self.shape, numel = tuple(array.shape), array.numel()
            if blocks is not None:
                self.blocks = blocks.count(name, array)
            if array.layout == torch.sparse_coo:
                array = array.coalesce().values()
            elif array.layout != torch.strided:
                array = array.to_dense()
            array = array.resolve_conj().resolve_neg()
            if array.is_complex():
                array, numel = torch.view_as_real(array), 2 * numel
            # In the order of memory: no copy of what only is transposed.
            if not array.is_contiguous():
                array = array.permute(sorted(range(array.dim()), key=array.stride, reverse=True))
            array = array.reshape(-1)
            type_name = str(array.dtype)[len("torch.") :]
            if type_name in TYPES:
                array = array.view(getattr(torch, f"int{TYPES[type_name].bits}"))
                if array.is_cuda:
                    self.device = kernels.device_of(array)
            if np is not None and on_host(array) and self.device is None:
                array = array.numpy()
        elif np is not None:
            self.shape = np.shape(array)
            if blocks is not None:
                self.blocks = blocks.count(name, np.asarray(array))
            array = np.ravel(array, order="K")
            if array.dtype.kind == "c":
                array = array.view(array.real.dtype)
            type_name, numel = array.dtype.name, array.size
            if not array.dtype.isnative:
                array = array.astype(array.dtype.newbyteorder("="))
            if type_name in TYPES:
                array = array.view(f"i{array.itemsize}")
        else:
            raise RecorderError(f"tensor {name!r}: without numpy only torch tensors can be recorded")
        if type_name not in TYPES:
            raise RecorderError(f"tensor {name!r}: {type_name} cannot be recorded; {', '.join(TYPES)} can")
        self.type = TYPES[type_name]
        self.array = array
        self.numel = len(array)
        self.zeros = numel - len(array)  # those that a sparse tensor does not hold

    @property
    def bits(self):
        return self.array

    @property
    def place(self):
        """Of values on the host, which lie one after the other: address, number and type."""
        if is_numpy(self.array):
            self.array = np.ascontiguousarray(self.array)
            address = self.array.__array_interface__["data"][0]
        else:
            self.array = self.array.contiguous()
            address = self.array.data_ptr()
        return address, len(self.array), self.type.number

    def count(self, with_sums):
        """Counts now, or lets the device begin, and keeps no values."""
        begin([self], with_sums)


class PlainValues:
    """Those of a torch tensor that lies one element after the other, for the compiled counting or kernels."""

    __slots__ = ("type", "array", "table", "vector", "started", "blocks", "numel", "place", "device", "parts")
    shape, zeros = (), 0

    def __init__(self, tensor, place, device=None):
        self.array, self.place, self.device, self.parts = tensor, place, device, 0
        self.table = self.vector = self.started = self.blocks = None
        _, self.numel, number = place
        self.type = TYPES_BY_NUMBER[number]

    @property
    def bits(self):
        return self.array.detach().reshape(-1).view(getattr(loaded_torch(), f"int{self.type.bits}"))

    def count(self, with_sums):
        begin([self], with_sums)


def plain_values(taken):
    """Of gradients that can be PlainValues these; None in place of others."""
    tensors, places, device = taken.tensors, taken.places(), None if taken.device < 0 else taken.device
    return [None if place is None else PlainValues(tensor, place, device) for tensor, place in zip(tensors, places)]


@functools.lru_cache(None)
def take_gradients(on_devices):
    """A function that takes the gradients of pairs of name and parameter, for the compiled counting; on_devices: and for kernels."""
    torch = loaded_torch()
    types = {getattr(torch, name): dtype.number for name, dtype in TYPES.items() if hasattr(torch, name)}
    return counting.Gradients(torch.Tensor, torch.strided, types, on_devices)


class SmallValues:
    """Those of a small float32 tensor on the host, which are counted with those of others."""

    __slots__ = ("type", "array", "table", "vector", "started", "blocks", "device", "shape", "numel", "zeros", "parts")

    def __init__(self, tensor, numel, parts):
        self.type, self.array, self.numel, self.parts = TYPES["float32"], tensor, numel, parts
        self.table = self.vector = self.started = self.blocks = self.device = None
        self.shape, self.zeros = (), 0


WAITING = 128  # tensors whose vectors may wait on a device: they take 256 KiB to 2 MiB each


def bring_to_host(values, with_sums):
    """Tables of vectors, for which the host waits."""
    for v, (at, counts) in zip(values, to_host([v.vector for v in values])):
        v.table, v.vector = as_compiled(table_of_entries(at, counts, v.type, v.numel, with_sums)), None


def host_tables_of(values, with_sums):
    """The tables of values on the host."""
    if counting is None:
        return tables_of_bits([(v.array, v.type) for v in values], with_sums)
    return counting.count([v.place for v in values], with_sums, number_of_threads())


def number_of_threads():
    torch = loaded_torch()
    return 1 if torch is None else torch.get_num_threads()


def begin(values, with_sums):
    """Counts those on the host, and lets devices begin: none keeps its values."""
    small = [v for v in values if type(v) is SmallValues and v.array is not None]
    if small:
        count_small(small)
    left = [v for v in values if v.array is not None]
    arrays = [v for v in left if v.device is None and (type(v) is PlainValues or on_host(v.array))]
    for v, table in zip(arrays, host_tables_of(arrays, with_sums) if arrays else []):
        v.table, v.array = table, None
    for device in {v.device for v in left if v.device is not None}:
        kernels.begin([v for v in left if v.device == device], with_sums, device)
    begin_by_torch([v for v in left if v.array is not None], with_sums)


def begin_by_torch(values, with_sums):
    """Of values on devices, by torch's operations there."""
    vectors = []
    for v in values:
        v.vector, v.array = vector_of_bits(v.bits, v.type, with_sums), None
        vectors.append(v)
        if len(vectors) == WAITING:
            bring_to_host(vectors, with_sums)
            vectors = []


def tables_of(values, with_sums):
    """For which the host waits."""
    begin(values, with_sums)
    for v in values:
        if v.table is None and v.started is not None:
            started, i = v.started
            v.table, v.started = started.tables()[i], None
    bring_to_host([v for v in values if v.table is None], with_sums)
    for v in values:
        if v.zeros > 0:
            v.table.add_zeros(v.zeros)
            v.numel, v.zeros = v.numel + v.zeros, 0
    return [v.table for v in values]
