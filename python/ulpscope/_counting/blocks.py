"""Counts the blocks of tensors, wherever these are."""

import functools
import re

from .._errors import RecorderError
from . import kernels
from .bits import is_numpy, on_host
from .block_counts import WHOLE, count, tables_on_host
from .block_tables import BlockTables
from .compiled import counting
from .host import loaded_torch, np
from .types import TYPES
from .values import number_of_threads

MOST = 65536  # elements of a block along an axis
WAITING = 128 << 20  # bytes of counts that may wait on devices
SMALL = 1 << 15  # elements, below which numpy's operations, whose calls cost less, are faster than torch's
AXES = ("last", "other", "both")


def extents_of(blocks, axis):
    """Pairs of rows and columns, of "32,16,128x128", of a number, or of a list of these."""
    if axis not in AXES:
        raise RecorderError(f"axis={axis!r}: one of {', '.join(AXES)}")
    extents = []
    for text in blocks.split(",") if isinstance(blocks, str) else [blocks] if isinstance(blocks, int) else blocks:
        found = re.fullmatch(r"(?:([0-9]{1,9})x)?([0-9]{1,9})", str(text))
        extent = (int(found[1] or 1), int(found[2])) if found else (0, 0)
        if not (1 <= extent[0] <= MOST and 1 <= extent[1] <= MOST):
            raise RecorderError(f"blocks: {text!r} is not a number of elements, as 32, or two, as 128x128, from 1 to {MOST}")
        extents += [extent] * (axis != "other") + [extent[::-1]] * (axis != "last")
    if not extents:
        raise RecorderError("blocks: names no block; leave it out to count none")
    return tuple(dict.fromkeys(extents))


@functools.lru_cache(None)
def type_of(dtype):
    """Of an array's values, one of TYPES; None for others."""
    return TYPES.get(getattr(dtype, "name", None) or str(dtype)[len("torch.") :])


class Counted:
    """The blocks of one tensor. counts: those that are still on a device, where they take `size` bytes."""

    __slots__ = ("tables", "counts")
    size = property(lambda self: 4 * WHOLE.size * len(self.counts))

    def __init__(self, tables, counts=()):
        self.tables, self.counts = tables, counts

    def merged(self, other):
        """Of a tensor that comes in parts: of the blocks that both have."""
        a, b = self.tables, other.tables
        if type(a) is not type(b):  # compiled code counted one of them, on the host
            a, b = (of if isinstance(of, counting.BlockTables) else counting.BlockTables(of.content()) for of in (a, b))
        return Counted(a.merged(b))


class BlockCounter:
    def __init__(self, extents):
        self.extents = extents
        self._left_out, self._told = {}, set()  # {name of a tensor that has no blocks: why}; names of which that was said
        self._waiting = []  # Counted that devices have

    def count(self, name, array):
        """Those of a torch tensor that is no DTensor, or a numpy array, as they are now; None where there are none."""
        return self.count_all([name], [array])[0]

    def count_all(self, names, arrays):
        arrays = [self._fit(*pair) for pair in zip(names, arrays)]
        if counting is None:
            return [None if array is None else self._by_operations(array) for array in arrays]
        all_counted, matrices, at = [None] * len(arrays), [], []
        for i, array in enumerate(arrays):
            if array is None:
                continue
            if is_elsewhere(array):
                all_counted[i] = self._by_operations(array)
                continue
            shape = array.shape
            matrices.append((place_of(array), shape[-1] if shape else 1, len(shape) < 2))
            at.append(i)
        for i, tables in zip(at, counting.count_blocks(matrices, self.extents, number_of_threads()) if at else ()):
            all_counted[i] = Counted(tables) if len(tables) else None
        return all_counted

    def newly_left_out(self):
        """{name: why}, of tensors that were not asked for before."""
        new = {name: why for name, why in self._left_out.items() if name not in self._told}
        self._told.update(new)
        return new

    def arrive(self, of=None):
        """Waits for what devices have of these Counted, or of all. A signal's handler may come here meanwhile."""
        here = [(counted, counted.counts) for counted in self._waiting if of is None or counted in of]
        tables = iter(tables_on_host([counts for _, of_extents in here for counts in of_extents]))
        for counted, of_extents in here:
            counted.tables = BlockTables([next(tables) for _ in of_extents])
            counted.counts = ()
        self._waiting = [counted for counted in self._waiting if counted.counts]

    def _fit(self, name, array):
        """Its values, one row after the other."""
        of, shown = type_of(array.dtype), str(array.dtype).replace("torch.", "")
        if of is None or of.bits > 32:
            if of is not None or shown.startswith("complex"):  # all others are not recorded at all
                self._left_out.setdefault(name, f"is {shown}, and blocks are of float32 numbers")
            return None
        torch = loaded_torch()
        if torch is None or not isinstance(array, torch.Tensor):
            native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
            return np.ascontiguousarray(native).reshape(array.shape)
        array = array.detach()
        if array.layout != torch.strided:
            array = array.to_dense()
        return array.resolve_neg().contiguous()

    def _by_operations(self, array):
        """Of numpy or torch."""
        of, is_vector = type_of(array.dtype), len(array.shape) < 2
        extents = [extent for extent in self.extents if extent[1] != 1 or not is_vector]
        if not extents:
            return None
        columns = array.shape[-1] if array.shape else 1
        rows, elsewhere = array.shape[:-1], is_elsewhere(array)
        bits = array.reshape(-1)
        bits = bits.view(f"i{of.bits // 8}" if not hasattr(array, "layout") else getattr(loaded_torch(), f"int{of.bits}"))
        bits = bits.reshape(len(bits) // columns if columns else functools.reduce(int.__mul__, rows, 1), columns)
        if not elsewhere:
            if np is not None and not is_numpy(bits) and bits.numel() < SMALL:
                bits = bits.numpy()
            return Counted(BlockTables([count(bits, of, extent, False).table() for extent in extents]))
        if kernels.is_capturing():
            raise RecorderError(kernels.CAPTURED)
        counted = Counted(None, [count(bits, of, extent, True) for extent in extents])
        self._waiting.append(counted)
        if sum(of.size for of in self._waiting) > WAITING:
            self.arrive()
        return counted


def is_elsewhere(array):
    return getattr(array, "is_cuda", False) or not on_host(array)


def place_of(array):
    """Address, number and type of values on the host."""
    of = type_of(array.dtype).number
    if hasattr(array, "layout"):
        return array.data_ptr(), array.numel(), of
    return array.__array_interface__["data"][0], array.size, of
