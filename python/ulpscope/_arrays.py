"""Functions on arrays: rounding to a format, codes, counts, arithmetic, each result rounded once.

Arrays are numpy's or torch's, of float16, bfloat16, float32, float64 or the small types of ml_dtypes and torch, of any
shape, strides and byte order; other things become arrays by numpy.asarray. Tensors are in the processor's memory;
quantize, encode, decode and outcomes take those on a CUDA device too, on torch's current stream. Results are of the
argument's own kind. Nothing is copied as a whole, and other threads of Python run meanwhile. Errors are ValueError
with the program's sentence, before anything is written; TypeError where an argument is of no such kind at all.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, Dict, List, Optional, Sequence, Tuple, TypeVar, Union

from . import _blocks, _core
from ._array_types import converter_of, kind_of
from ._flags import flag
from ._formats import Format, format_name

Array = TypeVar("Array")
Bits = Union[int, str, None]


def quantize(
    x: Array,
    format: Format,
    rounding: str = "nearest-even",
    *,
    scale: float = 1,
    saturate: Union[bool, str] = False,
    ftz: Optional[str] = None,
    daz: bool = False,
    seed: int = 0,
    stream: int = 0,
    index: int = 0,
    bits: Bits = None,
    out: Optional[Any] = None,
    axis: int = -1,
    dialect: Optional[str] = None,
) -> Array:
    """x * scale rounded once to the numbers of a format, in x's own type.

    >>> ulpscope.quantize(numpy.float32([0.1, 70000]), "float16")
    array([0.09997559,        inf], dtype=float32)

    The product is exact, of doubles too, and stays in the result. The type of x, or of `out`, must hold every number of
    the format: float16 does not hold bfloat16's. NaN stays NaN, quiet, with sign and leading payload where the format
    has them; infinity that the format lacks becomes NaN. In a format without NaN (float6_e3m2, float4_e2m1) both become
    the largest number. Of blocks of mxfp8, mxfp6 and mxfp4 one of either makes the whole block NaN; of nvfp4, which
    has a scale for all of the array too, nothing finite is left.

    format    a name ("float16", "cbfloat16", "e5m10", "e4m3,bias=11,specials=fnuz"; `ulpscope.formats()`), a pair
              (exponent bits, fraction bits), a dtype of numpy, ml_dtypes or torch, or a finfo; of at most 32 bits.
    rounding  "nearest-even", "nearest-away", "toward-zero", "toward-positive", "toward-negative", "to-odd" (rne rna rz
              ru rd ro), "stochastic[:A|B|C][,bits=N]" (sr), or hardware ("nvidia"), as the program's --rounding.
    saturate  True: the largest finite number on overflow and for infinities; "finite": for finite numbers alone.
    ftz       "before", "after" or "result": subnormal results are zero, and what counts as such.
    daz       subnormal elements, in the format of their own type, are read as zeros.
    bits      of stochastic rounding: how many random bits an element takes, 1 to 32 (by default 32), or "all".
    seed, stream, index   element i, in C order, takes number index + i of (seed, stream): the same for every number of
              threads, layout and chunking, and in C++ and `ulp convert`. `stream_of(name, step)` is a tensor's stream.
    out       where the result is written, and what is returned: of the result's shape and any type that holds the
              format. x itself is allowed; memory that overlaps it otherwise is as if it did not.
    axis, dialect   of formats of blocks ("mxfp8", "mxfp4", "nvfp4", "fp8_128x128", a row of `block_formats()`): along
              which axis blocks run, and whose rules: "torchao", "te", "microxcaling", "gfloat" and others. Elements are
              taken as float32, and the result is float32. `rounding` other than "nearest-even" is that of the elements,
              else they are rounded as the row says; scale, saturate, ftz, daz and out are not for these.
              Random bits are those of the array whose last axis is `axis`.

    ValueError for unknown words, numbers out of range, elements that are no floating-point numbers, types that do not
    hold the format, tensors on a device other than a CUDA one, and tensors that require grad while gradients are on
    (ulpscope.torch.quantize takes those).
    """
    if _blocks.is_named(format):
        switches = {"scale": scale, "saturate": saturate, "ftz": ftz, "daz": daz, "out": out}
        numbers = _in_blocks(x, format, dialect, axis, rounding, seed, stream, index, bits, switches)[1]
        return _blocks.like(numbers, x)
    _expect_no_blocks(format, axis, dialect)
    how = _conversion(format, rounding, saturate, ftz, daz, bits, scale, seed, stream, index)
    kind = converter_of(x, out)
    taken = kind.take(x, "x")
    source = kind.elements(taken, "x")
    result = kind.new_like(taken, taken.dtype) if out is None else kind.output(out)
    kind.convert(how, source, kind.elements(result, "out"))
    return _returned(kind, result, (x,), out)


def encode(
    x: Any,
    format: Format,
    rounding: str = "nearest-even",
    *,
    scale: float = 1,
    saturate: Union[bool, str] = False,
    ftz: Optional[str] = None,
    daz: bool = False,
    seed: int = 0,
    stream: int = 0,
    index: int = 0,
    bits: Bits = None,
    out: Optional[Any] = None,
    axis: int = -1,
    dialect: Optional[str] = None,
) -> Any:
    """The codes of x * scale, rounded once: bit patterns in the low bits of unsigned integers of 8, 16 or 32 bits,
    the smallest that hold them. Of tensors in uint8, int16 or int32, which view() turns into float16 or bfloat16.
    Arguments and errors are those of quantize; `out` is an array of integers of that size. Of a format of blocks a
    named tuple (codes, scale, global_amax), which `decode` takes.

    >>> ulpscope.encode(numpy.float32([1, -2]), "float8_e4m3fn")
    array([ 56, 192], dtype=uint8)
    """
    if _blocks.is_named(format):
        switches = {"scale": scale, "saturate": saturate, "ftz": ftz, "daz": daz, "out": out}
        blocks = _in_blocks(x, format, dialect, axis, rounding, seed, stream, index, bits, switches)[0]
        return _blocks.Blocks(*(_blocks.like(part, x) for part in blocks))
    _expect_no_blocks(format, axis, dialect)
    how = _conversion(format, rounding, saturate, ftz, daz, bits, scale, seed, stream, index)
    kind = converter_of(x, out)
    taken = kind.take(x, "x")
    source = kind.elements(taken, "x")
    result = kind.new_like(taken, kind.code_type(how.bits)) if out is None else kind.output(out)
    kind.convert(how, source, (kind.integers(result, "out"), how.format))
    return _returned(kind, result, (x,), out)


def decode(
    codes: Any,
    format: Format,
    *,
    out: Optional[Any] = None,
    scale: Optional[Any] = None,
    axis: int = -1,
    dialect: Optional[str] = None,
    global_amax: Optional[Any] = None,
) -> Any:
    """The numbers of codes, exactly: float32 where that holds all of the format's, else float64, or what `out` is.

    Codes are integers of any type; bits above those of the format are an error. Of a format of blocks `codes` is what
    encode gave, or its codes beside `scale` and, under a second level, `global_amax`; axis and dialect are as there.

    >>> ulpscope.decode(numpy.uint8([56, 192]), "float8_e4m3fn")
    array([ 1., -2.], dtype=float32)
    """
    if _blocks.is_named(format):
        if out is not None:
            raise ValueError(f"out: is not for {format}, a format of blocks")
        kept = codes.codes if isinstance(codes, _blocks.Blocks) else codes
        return _blocks.like(_blocks.decoded(codes, format, dialect, axis, scale, global_amax), kept)
    _expect_no_blocks(format, axis, dialect)
    if scale is not None or global_amax is not None:
        raise ValueError(f"scale: {format} is no format of blocks, whose codes have scales")
    name = format_name(format)
    kind = converter_of(codes, out)
    taken = kind.integers(kind.take(codes, "codes"), "codes")
    if out is None:
        result = kind.new_like(taken, kind.named("float32" if _core.holds("float32", name) else "float64"))
    else:
        result = kind.output(out)
    kind.decode(name, taken, kind.elements(result, "out"))
    return _returned(kind, result, (codes,), out)


def outcomes(
    x: Any,
    format: Format,
    rounding: str = "nearest-even",
    *,
    scale: float = 1,
    saturate: Union[bool, str] = False,
    ftz: Optional[str] = None,
    daz: bool = False,
    seed: int = 0,
    stream: int = 0,
    index: int = 0,
    bits: Bits = None,
) -> Dict[str, int]:
    """What becomes of the elements of x * scale in a format: counts under the keys of `ulp convert --json`.

    numel; zero: zero before; underflow: nonzero to zero; subnormal: results below the smallest normal number; inexact;
    overflow: finite numbers beyond the largest, whatever is delivered; nan. Nothing is written. Arguments and errors
    are those of quantize.

    >>> ulpscope.outcomes(numpy.float32([1e-9, 70000, 0]), "float16")["underflow"]
    1
    """
    how = _conversion(format, rounding, saturate, ftz, daz, bits, scale, seed, stream, index)
    kind = converter_of(x)
    return kind.outcomes(how, kind.elements(kind.take(x, "x"), "x"))


def add(
    a: Any, b: Any, format: Format, rounding: str = "nearest-even", *, out: Optional[Any] = None, **how: Any
) -> Any:
    """a + b, the exact sum rounded once to a format.

    Operands are arrays whose shapes broadcast, or Python numbers, taken as exactly what they are. The result is of
    their common type where that holds the format's numbers, else float32 or float64, or what `out` is. Further
    arguments are those of quantize except scale: saturate, ftz, daz, seed, stream, index, bits. inf - inf, 0 * inf, 0 /
    0, inf / inf and the root of a negative number are NaN, x / 0 is infinite; an exact zero sum is +0, toward-negative
    -0. Of float64 operands results are computed one at a time.

    >>> ulpscope.add(numpy.float32([2048, 2048]), [1.0, 1.5], "float16")
    array([2048., 2050.])
    """
    return _arithmetic("add", (a, b), format, rounding, out, how)


def sub(
    a: Any, b: Any, format: Format, rounding: str = "nearest-even", *, out: Optional[Any] = None, **how: Any
) -> Any:
    """a - b, as add."""
    return _arithmetic("sub", (a, b), format, rounding, out, how)


def mul(
    a: Any, b: Any, format: Format, rounding: str = "nearest-even", *, out: Optional[Any] = None, **how: Any
) -> Any:
    """a * b, as add."""
    return _arithmetic("mul", (a, b), format, rounding, out, how)


def div(
    a: Any, b: Any, format: Format, rounding: str = "nearest-even", *, out: Optional[Any] = None, **how: Any
) -> Any:
    """a / b, as add."""
    return _arithmetic("div", (a, b), format, rounding, out, how)


def fma(
    a: Any, b: Any, c: Any, format: Format, rounding: str = "nearest-even", *, out: Optional[Any] = None, **how: Any
) -> Any:
    """a * b + c, rounded once, as add."""
    return _arithmetic("fma", (a, b, c), format, rounding, out, how)


def sqrt(a: Any, format: Format, rounding: str = "nearest-even", *, out: Optional[Any] = None, **how: Any) -> Any:
    """The square root of a, as add; of -0 it is -0."""
    return _arithmetic("sqrt", (a,), format, rounding, out, how)


def block_formats() -> List[Dict[str, Any]]:
    """The formats of blocks: name, names (what they are also called here), summary, element, bits, block (rows and
    columns, 0 being all there are), scale, rounding, source; a row for each dialect.

    >>> [row["name"] for row in ulpscope.block_formats() if "nvfp4" in row["names"]]
    ['te_nvfp4_1x16']
    """
    return _blocks.rows()


def _in_blocks(
    x: Any,
    format: str,
    dialect: Optional[str],
    axis: int,
    rounding: str,
    seed: int,
    stream: int,
    index: int,
    bits: Bits,
    switches: Dict[str, Any],
) -> Any:
    for name, given in switches.items():
        if given is not None and given is not False and (name != "scale" or given != 1):
            raise ValueError(f"{name}: is not for {format}, a format of blocks")
    how = None
    if bits is not None or rounding not in ("nearest-even", "rne"):
        how = _conversion(_blocks.element_format(format, dialect), rounding, bits=bits)
    return _blocks.encoded(
        x,
        format,
        dialect,
        _integer(axis, "axis", -64, 63),
        how,
        _whole(seed, "seed"),
        _whole(stream, "stream"),
        _whole(index, "index"),
    )


def _expect_no_blocks(format: Format, axis: int, dialect: Optional[str]) -> None:
    if axis != -1 or dialect is not None:
        given = "dialect" if dialect is not None else "axis"
        raise ValueError(f"{given}: {format} is no format of blocks; `block_formats()` has them")


def stream_of(tensor: str, step: int = 0) -> int:
    """The stream of a tensor at a step: what `ulp convert` takes for an array of this name, with step 0."""
    if not isinstance(tensor, str):
        raise TypeError(f"tensor: its name as a str, not {type(tensor).__name__}")
    return _core.stream_of(tensor, _integer(step, "step", -(1 << 63), (1 << 63) - 1))


def _whole(n: Any, argument: str, bits: int = 64) -> int:
    """An integer from 0 to 2**bits - 1."""
    return _integer(n, argument, 0, (1 << bits) - 1)


def _integer(n: Any, argument: str, low: int, high: int) -> int:
    try:
        value = operator.index(n)
    except TypeError:
        raise TypeError(f"{argument}: {n!r} is not an integer") from None
    if not low <= value <= high:
        raise ValueError(f"{argument}: {value} is not from {low} to {high}")
    return value


def _number(x: Any, argument: str) -> float:
    if isinstance(x, (str, bytes)):
        raise TypeError(f"{argument}: {x!r} is not a number")
    try:
        return float(x)
    except OverflowError:
        raise ValueError(f"{argument}: {x} is not a number of float64") from None


def _conversion(
    format: Format,
    rounding: str,
    saturate: Union[bool, str] = False,
    ftz: Optional[str] = None,
    daz: bool = False,
    bits: Bits = None,
    scale: float = 1,
    seed: int = 0,
    stream: int = 0,
    index: int = 0,
) -> Any:
    if not isinstance(rounding, str):
        raise TypeError(f"rounding: {rounding!r} is not text")
    asked = (
        format_name(format),
        rounding,
        saturate,
        ftz,
        flag(daz, "daz"),
        bits,
        _number(scale, "scale"),
        _whole(seed, "seed"),
        _whole(stream, "stream"),
        _whole(index, "index"),
    )
    try:
        return _made(*asked)
    except TypeError:  # what has no hash is not kept, and refused in the compiled part's words
        return _made.__wrapped__(*asked)


@functools.lru_cache(maxsize=1000, typed=True)
def _made(format, rounding, saturate, ftz, daz, bits, scale, seed, stream, index) -> Any:
    """Loops ask for the same again and again, and reading the words takes longer than rounding a hundred numbers."""
    return _core.Conversion(
        format,
        rounding,
        saturate=saturate,
        ftz=ftz,
        daz=daz,
        bits=bits,
        scale=scale,
        seed=seed,
        stream=stream,
        index=index,
    )


_REST = ("saturate", "ftz", "daz", "seed", "stream", "index", "bits")


def _rest(how: Dict[str, Any]) -> Dict[str, Any]:
    for name in how:
        if name not in _REST:
            raise TypeError(f"{name!r} is not an argument; there are {', '.join(_REST)}")
    return how


def _returned(kind: Any, result: Any, operands: Tuple[Any, ...], out: Optional[Any]) -> Any:
    if out is None:
        return kind.result(result, operands)
    kind.written(result)
    return out


def _shape(shapes: List[Sequence[int]]) -> Tuple[int, ...]:
    """To which they broadcast: sizes from the last on are equal or 1."""
    made: List[int] = []
    for d in range(1, max(map(len, shapes)) + 1):
        sizes = {shape[-d] for shape in shapes if len(shape) >= d and shape[-d] != 1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast to one")
        made.append(sizes.pop() if sizes else 1)
    return tuple(reversed(made))


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and type(x).__module__ == "builtins"


def _operand(kind: Any, x: Any, argument: str) -> Tuple[Any, Optional[str]]:
    """An array, and the name of its type; None of a number, which goes with any."""
    if not _is_number(x):
        taken = kind.take(x, argument)
        return taken, kind.type_of(taken)
    value = _number(x, argument)
    if value != x and value == value:
        raise ValueError(f"{argument}: {x} is not a number of float64")
    array = kind.new((), kind.named("float32" if _core.is_float32(value) else "float64"))
    array[()] = value
    return array, None


def _arithmetic(
    operation: str, operands: Tuple[Any, ...], format: Format, rounding: str, out: Any, how: Dict[str, Any]
) -> Any:
    conversion = _conversion(format, rounding, **_rest(how))
    kind = kind_of(*operands, out)
    taken = [_operand(kind, x, name) for x, name in zip(operands, "abc")]
    elements = [kind.elements(x, name) for (x, _), name in zip(taken, "abc")]
    shape = _shape([x.shape for x, _ in taken])
    if out is None:
        types = {type_ for _, type_ in taken if type_ is not None}
        common = types.pop() if len(types) == 1 else "float64" if not types or "float64" in types else "float32"
        held = next(t for t in (common, "float32", "float64") if _core.holds(t, conversion.format))
        result = kind.new(shape, next((x.dtype for x, t in taken if t == held), None) or kind.named(held))
    else:
        result = kind.output(out)
        if tuple(result.shape) != shape:
            raise ValueError(f"out: its shape is {tuple(result.shape)}, that of the result {shape}")
    _core.arithmetic(operation, conversion, elements, kind.elements(result, "out"))
    return _returned(kind, result, operands, out)
