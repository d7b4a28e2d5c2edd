"""Dot products and products of matrices: as hardware accumulates them, and exactly.

Arrays are as in `_arrays`, in the processor's memory.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from . import _blocks, _core
from ._array_types import kind_of
from ._arrays import _conversion, _integer, _number, _rest, _whole, decode
from ._formats import Format, format_name


def dot(
    a: Any,
    b: Any,
    accumulator: Format = "float32",
    rounding: str = "nearest-even",
    *,
    c: float = 0.0,
    format: Optional[Format] = None,
    unit: Optional[str] = None,
    order: str = "sequential",
    size: int = 0,
    products: Optional[Format] = None,
    sums: Optional[Format] = None,
    outer: Optional[Format] = None,
    align_bits: Optional[int] = None,
    align: str = "toward-zero",
    align_floor: Optional[int] = None,
    accumulate: Optional[Format] = None,
    promote: Optional[int] = None,
    scales: Optional[Tuple[Any, Any]] = None,
    scale_format: Format = "float8_e8m0",
    block: int = 32,
    **how: Any,
) -> float:
    """c + the sum of a[i] * b[i] of two vectors, as hardware accumulates it.

    Products are exact, or rounded to `products`. Each addition is exact and rounded once, to `sums` where given and
    then to `accumulator`. order: "sequential", "compensated", "pairwise", or with a size "lanes", "chunks",
    "tree-chunks" (whose sums are added in `outer`), "blocks" (added at once, each term first cut to align_bits below
    the largest exponent, where given). `format` is that of a and b, where it is not that of their type; elements that
    are not its numbers are an error. Further arguments are those of quantize except scale.

    order        how the products t_0, t_1, ... are added
      "sequential"   ((c + t_0) + t_1) + ...
      "compensated"  the same by Kahan's summation: the error of each addition is taken off the next term
      "pairwise"     c + (the first half + the second half), each half likewise; the first has the middle one
      "lanes"        `size` lanes, a power of two: lane i has the sum of t_i, t_(i+size), ...; the halves of the lanes are
                     added until one is left, and that to c
      "chunks"       the sequential sum of each `size` products is added to c, in `outer`
      "tree-chunks"  the same with pairwise sums
      "blocks"       the sum so far and the next `size` products are added at once, exactly, and rounded once
    align_bits   of "blocks", 0 to 64: terms are first cut, by the rounding `align`, at so many bits below the largest
                 exponent among them, which is align_floor at least. Exponents are those of the codes, as a multiplier
                 adds them: 1.5 * 1.5 counts as 2**0. None: terms are not cut
    products, sums, outer   formats that products, each sum (before `accumulator`) and the sums of chunks are rounded to
    unit         a matrix unit instead of all of this, by architecture or processor, in upper or lower case: "volta"
                 (V100), "turing" (T4), "ampere" (A100), "ada" (L4, L40S), "hopper" (H100, H200), "blackwell" (B200,
                 GB200), "cdna1" (MI100), "cdna2" (MI250), "cdna3" (MI300X, MI300A, MI325X): what was measured of
                 them. Operands are float16; from ampere on and of cdna bfloat16 too; ampere to blackwell and cdna3
                 tf32; ada to blackwell float8_e4m3fn and float8_e5m2, cdna3 float8_e4m3fnuz and float8_e5m2fnuz,
                 blackwell float4_e2m1, which are given by `format`. Hopper's float8 is that of wgmma. Kernels that
                 split a dot product are several of these.
    accumulate   of a unit: "float16", which NVIDIA's have for float16, and ada for float8; c is then a number of it.
                 None: float32, or what the unit has in its place
    promote      of a unit: so many groups of products are added up by it from 0, their sums in float32 outside, as
                 kernels for FP8 do (on "hopper" 4 groups are 128 products). 0: all of them, and then c. None: all in
                 the unit
    scales       of blocks of a and of b, in `scale_format`, for `block` elements each: "blackwell" takes float8_e8m0
                 for 32 (MX), float8_e4m3fn for 16 of float4_e2m1 (NVFP4). A `format` of blocks ("mxfp8", "nvfp4") makes
                 elements and scales of any a and b; under a second level, which takes no c, the sum is multiplied by
                 what both share in float32

    >>> ulpscope.dot(numpy.float16([1, 2048]), numpy.float16([1, 1]), "float16")
    2048.0
    >>> eighths = numpy.full(512, 0.125)
    >>> ulpscope.dot(eighths, eighths, format="float8_e4m3fn", unit="H100", promote=4, c=1000.0)
    1008.0
    """
    if _blocks.is_named(format):
        if unit is None or scales is not None:
            raise ValueError(f"format: {format} is of blocks, whose scales it makes, for a `unit` that multiplies by them")
        facts = _blocks.listed(format, None)
        x, y = (_scaled(vector, format, facts, 1) for vector in (a, b))
        if x.shared is not None and c != 0:
            raise ValueError(f"c: is not for {format}, whose sum is multiplied by what its operands share")
        made = dot(
            x.elements,
            y.elements,
            accumulator,
            rounding,
            c=c,
            format=facts["element"],
            unit=unit,
            accumulate=accumulate,
            promote=promote,
            scales=(x.scales, y.scales),
            scale_format=facts["scale"],
            block=_blocks.Row(format, None).width,
            **how,
        )
        return made if x.shared is None else float(type(x.shared[0])(made) * (x.shared[0] * y.shared[0]))
    kind = kind_of(a, b)
    vectors = [kind.elements(kind.take(x, name), name) for x, name in ((a, "a"), (b, "b"))]
    conversion = _conversion(accumulator, rounding, **_rest(how))
    named = [None if f is None else format_name(f) for f in (format, products, sums, outer, accumulate)]
    of_blocks = None
    if scales is not None:
        if len(scales) != 2:
            raise ValueError(f"scales: {len(scales)} given: give those of a and those of b")
        of_a, of_b = (kind.elements(kind.take(x, "scales"), "scales") for x in scales)
        of_blocks = (of_a, of_b)
    return _core.dot(
        *vectors,
        named[0],
        _number(c, "c"),
        unit,
        conversion,
        order,
        _whole(size, "size", 32),
        *named[1:4],
        None if align_bits is None else _whole(align_bits, "align_bits", 31),
        align,
        None if align_floor is None else _integer(align_floor, "align_floor", -(1 << 31), (1 << 31) - 1),
        named[4],
        None if promote is None else _whole(promote, "promote", 32),
        of_blocks,
        format_name(scale_format),
        _whole(block, "block", 32),
    )


def matmul(
    a: Any,
    b: Any,
    *,
    unit: str,
    format: Optional[Format] = None,
    accumulate: Optional[Format] = None,
    promote: Optional[int] = None,
    split_k: int = 1,
    scales: Optional[Tuple[Any, Any]] = None,
    scale_format: Format = "float8_e8m0",
    block: int = 32,
) -> Any:
    """a @ b of two matrices [M, K] and [K, N] as a matrix unit multiplies them, each element of the result bit for bit.

    >>> ones = numpy.ones((2, 4096), "float16")
    >>> ulpscope.matmul(ones, ones.T * numpy.float16(2048), unit="H100", accumulate="float16")
    array([[inf, inf],
           [inf, inf]], dtype=float16)

    Each element is `dot` of a row and a column with the same unit, format, accumulate and promote. The result is
    float32, or float16 where the unit accumulates in that and nothing is added outside (promote, split_k). A new array of the argument's own kind.

    format       that of the elements, where it is not that of their type; elements that are not its numbers are an
                 error. A format of blocks ("mxfp8", "nvfp4") makes elements and scales of any a and b, along K
    split_k      K is cut into at most so many parts, whole groups of products and alike but for the last, whose sums are added in float32, in their order
    scales       of the blocks of a, [M, K / block], and of b, [K / block, N], in `scale_format`, for `block` elements
                 each along K; the last block may be short

    ValueError for shapes that are no product, units that are unknown or do not take the operands, and elements as above.
    """
    kind = kind_of(a, b)
    if _blocks.is_named(format):
        if scales is not None:
            raise ValueError(f"scales: {format} makes scales of its own")
        facts = _blocks.listed(format, None)
        x, y = _scaled(a, format, facts, 2), _scaled(kind.take(b, "b").T, format, facts, 2)
        made = matmul(
            x.elements,
            y.elements.T,
            unit=unit,
            format=facts["element"],
            accumulate=accumulate,
            promote=promote,
            split_k=split_k,
            scales=(x.scales, y.scales.T),
            scale_format=facts["scale"],
            block=_blocks.Row(format, None).width,
        )
        if x.shared is not None:
            made = (made * (x.shared[:, None] * y.shared[None, :])).astype(made.dtype)
        return _blocks.like(made, a if _blocks.is_tensor(a) else b)
    taken = kind.take(a, "a"), kind.take(b, "b")
    of_blocks = None if scales is None else tuple(kind.take(x, "scales") for x in scales)
    for name, x in [*zip("ab", taken), *(("scales", x) for x in of_blocks or ())]:
        if x.ndim != 2:
            raise ValueError(f"{name}: has {x.ndim} dimensions; a matrix has 2")
    (rows, depth), (given, columns) = taken[0].shape, taken[1].shape
    if depth != given:
        raise ValueError(f"a, b: {rows} x {depth} and {given} x {columns} are no product: a's columns are as many as b's rows")
    if of_blocks is not None:
        if len(of_blocks) != 2:
            raise ValueError(f"scales: {len(of_blocks)} given: give those of a and those of b")
        across = -(-depth // max(1, _whole(block, "block", 32)))
        shapes = tuple(of_blocks[0].shape), tuple(of_blocks[1].shape)
        if shapes != ((rows, across), (across, columns)):
            raise ValueError(f"scales: have shapes {shapes[0]} and {shapes[1]}, not {(rows, across)} and {(across, columns)}")
    if 0 in (rows, depth, columns):
        raise ValueError(f"a, b: {rows} x {depth} and {given} x {columns} have no product that a unit makes")
    made = _core.matmul(
        _row_by_row(kind, taken[0], "a"),
        _row_by_row(kind, taken[1].T, "b"),
        depth,
        None if format is None else format_name(format),
        unit,
        None if accumulate is None else format_name(accumulate),
        None if promote is None else _whole(promote, "promote", 32),
        _whole(split_k, "split_k", 63),
        None if of_blocks is None else tuple(_row_by_row(kind, x, "scales") for x in (of_blocks[0], of_blocks[1].T)),
        format_name(scale_format),
        _whole(block, "block", 32),
    )
    return _blocks.like(made.reshape(rows, columns), taken[0])


def exact_dot(
    a: Any, b: Any, format: Format = "float32", rounding: str = "nearest-even", *, c: float = 0.0, **how: Any
) -> float:
    """c + the sum of a[i] * b[i] of two vectors, exact and then rounded once.

    A stochastic rounding takes the random bits of number `index`. Further arguments are those of quantize except scale.

    >>> ulpscope.exact_dot([1e30, 1.0, -1e30], [1.0, 1.0, 1.0])
    1.0
    """
    kind = kind_of(a, b)
    vectors = [kind.elements(kind.take(x, name), name) for x, name in ((a, "a"), (b, "b"))]
    return _core.exact_dot(*vectors, _number(c, "c"), _conversion(format, rounding, **_rest(how)))


def _row_by_row(kind: Any, x: Any, argument: str) -> Any:
    return kind.elements(x.reshape(-1), argument)


class _Scaled(NamedTuple):
    elements: Any
    scales: Any  # for each row those of its blocks
    shared: Any  # under a second level, float32 for each row: what all products are still to be multiplied by; else None


def _scaled(x: Any, format: str, facts: Dict[str, Any], dimensions: int) -> _Scaled:
    """A vector, or the rows of a matrix, in a format of blocks as a matrix unit takes it."""
    row = _blocks.Row(format, None)
    if facts["scale"] == "float32" or facts["element"].startswith("int") or row.transposes:
        raise ValueError(f"format: no matrix unit multiplies blocks of {format}: it takes elements and scales in 4 to 8 bits")
    made, _ = _blocks.encoded(x, format, None, -1, None, 0, 0, 0)
    if made.codes.ndim != dimensions:
        what = "a dot product is of vectors" if dimensions == 1 else "a matrix has 2"
        raise ValueError(f"a, b: {made.codes.ndim} dimensions; {what}")
    scales = made.scale if row.repeats or row.height <= 1 else made.scale.repeat(row.height, 0)[: made.codes.shape[0]]
    shared = None
    if made.global_amax.size:
        # The number 1 under the scale 1: their codes in float4_e2m1 and float8_e4m3fn.
        one = made.codes[..., :1] * 0 + 2
        shared = _blocks.decoded(one, format, None, -1, scales[..., :1] * 0 + 0x38, made.global_amax).reshape(-1)
    return _Scaled(decode(made.codes, facts["element"]), decode(scales, facts["scale"]), shared)
