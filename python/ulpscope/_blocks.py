"""Formats of blocks: numbers that share a scale, under `quantize`, `encode` and `decode` by their names."""

from __future__ import annotations

import math
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _core
from ._array_types import kind_of


class Blocks(NamedTuple):
    """An array in a format of blocks.

    codes        of the array's shape, one to a byte
    scale        float32, or codes in bytes (float8_e8m0, float8_e4m3fn): the array's shape with the number of blocks in
                 place of what a block divides, for each axis that blocks divide; of one scale for the tensor no dimension;
                 of NVFP4 in squares, as TransformerEngine has it, once for each row of elements
    global_amax  what the second level is made of, float32: one, or one for each row; empty where there is none
    """

    codes: Any
    scale: Any
    global_amax: Any


class Row:
    """A row of the catalogue, and how an array falls into its blocks."""

    def __init__(self, format: str, dialect: Optional[str]) -> None:
        facts = _core.block_format(format, dialect or "")
        self.name, self.height, self.width, self.has_numbers, self.transposes, self.bits, self.repeats = facts

    def matrices(self, shape: Tuple[int, ...], axis: int) -> Tuple[int, int, int]:
        """How many matrices of how many rows and columns, once the axis is the last."""
        rows = 1
        for extent in shape[:-1]:
            rows *= extent
        if self.height > 1 or self.transposes:
            if len(shape) < 2:
                raise ValueError(f"x: {self.name} has blocks of several rows; pass a matrix")
            if axis != len(shape) - 1:
                raise ValueError(f"axis: {self.name} has blocks of several rows, which run along the last axis")
            return rows // max(1, shape[-2]), shape[-2], shape[-1]
        return 1, rows, shape[-1]

    def scale_shape(self, shape: Tuple[int, ...]) -> Tuple[int, ...]:
        """Of an array whose axis is the last."""
        if self.height == 0:
            return (0,) if 0 in shape else ()
        across = -(-shape[-1] // (self.width or max(1, shape[-1])))
        if self.height > 1:
            return (*shape[:-2], -(-shape[-2] // self.height), across)
        return (*shape[:-1], across)

    def for_each_row(self, scales: Any, shape: Tuple[int, ...]) -> Any:
        """Scales of blocks as the row keeps them, of an array whose axis is the last."""
        return scales.repeat(self.height, axis=-2)[..., : shape[-2], :] if self.repeats else scales

    def for_each_block(self, scales: Any, shape: Tuple[int, ...]) -> Any:
        """Back; scales that are one for each block stay."""
        each = (*shape[:-1], self.scale_shape(shape)[-1]) if self.repeats else ()
        if not self.repeats or scales.size != math.prod(each):
            return scales
        return scales.reshape(each)[..., :: self.height, :]


def is_named(format: Any) -> bool:
    # No row's name has what UTF-8 lacks, which a format's own check refuses.
    return isinstance(format, str) and format.isascii() and _core.is_block_format(format)


def listed(format: str, dialect: Optional[str]) -> Dict[str, Any]:
    """What the catalogue says of the row, of which blocks may have another shape."""
    name = Row(format, dialect).name.split(",")[0]
    return next(row for row in rows() if row["name"] == name)


def element_format(format: str, dialect: Optional[str]) -> str:
    """Whose rounding elements have; float32 in place of integers, which have none of a format's."""
    element = str(listed(format, dialect)["element"])
    return "float32" if element.startswith("int") else element


def encoded(
    x: Any, format: str, dialect: Optional[str], axis: int, rounding: Any, seed: int, stream: int, index: int
) -> Tuple[Blocks, Any]:
    """Blocks, and the numbers that they stand for, as numpy's arrays."""
    import numpy as np

    row = Row(format, dialect)
    array = _as_float32(x)
    place = _axis(axis, array.ndim)
    is_last = place == max(0, array.ndim - 1)
    moved = array.reshape(1) if array.ndim == 0 else np.ascontiguousarray(np.moveaxis(array, place, -1))
    shape = moved.shape
    if row.transposes:
        moved, shape = _transformed(moved, row)
    count, rows, columns = row.matrices(shape, len(shape) - 1 if is_last else place)
    codes: List[Any] = []
    scales: List[Any] = []
    numbers: List[Any] = []
    levels: List[Any] = []
    size = rows * columns
    flat = moved.reshape(-1)
    for m in range(count):
        part = np.ascontiguousarray(flat[m * size : (m + 1) * size])
        made = _core.quantize_blocks(row.name, part, rows, columns, None, rounding, seed, stream, index + m * size)
        for kept, piece in zip((codes, scales, numbers, levels), made):
            kept.append(piece)
    back = (lambda a: a) if is_last else (lambda a: np.moveaxis(a, -1, place))
    all_scales = _joined(scales, np.float32 if row.has_numbers else np.uint8).reshape(row.scale_shape(shape))
    all_scales = row.for_each_row(all_scales, shape)
    if all_scales.ndim == len(shape):
        all_scales = back(all_scales)
    if array.ndim == 0:
        shape = ()
        all_scales = all_scales.reshape(())
    return (
        Blocks(back(_joined(codes, np.uint8).reshape(shape)), all_scales, _joined(levels)),
        back(_joined(numbers).reshape(shape)),
    )


def decoded(blocks: Any, format: str, dialect: Optional[str], axis: int, scale: Any, global_amax: Any) -> Any:
    import numpy as np

    row = Row(format, dialect)
    if isinstance(blocks, Blocks):
        scale = blocks.scale if scale is None else scale
        global_amax = blocks.global_amax if global_amax is None else global_amax
        blocks = blocks.codes
    if scale is None:
        raise ValueError(f"scale: codes of {row.name} are numbers under their scales alone; pass scale=, or what encode gave")
    array = np.asarray(_as_numpy(blocks))
    if array.dtype != np.uint8:
        raise ValueError(f"codes: elements are {array.dtype}; codes of blocks are uint8, one to a byte")
    # 0xFF and of integers 0x80 stand for NaN where there is no code for it.
    wide = (array >> row.bits != 0) & (array != 0xFF) & (array != 0x80) if row.bits < 8 else np.False_
    if wide.any():
        raise ValueError(f"codes: {array[wide].flat[0]} has more than the {row.bits} bits of an element of {row.name}")
    place = _axis(axis, array.ndim)
    is_last = place == max(0, array.ndim - 1)
    moved = array.reshape(1) if array.ndim == 0 else np.ascontiguousarray(np.moveaxis(array, place, -1))
    shape = moved.shape
    count, rows, columns = row.matrices(shape, len(shape) - 1 if is_last else place)
    kind = np.float32 if row.has_numbers else np.uint8
    scales = np.asarray(_as_numpy(scale))
    if scales.dtype != kind:
        raise ValueError(f"scale: elements are {scales.dtype}; scales of {row.name} are {kind.__name__}")
    scales = row.for_each_block(scales, shape)
    wanted = row.scale_shape(shape)
    if scales.size != int(np.prod(wanted, dtype=np.int64)):
        raise ValueError(f"scale: has {scales.size} elements; codes of shape {array.shape} have scales of shape {wanted}")
    if array.size == 0:
        return np.zeros(array.shape, np.float32)
    if scales.ndim == array.ndim and not is_last:
        scales = np.moveaxis(scales, place, -1)
    scales = np.ascontiguousarray(scales).reshape(count, -1)
    levels = None if global_amax is None else np.ascontiguousarray(_as_numpy(global_amax), np.float32).reshape(count, -1)
    flat = moved.reshape(count, rows * columns)
    made = [
        _core.dequantize_blocks(
            row.name,
            np.ascontiguousarray(flat[m]),
            scales[m],
            rows,
            columns,
            None if levels is None or levels.shape[1] == 0 else levels[m],
        )
        for m in range(count)
    ]
    numbers = _joined(made).reshape(array.shape if array.ndim == 0 else shape)
    return numbers if is_last else np.moveaxis(numbers, -1, place)


def rows() -> List[Dict[str, Any]]:
    return _core.block_format_rows()


def like(made: Any, x: Any) -> Any:
    """An array of numpy as one of x's kind."""
    if is_tensor(x):
        torch = sys.modules["torch"]
        import numpy as np

        return torch.from_numpy(np.ascontiguousarray(made))
    return made


def _transformed(matrices: Any, row: Row) -> Tuple[Any, Tuple[int, ...]]:
    import numpy as np

    if matrices.ndim < 2:
        raise ValueError(f"x: {row.name} quantizes the transpose of a matrix; pass one")
    rows, columns = matrices.shape[-2:]
    made = [
        _core.hadamard_of_transpose(np.ascontiguousarray(m).reshape(-1), rows, columns)
        for m in matrices.reshape(-1, rows, columns)
    ]
    shape = (*matrices.shape[:-2], columns, rows)
    return _joined(made).reshape(shape), shape


def _axis(axis: int, dimensions: int) -> int:
    if not -max(1, dimensions) <= axis < max(1, dimensions):
        raise ValueError(f"axis: {axis} is none of an array of {dimensions} dimensions")
    return axis % max(1, dimensions)


def _joined(parts: List[Any], kind: Any = "f4") -> Any:
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    return np.concatenate([part.reshape(-1) for part in parts]) if parts else np.empty(0, kind)


def is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _as_numpy(x: Any) -> Any:
    return x.detach().cpu().numpy() if is_tensor(x) else x


def _as_float32(x: Any) -> Any:
    import numpy as np

    kind = kind_of(x)
    taken = kind.take(x, "x")
    kind.elements(taken, "x")  # refuses what holds no numbers
    if is_tensor(taken):
        return taken.to(sys.modules["torch"].float32).contiguous().numpy()
    return np.asarray(taken, np.float32, order="C")
